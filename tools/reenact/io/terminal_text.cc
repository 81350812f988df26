#include "tools/reenact/io/terminal_text.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace reenact::tools {
namespace {

constexpr std::string_view kEllipsis = "…";

struct CodePoint {
  uint32_t value = 0;
  size_t size = 1;     // Bytes read.
  bool valid = false;  // False: one byte that begins no UTF-8 character.
};

size_t SequenceSize(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

CodePoint ReadCodePoint(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  const size_t size = SequenceSize(lead);
  if (size == 0 || at + size > text.size()) return {lead, 1, false};
  if (size == 1) return {lead, 1, true};
  uint32_t value = lead & (0xFFu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    const auto next = static_cast<uint8_t>(text[at + i]);
    if ((next & 0xC0) != 0x80) return {lead, 1, false};
    value = (value << 6) | (next & 0x3Fu);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {lead, 1, false};
  return {value, size, true};
}

struct Range {
  uint32_t first;
  uint32_t last;
};

template <size_t N>
bool IsIn(const Range (&ranges)[N], uint32_t value) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [value](const Range& r) { return value >= r.first && value <= r.last; });
}

// What changes how the text around it is shown: controls, bidirectional marks, embeddings,
// overrides and isolates, line and paragraph separators, tag characters.
bool IsHostile(uint32_t value) {
  static constexpr Range kHostile[] = {{0x00, 0x1F},      {0x7F, 0x9F},     {0x061C, 0x061C},
                                       {0x200E, 0x200F},  {0x2028, 0x202E}, {0x2066, 0x2069},
                                       {0xE0000, 0xE007F}};
  return IsIn(kHostile, value);
}

size_t WidthOf(uint32_t value) {
  static constexpr Range kZero[] = {
      {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F}, {0x0E31, 0x0E31},
      {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D},
      {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF}};
  static constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                                    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                                    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                                    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  if (IsIn(kZero, value)) return 0;
  return IsIn(kWide, value) ? 2 : 1;
}

void AppendHex(std::string_view bytes, std::string* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    *out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

// One character of `text`, made printable.
struct Piece {
  std::string text;
  size_t width = 0;
  size_t size = 0;  // Bytes of the source.
};

Piece NextPiece(std::string_view text, size_t at, bool keep_lines) {
  const CodePoint point = ReadCodePoint(text, at);
  const std::string_view bytes = text.substr(at, point.size);
  Piece piece;
  piece.size = point.size;
  if (point.valid && !IsHostile(point.value)) {
    piece.text = bytes;
    piece.width = WidthOf(point.value);
    return piece;
  }
  const char c = bytes[0];
  if (point.valid && keep_lines && (c == '\n' || c == '\t')) {
    piece.text = bytes;
  } else if (point.valid && c == '\n') {
    piece.text = "\\n";
  } else if (point.valid && c == '\r') {
    piece.text = "\\r";
  } else if (point.valid && c == '\t') {
    piece.text = "\\t";
  } else {
    AppendHex(bytes, &piece.text);
  }
  piece.width = piece.text.size();
  return piece;
}

std::string MakePrintable(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    Piece piece = NextPiece(text, at, keep_lines);
    out += piece.text;
    at += piece.size;
  }
  return out;
}

struct Cut {
  std::string text;
  bool shortened = false;
};

Cut CutTo(std::string_view text, size_t max_width) {
  Cut cut;
  size_t width = 0;
  size_t room_for_ellipsis = 0;  // Length of `cut.text` at which an ellipsis still fits.
  for (size_t at = 0; at < text.size();) {
    const Piece piece = NextPiece(text, at, false);
    if (width + piece.width > max_width) {
      cut.text.resize(room_for_ellipsis);
      if (max_width > 0) cut.text += kEllipsis;
      cut.shortened = true;
      return cut;
    }
    cut.text += piece.text;
    width += piece.width;
    at += piece.size;
    if (width + 1 <= max_width) room_for_ellipsis = cut.text.size();
  }
  return cut;
}

}  // namespace

std::string Printable(std::string_view text) {
  return MakePrintable(text, false);
}

std::string PrintableLines(std::string_view text) {
  return MakePrintable(text, true);
}

std::string Shortened(std::string_view text, size_t max_width) {
  return CutTo(text, max_width).text;
}

std::string ShortenedBody(std::string_view text, size_t max_width) {
  Cut cut = CutTo(text, max_width);
  if (cut.shortened) cut.text += " (" + FormatSize(text.size()) + ")";
  return std::move(cut.text);
}

bool IsValidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = ReadCodePoint(text, at);
    if (!point.valid) return false;
    at += point.size;
  }
  return true;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = ReadCodePoint(text, at);
    width += point.valid ? WidthOf(point.value) : 1;
    at += point.size;
  }
  return width;
}

size_t VisibleWidth(std::string_view styled) {
  std::string text;
  for (size_t at = 0; at < styled.size(); ++at) {
    if (styled[at] == '\x1b') {
      at = std::min(styled.find('m', at), styled.size());
    } else {
      text += styled[at];
    }
  }
  return DisplayWidth(text);
}

std::string PadRight(std::string_view text, size_t width) {
  std::string out(text);
  const size_t used = DisplayWidth(text);
  if (used < width) out.append(width - used, ' ');
  return out;
}

std::string PadLeft(std::string_view text, size_t width) {
  const size_t used = DisplayWidth(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::string WithThousands(int64_t number) {
  std::string digits = std::to_string(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string FormatSize(uint64_t size_bytes) {
  if (size_bytes < 10'000) return WithThousands(static_cast<int64_t>(size_bytes)) + " bytes";
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(size_bytes) / 1000;
  size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string Counted(int64_t count, std::string_view noun, std::string_view plural) {
  std::string out = WithThousands(count) + " ";
  if (count == 1) return out.append(noun);
  return plural.empty() ? out.append(noun).append("s") : out.append(plural);
}

// In the form $'...', with the bytes that a terminal must not see as \xNN.
static std::string EscapedForShell(std::string_view word) {
  std::string out = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      char escape[5];
      std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string ShellQuoted(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:=,@%+").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  if (Printable(word) != word) return EscapedForShell(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string Style::operator()(Ink ink, std::string_view text) const {
  if (!color || ink == Ink::kPlain || text.empty()) return std::string(text);
  static constexpr std::string_view kCodes[] = {"0", "1", "2", "31", "33", "32"};
  std::string out = "\x1b[";
  out += kCodes[static_cast<size_t>(ink)];
  out += 'm';
  out += text;
  return out + "\x1b[0m";
}

}  // namespace reenact::tools
