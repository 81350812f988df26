// manifest.jsonl as a reader takes it: what each segment was when it was sealed, what was done to
// it since by this program, and the first line that does not fit.

#ifndef REENACT_STORE_READER_INTERNAL_MANIFEST_FILE_H_
#define REENACT_STORE_READER_INTERNAL_MANIFEST_FILE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/reader/verify.h"
#include "store/store_layout.h"

namespace reenact::store::internal {

// How a segment ends: as it was sealed, or as its last redaction left it.
struct SealedEntry {
  std::string head;  // Of its chain, in hex.
  int64_t rows = 0;
  int64_t line = 0;    // In the manifest, from 1.
  std::string was;     // The head before the last redaction; empty: there was none.
  std::string sha256;  // Of the file, in hex; empty in stores of before it was written down.
};

// incidents.db, which is changed in place.
struct IncidentsEntry {
  std::string sha256;             // Of the file after the last change that is known to have ended.
  int64_t line = 0;               // In the manifest; 0: no change is known.
  int64_t change_begun_line = 0;  // Of a change whose end is not known; else 0.
};

struct Manifest {
  std::map<std::string, int64_t> begun;       // File name, line.
  std::map<std::string, SealedEntry> sealed;  // By file name.
  std::set<std::string> pruned;
  std::vector<VerifyTombstone> tombstones;
  IncidentsEntry incidents;
  int64_t lines = 0;
  // The first line that does not fit: what follows it was not read, for it proves nothing.
  std::vector<VerifyFinding> findings;
};

// What the file holds, its last line whole or not. 0, or errno; kNoRegularFile (posix_file.h).
int ReadManifestText(const StoreLayout& layout, std::string* text);

// An empty one where there is none.
Manifest ReadManifest(const StoreLayout& layout);

// Segments that `manifest` has and the folder has not, though nothing says that they were pruned:
// the file's name, and a sentence that goes on after it. What is pruned meanwhile is not missing.
std::map<std::string, std::string> MissingSegments(const StoreLayout& layout,
                                                   const Manifest& manifest);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_MANIFEST_FILE_H_
