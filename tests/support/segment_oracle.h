// What a segment holds, read by the tests' own plain code: every event with its bodies, and whether
// SQLite's integrity, the chain and the digests hold. It shares no code with the reader.

#ifndef REENACT_TESTS_SUPPORT_SEGMENT_ORACLE_H_
#define REENACT_TESTS_SUPPORT_SEGMENT_ORACLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schema/record.h"

namespace reenact::testing {

struct StoredSegment {
  // The first thing that does not fit; empty when all is well.
  std::string damage;
  int64_t rows = 0;  // Chained ones.
  schema::Digest head{};
  std::map<uint64_t, schema::Event> events;  // By sequence; `run` set.
  std::vector<uint64_t> open_calls;
  std::map<int64_t, int> codecs;          // BodyCodec to the number of bodies.
  std::map<std::string, int64_t> counts;  // Rows by table.
  std::map<std::string, std::string> meta;
};

StoredSegment ReadSegment(const std::string& path);

// The answer to a query of one value, as text; "" when there is none.
std::string QueryOne(const std::string& path, const std::string& sql);
// Runs `sql` on the file, whatever its mode, as somebody who tampers with it would.
void Tamper(const std::string& path, const std::string& sql);

}  // namespace reenact::testing

#endif  // REENACT_TESTS_SUPPORT_SEGMENT_ORACLE_H_
