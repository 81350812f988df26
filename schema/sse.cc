#include "schema/sse.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schema/internal/utf8.h"

namespace reenact::schema {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

enum class LineEnd : uint8_t { kNone, kLf, kCrLf, kCr };

struct Line {
  std::string_view text;
  LineEnd end = LineEnd::kNone;
};

// Cuts lines off the front. The next LF and the next CR are looked for once each, not once a line:
// a stream of one kind of line end costs no more than its length.
class LineReader {
 public:
  explicit LineReader(std::string_view bytes, size_t begin)
      : bytes_(bytes),
        position_(begin),
        next_lf_(bytes.find('\n', begin)),
        next_cr_(bytes.find('\r', begin)) {}

  bool AtEnd() const { return position_ >= bytes_.size(); }

  size_t position() const { return position_; }

  Line Next() {
    const size_t begin = position_;
    const size_t stop = std::min(next_lf_, next_cr_);
    if (stop == std::string_view::npos) {
      position_ = bytes_.size();
      return {bytes_.substr(begin), LineEnd::kNone};
    }
    const bool is_lf = stop == next_lf_;
    const bool is_pair = !is_lf && next_lf_ == stop + 1;
    position_ = stop + (is_pair ? 2 : 1);
    if (next_lf_ < position_) next_lf_ = bytes_.find('\n', position_);
    if (next_cr_ < position_) next_cr_ = bytes_.find('\r', position_);
    const LineEnd end = is_lf ? LineEnd::kLf : (is_pair ? LineEnd::kCrLf : LineEnd::kCr);
    return {bytes_.substr(begin, stop - begin), end};
  }

 private:
  std::string_view bytes_;
  size_t position_;
  size_t next_lf_;
  size_t next_cr_;
};

class SseParser {
 public:
  SseStream Parse(std::string_view bytes) {
    size_t begin = 0;
    if (bytes.starts_with(kByteOrderMark)) {
      Note("bom");
      begin = kByteOrderMark.size();
    }
    LineReader lines(bytes, begin);
    record_begin_ = begin;
    bool cut_field = false;
    while (!lines.AtEnd()) {
      const Line line = lines.Next();
      if (line.end == LineEnd::kCrLf) Note("crlf");
      if (line.end == LineEnd::kCr) Note("cr");
      if (line.text.empty()) {
        EndRecord(lines.position());
      } else {
        AddLine(line.text);
        // "dat" may have been about to become a data line.
        cut_field = line.end == LineEnd::kNone && !in_record_ && line.text.front() != ':';
      }
    }
    if (in_record_ || cut_field) {
      stream_.missing_final_blank = true;
      Note("missing_final_blank");
      EndRecord(bytes.size());
    }
    const internal::Utf8Faults faults = internal::FindUtf8Faults(bytes);
    if (faults.invalid) Note("invalid_utf8");
    if (faults.incomplete) Note("incomplete_utf8");
    return std::move(stream_);
  }

 private:
  void Note(std::string_view anomaly) {
    auto& all = stream_.anomalies;
    if (std::find(all.begin(), all.end(), anomaly) == all.end()) all.emplace_back(anomaly);
  }

  void AddLine(std::string_view line) {
    if (line.front() == ':') {
      ++stream_.comment_count;
      return;
    }
    const size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value;
    if (colon != std::string_view::npos) value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);

    if (field == "data") {
      if (record_.has_data) record_.data += '\n';
      record_.data += value;
      record_.has_data = true;
    } else if (field == "event") {
      record_.event = value;
    } else if (field != "id" && field != "retry") {
      Note("unknown_field");
      return;
    }
    in_record_ = true;
  }

  void EndRecord(size_t end) {
    if (in_record_) {
      if (!record_.has_data) Note("dataless_event");
      if (record_.has_data && record_.data.empty()) Note("empty_data");
      record_.begin_offset = record_begin_;
      record_.end_offset = end;
      stream_.events.push_back(std::move(record_));
    }
    record_ = {};
    in_record_ = false;
    record_begin_ = end;
  }

  SseStream stream_;
  SseEvent record_;
  bool in_record_ = false;
  size_t record_begin_ = 0;
};

}  // namespace

SseStream ParseSse(std::string_view bytes) {
  return SseParser().Parse(bytes);
}

bool LooksLikeSse(std::string_view bytes) {
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  const size_t begin = bytes.find_first_not_of("\r\n");
  if (begin == std::string_view::npos) return false;
  bytes.remove_prefix(begin);
  constexpr std::array<std::string_view, 5> kStarts = {":", "data:", "event:", "id:", "retry:"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return bytes.starts_with(start); });
}

}  // namespace reenact::schema
