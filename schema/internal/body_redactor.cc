#include "schema/internal/body_redactor.h"

#include <algorithm>

#include "schema/internal/json_text.h"
#include "schema/internal/text_classes.h"
#include "schema/redaction.h"
#include "schema/sse.h"

namespace reenact::schema::internal {
namespace {

bool OpensJson(char c) {
  return c == '{' || c == '[';
}

size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

// One JSON object a line, or an array of objects: records that a stream may have sent one by one.
bool LooksLikeRecords(std::string_view text) {
  const size_t first = SkipSpace(text, 0);
  if (first == text.size()) return false;
  if (text[first] == '[') {
    const size_t element = SkipSpace(text, first + 1);
    return element < text.size() && text[element] == '{';
  }
  const size_t line_end = std::min(text.find('\n', first), text.size());
  const size_t next = SkipSpace(text, line_end);
  if (text[first] != '{' || next == text.size() || text[next] != '{') return false;
  const size_t last = text.find_last_not_of(" \t\r\n", line_end);
  return text[last] == '}';
}

// The ends of lines, each kind looked for once.
class LineEnds {
 public:
  explicit LineEnds(std::string_view text) : text_(text) {}

  // The first line end at or after `at`, or the size of the text.
  size_t Next(size_t at) {
    if (lf_ < at || at == 0) lf_ = Find('\n', at);
    if (cr_ < at || at == 0) cr_ = Find('\r', at);
    return std::min(lf_, cr_);
  }

 private:
  size_t Find(char c, size_t at) const { return std::min(text_.find(c, at), text_.size()); }

  std::string_view text_;
  size_t lf_ = 0;
  size_t cr_ = 0;
};

// False where decoding would change nothing, whatever backslashes there are. Of binary bytes every
// 256th is one, and nearly none of those escapes anything.
bool HoldsEscape(std::string_view text) {
  for (size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1)) {
    if (ReadJsonUnit(text, at).written_size > 0) return true;
  }
  return false;
}

// The place after "data:" where the line at `at` begins with it, else `at`.
size_t AfterDataField(std::string_view text, size_t at) {
  constexpr std::string_view kData = "data:";
  return at < text.size() && text.compare(at, kData.size(), kData) == 0 ? at + kData.size() : at;
}

// The place after the field name, or the comment's colon, that the line [at, end) begins with, else
// `at`. A name may stand without a colon.
size_t AfterFieldName(std::string_view text, size_t at, size_t end) {
  constexpr std::array<std::string_view, 5> kNames = {"", "data", "event", "id", "retry"};
  const std::string_view line = text.substr(at, end - at);
  const std::string_view name = line.substr(0, line.find(':'));
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) return at;
  return at + std::min(name.size() + 1, line.size());
}

bool BeginsLine(std::string_view text, size_t at) {
  return at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r';
}

// The place after the line end at `at`.
size_t AfterLineEnd(std::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  return at + (text.substr(at).starts_with("\r\n") ? 2 : 1);
}

}  // namespace

std::string_view ToText(Fill fill) {
  switch (fill) {
    case Fill::kNothing:
      return "";
    case Fill::kMark:
      return kRedactedMark;
    case Fill::kEmptyArray:
      return "[]";
    case Fill::kNull:
      return "null";
  }
  return "";
}

bool BodyRedactor::IsPlainlyClean(const SecretScanner& scanner, std::string_view body) {
  return !LooksLikeSse(body) && !LooksLikeRecords(body) && !scanner.MayHold(body);
}

std::vector<Edit> BodyRedactor::Find() {
  const View body{.text = body_, .parent = nullptr, .map = nullptr};
  const bool is_stream = LooksLikeSse(body_);
  const bool is_records = !is_stream && LooksLikeRecords(body_);
  suspicious_ = scanner_.MayHold(body_);
  if (is_stream) {
    ScanStream(body);
  } else if (is_records || suspicious_) {
    ScanValues(body, is_records ? Pieces::kAll : Pieces::kTokens);
  }
  ScanChannels();
  AddLogprobEdits();
  return Merged();
}

