// Runs of every shape in the forms that they are stored in, for the targets that read them.

#ifndef REENACT_TESTS_FUZZ_RECORD_SEEDS_H_
#define REENACT_TESTS_FUZZ_RECORD_SEEDS_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "store/reader/bundle.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/store/recorded_store.h"

namespace reenact::fuzz {

inline std::string ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

// A file in memory that lives as long as the process, for readers that take a path.
inline const std::string& ScratchFolder() {
  static const struct Folder {
    Folder() {
      // TMPDIR: where a caller can clean up after a target that aborts.
      const char* const parent = std::getenv("TMPDIR");
      path = std::string(parent != nullptr ? parent : "/dev/shm") + "/reenact-fuzz-XXXXXX";
      if (mkdtemp(path.data()) == nullptr) Broken("no scratch folder");
    }

    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }

    std::string path;
  } folder;

  return folder.path;
}

inline std::string WriteScratch(const std::string& name, std::string_view bytes) {
  const std::string path = ScratchFolder() + "/" + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

inline store::Bundle SampleBundle(uint8_t run_count) {
  store::Bundle bundle;
  for (uint8_t number = 1; number <= run_count; ++number) {
    bundle.runs.push_back(store::SampleRun(number, "trace-1"));
    // A conversation that grows, so that there are frames with a base.
    std::string history;
    for (uint64_t turn = 0; turn < 3; ++turn) {
      history += "What about order A-" + std::to_string(turn * 7919) + "? It is late. ";
      schema::Event event =
          store::ModelCall(number * 100U + 20 + turn * 2, history + history, "No.");
      event.run = bundle.runs.back().run.id;
      bundle.runs.back().events.push_back(event);
    }
  }
  bundle.meta = {{"title", "Refund of \xff twice"}};
  return bundle;
}

inline std::string BundleBytes(const store::Bundle& bundle) {
  const std::string path = ScratchFolder() + "/seed.bundle";
  if (const absl::Status status = store::WriteBundle(bundle, path, /*replace=*/true);
      !status.ok()) {
    Broken("no bundle: " + std::string(status.message()));
  }
  return ReadBytes(path);
}

}  // namespace reenact::fuzz

#endif  // REENACT_TESTS_FUZZ_RECORD_SEEDS_H_
