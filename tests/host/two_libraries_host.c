/* argv[1]: a store for both. */
int plugin_a(const char* store, const char* entry);
int plugin_b(const char* store, const char* entry);

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return plugin_a(argv[1], "a") != 0 || plugin_b(argv[1], "b") != 0;
}
