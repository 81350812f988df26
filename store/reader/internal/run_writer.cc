#include "store/reader/internal/run_writer.h"

#include <set>

#include "absl/strings/str_cat.h"

#include "store/reader/segment_reader.h"

namespace reenact::store::internal {
namespace {

absl::Status CheckSequences(const schema::RecordedRun& recorded) {
  std::set<uint64_t> seen;
  for (const schema::Event& event : recorded.events) {
    if (event.sequence == 0 || event.sequence >= kGroupStride ||
        event.end_sequence >= kGroupStride || !seen.insert(event.sequence).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "run ", ToString(recorded.run.id), ": event ", event.sequence,
          " has a sequence that is no number from 1, is too large, or is there twice"));
    }
  }
  return absl::OkStatus();
}

// Adds one value after another until the first failure.
class Adder {
 public:
  explicit Adder(SegmentWriter* writer) : writer_(writer) {}

  template <typename Add>
  Adder& Then(Add add) {
    if (code_ == WriteCode::kOk) code_ = add(writer_);
    return *this;
  }

  absl::Status status() const {
    return internal::ToStatus(code_, absl::StrCat(writer_->path(), ": ", writer_->last_error()));
  }

 private:
  SegmentWriter* writer_;
  WriteCode code_ = WriteCode::kOk;
};

void AddEvents(const schema::RecordedRun& recorded, uint64_t offset, Adder* adder) {
  for (const schema::Event& event : recorded.events) {
    if (offset == 0 && event.run == recorded.run.id) {
      adder->Then([&](SegmentWriter* writer) { return writer->AddEvent(event); });
      continue;
    }
    schema::Event moved = event;
    moved.run = recorded.run.id;
    moved.sequence += offset;
    if (moved.end_sequence != 0) moved.end_sequence += offset;
    adder->Then([&](SegmentWriter* writer) { return writer->AddEvent(moved); });
  }
}

void AddRun(const schema::RecordedRun& recorded, uint64_t offset, Adder* adder) {
  const schema::Ulid& id = recorded.run.id;
  adder->Then([&](SegmentWriter* writer) { return writer->AddRun(recorded.run); });
  for (const auto& component : recorded.components)
    adder->Then([&](SegmentWriter* writer) { return writer->AddComponent(id, component); });
  AddEvents(recorded, offset, adder);
  for (schema::Gap gap : recorded.gaps) {
    gap.first_sequence += offset;
    gap.last_sequence += offset;
    adder->Then([&](SegmentWriter* writer) { return writer->AddGap(gap); });
  }
  for (const auto& mark : recorded.marks)
    adder->Then([&](SegmentWriter* writer) { return writer->AddMark(mark); });
  if (recorded.end)
    adder->Then([&](SegmentWriter* writer) { return writer->AddRunEnd(*recorded.end); });
}

}  // namespace

absl::Status ToStatus(WriteCode code, const std::string& why) {
  switch (code) {
    case WriteCode::kOk:
      return absl::OkStatus();
    case WriteCode::kInvalid:
      return absl::InvalidArgumentError(why);
    case WriteCode::kUnavailable:
      return absl::UnavailableError(why);
    case WriteCode::kFull:
      return absl::ResourceExhaustedError(why);
    case WriteCode::kBroken:
      return absl::InternalError(why);
    case WriteCode::kRefused:
      return absl::PermissionDeniedError(why);
  }
  return absl::InternalError(why);
}

absl::StatusOr<std::unique_ptr<SegmentWriter>> OpenWriter(const SegmentOptions& options) {
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  const WriteCode code = SegmentWriter::Open(options, &writer, &why);
  if (code != WriteCode::kOk) return ToStatus(code, why);
  return writer;
}

absl::Status WriteRuns(const std::vector<const schema::RecordedRun*>& runs, SegmentWriter* writer) {
  for (const schema::RecordedRun* recorded : runs) {
    if (absl::Status checked = CheckSequences(*recorded); !checked.ok()) return checked;
  }
  Adder adder(writer);
  adder.Then([](SegmentWriter* to) { return to->SetMeta(kMetaGrouped, "1"); });
  uint64_t offset = 0;
  for (const schema::RecordedRun* recorded : runs) {
    AddRun(*recorded, offset, &adder);
    adder.Then([](SegmentWriter* to) { return to->Commit(); });
    offset += kGroupStride;
  }
  return adder.status();
}

}  // namespace reenact::store::internal
