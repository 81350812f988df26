#include "schema/internal/body_redactor.h"

#include <algorithm>

#include "schema/redaction.h"
#include "schema/sse.h"

namespace reenact::schema::internal {
namespace {

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool OpensJson(char c) {
  return c == '{' || c == '[';
}

size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

// One JSON value a line, or values one after another: what the first line end says.
bool LooksLikeJsonLines(std::string_view text) {
  const size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos || line_end == 0) return false;
  const size_t last = line_end - (text[line_end - 1] == '\r' && line_end > 1 ? 2 : 1);
  const size_t next = SkipSpace(text, line_end);
  if (next == text.size() || text[next] != '{' || text[last] != '}') return false;
  return OpensJson(text[SkipSpace(text, 0)]);
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
  return !LooksLikeSse(body) && !LooksLikeJsonLines(body) && !scanner.MayHold(body);
}

std::vector<Edit> BodyRedactor::Find() {
  const View body{.text = body_};
  const bool is_stream = LooksLikeSse(body_);
  const bool is_lines = !is_stream && LooksLikeJsonLines(body_);
  suspicious_ = scanner_.MayHold(body_);
  if (is_stream) {
    ScanStream(body);
  } else if (is_lines || suspicious_) {
    ScanValues(body, is_lines ? Pieces::kAll : Pieces::kTokens);
  }
  ScanChannels();
  AddLogprobEdits();
  return Merged();
}

void BodyRedactor::AddEdit(const View& view, TextSpan span, Fill fill) {
  if (view.parent == nullptr) {
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
  if (view.level >= kMaxLevel || text.find('\\') == std::string_view::npos) return;
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

// Data lines that hold JSON are read as that; what lies between them is text. No text goes over a
// blank line, so that events stay events.
void BodyRedactor::ScanStream(const View& view) {
  constexpr std::string_view kData = "data:";
  LineEnds ends(view.text);
  size_t text_begin = 0;
  const auto scan_text_until = [this, &view, &text_begin](size_t end) {
    if (suspicious_) ScanText(view, {text_begin, end});
    text_begin = end;
  };
  for (size_t at = 0; at < view.text.size();) {
    const size_t line_end = ends.Next(at);
    if (line_end == at) scan_text_until(at);
    if (view.text.compare(at, kData.size(), kData) == 0) {
      const View line{.text = view.text.substr(0, line_end)};
      const size_t value = SkipSpace(line.text, at + kData.size());
      if (value < line_end && OpensJson(view.text[value])) {
        scan_text_until(value);
        text_begin = ScanRecord(line, value, Pieces::kAll);
      }
    }
    at = line_end + 1;
  }
  scan_text_until(view.text.size());
}

void BodyRedactor::ScanValues(const View& view, Pieces pieces) {
  size_t at = SkipSpace(view.text, view.text.starts_with("\xef\xbb\xbf") ? 3 : 0);
  while (at < view.text.size() && OpensJson(view.text[at])) {
    const size_t end = ScanRecord(view, at, pieces);
    at = end;
    if (!records_[static_cast<size_t>(view.level)].outline.is_complete()) {
      if (pieces != Pieces::kAll) break;
      const size_t line_end = std::min(view.text.find('\n', end), view.text.size());
      if (suspicious_) ScanText(view, {end, line_end});
      at = line_end;
    }
    at = SkipSpace(view.text, at);
  }
  if (suspicious_ || view.level > 0) ScanText(view, {at, view.text.size()});
}

size_t BodyRedactor::ScanRecord(const View& view, size_t begin, Pieces pieces) {
  Record& record = records_[static_cast<size_t>(view.level)];
  const size_t end = record.outline.Read(view.text, begin);
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
  const View body{.text = body_};
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
