int leaked_name(void);

int leaked_name(void) {
  return 1;
}
