// <store>/segments/manifest.jsonl: one signed line for each sealed segment, and a tombstone for
// each that was removed. Appended under a lock, synced; see docs/store_format.md.

#ifndef REENACT_STORE_WRITER_INTERNAL_MANIFEST_H_
#define REENACT_STORE_WRITER_INTERNAL_MANIFEST_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "store/writer/internal/chain_writer.h"

namespace reenact::store {

// Appends {"segment":NAME,"head":HEX,"rows":N,...} unless a line with all of these is there
// already. 0, or errno.
int AppendSealedLine(const std::string& manifest_path, std::string_view store_key,
                     const std::string& segment_name, const ChainState& chain);

// Appends {"pruned":NAME,"reason":REASON,"at_wall_ns":N,...}. 0, or errno.
int AppendTombstone(const std::string& manifest_path, std::string_view store_key,
                    const std::string& segment_name, std::string_view reason);

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_MANIFEST_H_
