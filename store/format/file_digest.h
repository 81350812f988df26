// What vouches for a file to its last byte, those included that hold no record: SQLite leaves bytes
// free within its pages, and zstd has bits that say nothing.
//
// Of a segment the digest stands in the manifest. A bundle is on its own, so it ends in its digest:
//
//   sha256 <64 hex digits>\n          over all bytes before
//
// SQLite reads the number of pages in its header and nothing behind the last.

#ifndef REENACT_STORE_FORMAT_FILE_DIGEST_H_
#define REENACT_STORE_FORMAT_FILE_DIGEST_H_

#include <cstdint>
#include <string>

#include "schema/sha256.h"

namespace reenact::store {

// SHA-256 of a regular file. 0, or errno; kNoRegularFile.
int DigestOfFile(const std::string& path, schema::Digest* digest);

// Appends the last line to a finished file, keeps its mode, syncs it. 0, or errno.
int AppendDigestLine(const std::string& path);

enum class DigestLine : uint8_t {
  kFits,
  kMissing,  // The file does not end in one.
  kDiffers,
  kUnreadable,
};

DigestLine CheckDigestLine(const std::string& path);

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_FILE_DIGEST_H_
