// The records of a JSONL export as its lines, both ways. Private to store/reader/jsonl.cc.

#ifndef REENACT_STORE_READER_INTERNAL_JSONL_RECORD_H_
#define REENACT_STORE_READER_INTERNAL_JSONL_RECORD_H_

#include <nlohmann/json_fwd.hpp>

#include "schema/record.h"
#include "store/reader/internal/jsonl_value.h"

namespace reenact::store::internal {

// The beginning that all lines of a run share.
Json LineOf(const char* type, const schema::Ulid& run);

Json RunLine(const schema::Run& run);
Json ComponentLine(const schema::Ulid& run, const schema::Component& component);
Json EventLine(const schema::Event& event);
Json GapLine(const schema::Ulid& run, const schema::Gap& gap);
Json MarkLine(const schema::Mark& mark);

// `fields` says what was wrong with the line, if something was.
schema::Run ReadRun(JsonFields* fields);
schema::Component ReadComponent(JsonFields* fields);
schema::Event ReadEvent(JsonFields* fields);
schema::Gap ReadGap(JsonFields* fields);
schema::Mark ReadMark(JsonFields* fields);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_JSONL_RECORD_H_
