// golden_operations FILE: exits 0 when every operation has the hash that FILE freezes ("name hash"
// a line), else names those that differ. golden_operations --print writes such a file. Everything
// that is compared is in this one program, so that it can be built with any compiler and flags.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "tests/local_engine/reference/golden_operations.h"
#include "tests/local_engine/reference/runs_here.h"

int main(int argc, char** argv) {
  using reenact::local_engine::GoldenOperation;
  using reenact::local_engine::GoldenOperations;
  if (!reenact::local_engine::RunsHere()) return 77;
  if (argc != 2) {
    std::fputs("usage: golden_operations FILE | --print\n", stderr);
    return 2;
  }
  const bool print = std::strcmp(argv[1], "--print") == 0;
  std::map<std::string, std::string> frozen;
  std::ifstream file(print ? "" : argv[1]);
  for (std::string name, hash; file >> name >> hash;) frozen[name] = hash;
  int different = 0;
  for (const GoldenOperation& operation : GoldenOperations()) {
    const std::string hash = operation.hash();
    if (print || frozen[operation.name] != hash) {
      std::printf("%s %s\n", operation.name, hash.c_str());
      ++different;
    }
    frozen.erase(operation.name);
  }
  for (const auto& [name, hash] : frozen) {
    std::printf("%s is frozen but not computed\n", name.c_str());
    ++different;
  }
  return print || different == 0 ? 0 : 1;
}
