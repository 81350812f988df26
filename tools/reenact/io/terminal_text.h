// Recorded text on its way to a terminal: what a provider or a host sent can hold escape
// sequences, bytes that are no UTF-8, and characters that reverse the reading order. None of them
// reaches the terminal as itself. Pure functions.

#ifndef REENACT_TOOLS_REENACT_IO_TERMINAL_TEXT_H_
#define REENACT_TOOLS_REENACT_IO_TERMINAL_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reenact::tools {

// One line: line feed, carriage return and tab become \n, \r, \t. All other C0 and C1 controls,
// DEL, bidirectional controls, line separators and bytes that are no UTF-8 become \xNN, byte by
// byte. The rest passes, backslashes included: the result is safe, not reversible.
std::string Printable(std::string_view text);
// As Printable, but line feeds and tabs stay.
std::string PrintableLines(std::string_view text);
// As Printable, at most `max_width` columns wide, cut on a character and ended with "…".
std::string Shortened(std::string_view text, size_t max_width);
// As Shortened, followed by the whole length where it was cut: `{"total":12… (70,000 bytes)`.
std::string ShortenedBody(std::string_view text, size_t max_width);

bool IsValidUtf8(std::string_view text);
// Terminal columns of printable UTF-8 text: 2 for wide characters, 0 for combining ones.
size_t DisplayWidth(std::string_view text);
// The same of text that a Style has coloured.
size_t VisibleWidth(std::string_view styled);
// Pads with spaces to `width` columns; longer text is left as it is.
std::string PadRight(std::string_view text, size_t width);
std::string PadLeft(std::string_view text, size_t width);

// "1,234,567".
std::string WithThousands(int64_t number);
// "412 bytes", "70.0 kB", "5.4 MB" (decimal units).
std::string FormatSize(uint64_t size_bytes);
// Counted nouns: "1 call", "3 calls". `plural` empty: the noun with an s.
std::string Counted(int64_t count, std::string_view noun, std::string_view plural = "");
// A word of a shell's command line, quoted where it must be. One line of what a terminal may print:
// a word with other bytes needs a shell that knows $'...', as bash does.
std::string ShellQuoted(std::string_view word);

enum class Ink : uint8_t { kPlain, kBold, kDim, kRed, kYellow, kGreen };

// Colours text, or leaves it alone.
struct Style {
  bool color = false;
  std::string operator()(Ink ink, std::string_view text) const;
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_TERMINAL_TEXT_H_