void BodyRedactor::AddEdit(const View& view, TextSpan span, Fill fill) {
  if (view.parent == nullptr) {
    // A line of a stream that became empty would end a record, and what was left of one might begin
    // as a field.
    if (fill == Fill::kNothing && BeginsLine(body_, span.begin)) fill = Fill::kMark;
    edits_.push_back({span, fill});
  } else if (view.map == nullptr) {
    AddEdit(*view.parent, {span.begin + view.offset, span.end + view.offset}, fill);
  } else {
    for (const TextSpan& source : view.map->ToSource(span.begin, span.end)) {
      AddEdit(*view.parent, source, fill);
      if (fill == Fill::kMark) fill = Fill::kNothing;
    }
  }
}

// A text of which something is to be feared.
void BodyRedactor::ScanBody(const View& view) {
  if (view.level < kMaxLevel) {
    ScanValues(view, Pieces::kNone);
  } else {
    ScanText(view, {0, view.text.size()});
  }
}

void BodyRedactor::ScanText(const View& view, TextSpan span) {
  if (span.begin >= span.end) return;
  const std::string_view text = view.text.substr(span.begin, span.end - span.begin);
  for (const TextSpan& found : scanner_.Find(text)) {
    AddEdit(view, {found.begin + span.begin, found.end + span.begin}, Fill::kMark);
  }
  if (view.level >= kMaxLevel || !HoldsEscape(text)) return;
  MappedText decoded;
  decoded.AppendDecoded(view.text, span.begin, span.end);
  const View inside{
      .text = decoded.text(), .parent = &view, .map = &decoded, .level = view.level + 1};
  if (scanner_.MayHold(inside.text)) ScanText(inside, {0, inside.text.size()});
}

void BodyRedactor::ScanString(const View& view, TextSpan inner) {
  if (inner.begin >= inner.end) return;
  const std::string_view written = view.text.substr(inner.begin, inner.end - inner.begin);
  if (written.find('\\') == std::string_view::npos) {
    const View plain{
        .text = written, .parent = &view, .offset = inner.begin, .level = view.level + 1};
    if (scanner_.MayHold(written)) ScanBody(plain);
    return;
  }
  MappedText decoded;
  decoded.AppendDecoded(view.text, inner.begin, inner.end);
  const View inside{
      .text = decoded.text(), .parent = &view, .map = &decoded, .level = view.level + 1};
  if (scanner_.MayHold(inside.text)) ScanBody(inside);
}

// The text of lines without their field names and line ends, which stay whatever is found.
void BodyRedactor::ScanLines(const View& view, TextSpan span) {
  MappedText lines;
  LineEnds ends(view.text);
  for (size_t at = span.begin; at < span.end;) {
    const size_t end = std::min(ends.Next(at), span.end);
    size_t value = AfterFieldName(view.text, at, end);
    // A field that the policy calls a credential is told by its name.
    const std::string_view name = view.text.substr(at, value - at);
    if (name != "data:" && scanner_.IsCredential(name.substr(0, name.find(':')))) value = at;
    lines.AppendLine(view.text, value, end);
    at = end + 1;
  }
  const View joined{.text = lines.text(), .parent = &view, .map = &lines};
  ScanText(joined, {0, joined.text.size()});
}

// Data lines that hold JSON are read as that; what lies between them is text.
void BodyRedactor::ScanStream(const View& view) {
  LineEnds ends(view.text);
  size_t text_begin = 0;
  const auto scan_text_until = [this, &view, &text_begin](size_t end) {
    if (suspicious_) ScanLines(view, {text_begin, end});
    text_begin = end;
  };
  for (size_t at = 0; at < view.text.size();) {
    size_t end = ends.Next(at);
    const size_t value = SkipSpace(view.text.substr(0, end), AfterDataField(view.text, at));
    if (value > at && value < end && OpensJson(view.text[value])) {
      scan_text_until(value);
      // Several data lines are one text. What lies between them is blanked, so that every byte
      // keeps its place.
      std::string event;
      for (size_t next = AfterLineEnd(view.text, end); AfterDataField(view.text, next) > next;
           next = AfterLineEnd(view.text, end)) {
        if (event.empty()) event = view.text.substr(value, end - value);
        const size_t data = AfterDataField(view.text, next);
        event.append(data - end, ' ');
        end = ends.Next(data);
        event.append(view.text.substr(data, end - data));
      }
      const std::string_view text = event.empty() ? view.text.substr(value, end - value) : event;
      text_begin += ScanRecords({.text = text, .parent = &view, .offset = value}, Pieces::kAll);
    }
    at = end + 1;
  }
  scan_text_until(view.text.size());
}

