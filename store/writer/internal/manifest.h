// <store>/segments/manifest.jsonl: one signed line for each sealed segment, and a tombstone for
// each that was removed. Appended under a lock, synced; see docs/store_format.md.

#ifndef REENACT_STORE_WRITER_INTERNAL_MANIFEST_H_
#define REENACT_STORE_WRITER_INTERNAL_MANIFEST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/writer/internal/chain_writer.h"

namespace reenact::store {

// Appends {"begun":NAME,...}. 0, or errno.
int AppendBegunLine(const std::string& manifest_path, std::string_view store_key,
                    const std::string& segment_name);

// A segment that is whole, and closed.
struct SealedSegment {
  std::string name;  // Of its file.
  ChainState chain;
  schema::Digest digest;  // Of the file.
};

// Appends {"segment":NAME,"head":HEX,"rows":N,"sha256":HEX,...} unless a line with all of these is
// there already. 0, or errno.
int AppendSealedLine(const std::string& manifest_path, std::string_view store_key,
                     const SealedSegment& sealed);

// Appends {"pruned":NAME,"reason":REASON,"at_wall_ns":N,...}. 0, or errno.
int AppendTombstone(const std::string& manifest_path, std::string_view store_key,
                    const std::string& segment_name, std::string_view reason);

// A sealed segment that was written anew with less in it.
struct SegmentRedaction {
  std::string name;  // Of its file.
  std::string was;   // Head of its chain before, in hex,
  ChainState now;    // and since.
  int64_t changed_rows = 0;
  schema::Digest digest;  // Of the new file.
};

// Appends {"redacted":NAME,"was":HEX,"head":HEX,"rows":N,...} and then, under the same lock, calls
// `replace`, which puts the new file in the place of the old one and returns 0 or errno. In this
// order, so that a crash between the two never looks like tampering. ENOENT, and nothing is called:
// the segment was pruned meanwhile.
int AppendRedaction(const std::string& manifest_path, std::string_view store_key,
                    const SegmentRedaction& redaction, const std::function<int()>& replace);

// incidents.db is changed in place. Before a change is committed {"changing":"incidents.db",...} is
// appended, and once it is, {"changed":"incidents.db","sha256":HEX,...}: a crash between the two is
// told from tampering. 0, or errno.
int AppendIncidentsChanging(const std::string& manifest_path, std::string_view store_key);
int AppendIncidentsChanged(const std::string& manifest_path, std::string_view store_key,
                           const schema::Digest& digest);

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_MANIFEST_H_