// JSON values one after another, as far as they go. Returns where that is.
size_t BodyRedactor::ScanRecords(const View& view, Pieces pieces) {
  size_t at = SkipSpace(view.text, view.text.starts_with("\xef\xbb\xbf") ? 3 : 0);
  while (at < view.text.size() && OpensJson(view.text[at])) {
    const size_t end = ScanRecord(view, at, pieces);
    if (!records_[static_cast<size_t>(view.level)].outline.is_complete()) return end;
    at = SkipSpace(view.text, end);
  }
  return at;
}

void BodyRedactor::ScanValues(const View& view, Pieces pieces) {
  size_t at = 0;
  while (at < view.text.size()) {
    const View rest{
        .text = view.text.substr(at), .parent = &view, .offset = at, .level = view.level};
    // An error, and then the stream of the next attempt.
    if (view.level == 0 && at > 0 && LooksLikeSse(rest.text)) return ScanStream(rest);
    const size_t stopped = at + ScanRecords(rest, pieces);
    // Of records that stand in lines, one that is broken ends with its line.
    const bool is_lines = pieces == Pieces::kAll && stopped > at;
    at = is_lines ? std::min(view.text.find('\n', stopped), view.text.size()) : view.text.size();
    if (suspicious_ || view.level > 0) ScanText(view, {stopped, at});
  }
}

size_t BodyRedactor::ScanRecord(const View& view, size_t begin, Pieces pieces) {
  Record& record = records_[static_cast<size_t>(view.level)];
  const bool is_line = pieces == Pieces::kAll && view.text[begin] == '{';
  const size_t end = record.outline.Read(view.text, begin, is_line);
  ReadContexts(view, &record);
  if (suspicious_ || view.level > 0) {
    for (uint32_t i = 0; i < record.outline.nodes().size(); ++i) ScanNode(view, record, i);
  }
  if (pieces != Pieces::kNone) {
    AddPieces(view, record, pieces);
    AddLogprobs(view, record);
  }
  return end;
}

void BodyRedactor::ScanChannels() {
  const View body{.text = body_, .parent = nullptr, .map = nullptr};
  for (const auto& [path, channel] : channels_) {
    if (channel.piece_count < 2) continue;  // Seen on its own.
    const View joined{
        .text = channel.text.text(), .parent = &body, .map = &channel.text, .level = 1};
    if (scanner_.MayHold(joined.text)) ScanBody(joined);
  }
}

void BodyRedactor::AddLogprobEdits() {
  if (edits_.empty() || logprobs_.empty()) return;
  std::vector<Edit> found = Merged();
  for (const LogprobEntry& entry : logprobs_) {
    const auto edit = std::partition_point(found.begin(), found.end(), [&entry](const Edit& e) {
      return e.span.end <= entry.token.begin;
    });
    if (edit == found.end() || edit->span.begin >= entry.token.end) continue;
    if (entry.bytes.end > 0) edits_.push_back({entry.bytes, Fill::kNull});
    if (entry.alternatives.end > 0) {
      edits_.push_back({entry.alternatives, entry.alternatives_fill});
    }
  }
}

std::vector<Edit> BodyRedactor::Merged() {
  std::vector<Edit> sorted = edits_;
  std::sort(sorted.begin(), sorted.end(), [](const Edit& a, const Edit& b) {
    return a.span.begin != b.span.begin ? a.span.begin < b.span.begin : a.span.end > b.span.end;
  });
  std::vector<Edit> merged;
  for (const Edit& edit : sorted) {
    if (merged.empty() || edit.span.begin >= merged.back().span.end) {
      merged.push_back(edit);
      continue;
    }
    Edit& last = merged.back();
    last.span.end = std::max(last.span.end, edit.span.end);
    last.fill = std::max(last.fill, edit.fill);
  }
  return merged;
}

}  // namespace reenact::schema::internal
