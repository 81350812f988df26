#include "tools/reenact/io/terminal_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/escaping.h"

#include "tools/reenact/io/text_table.h"

namespace reenact::tools {
namespace {

bool IsSafe(std::string_view text) {
  if (!IsValidUtf8(text)) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return false;
    const auto next = i + 1 < text.size() ? static_cast<uint8_t>(text[i + 1]) : uint8_t{0};
    if (byte == 0xC2 && next >= 0x80 && next <= 0x9F) return false;
  }
  return text.find("\xE2\x80\xAE") == std::string_view::npos;
}

TEST(Printable, OrdinaryTextInAnyLanguagePasses) {
  EXPECT_EQ(Printable("café 🌍 日本語 \\n"), "café 🌍 日本語 \\n");
}

TEST(Printable, ControlsBecomeEscapes) {
  EXPECT_EQ(Printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(Printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(Printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(Printable("\xC2\x9B"), "\\xc2\\x9b");  // C1 control sequence introducer
  EXPECT_EQ(Printable("a\xE2\x80\xAE"
                      "b"),
            "a\\xe2\\x80\\xaeb");                           // right-to-left override
  EXPECT_EQ(Printable("\xE2\x81\xA7"), "\\xe2\\x81\\xa7");  // right-to-left isolate
}

// cases/reports.md 67 and 68: a lone surrogate, and bytes that are no UTF-8.
TEST(Printable, BytesThatAreNoUtf8BecomeEscapes) {
  EXPECT_EQ(Printable("\xED\xA0\xBD"), "\\xed\\xa0\\xbd");
  EXPECT_EQ(Printable("\xF0\x9F\x2F"), "\\xf0\\x9f/");
  EXPECT_EQ(Printable("\xC0\xAF"), "\\xc0\\xaf");
  EXPECT_EQ(Printable("\xF5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
}

TEST(Printable, NothingThatActsOnATerminalGetsThrough) {
  std::string all;
  for (int round = 0; round < 3; ++round) {
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>((byte * (2 * round + 1)) & 255);
  }
  for (size_t from = 0; from < all.size(); from += 7) {
    EXPECT_TRUE(IsSafe(Printable(std::string_view(all).substr(from))));
    EXPECT_TRUE(IsSafe(Shortened(std::string_view(all).substr(from), 40)));
  }
}

TEST(PrintableLines, KeepsLinesAndTabsOnly) {
  EXPECT_EQ(PrintableLines("a\n\tb\r\x1b"), "a\n\tb\\r\\x1b");
}

TEST(Shortened, CutsOnACharacterAndSaysSo) {
  EXPECT_EQ(Shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(Shortened("abcdefg", 6), "abcde…");
  EXPECT_EQ(Shortened("日本語です", 6), "日本…");
  EXPECT_EQ(Shortened("é🌍é", 3), "é…");
  EXPECT_EQ(Shortened("ab", 0), "");
}

TEST(Shortened, ForEveryWidthIsValidAndFits) {
  const std::string text = "a\x1b日\xFF🌍é\n漢字e\xCC\x81x";
  for (size_t width = 0; width < 40; ++width) {
    const std::string cut = Shortened(text, width);
    EXPECT_TRUE(IsSafe(cut)) << width;
    EXPECT_LE(DisplayWidth(cut), width) << cut;
  }
}

// cases/reports.md 70: what is cut says how long the whole was.
TEST(ShortenedBody, NamesTheWholeLength) {
  EXPECT_EQ(ShortenedBody(std::string(70'000, 'x'), 5), "xxxx… (70.0 kB)");
  EXPECT_EQ(ShortenedBody("xxxxx", 5), "xxxxx");
}

TEST(Numbers, AreGroupedAndSized) {
  EXPECT_EQ(WithThousands(1234567), "1,234,567");
  EXPECT_EQ(WithThousands(-1234), "-1,234");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(FormatSize(412), "412 bytes");
  EXPECT_EQ(FormatSize(5'400'000), "5.4 MB");
  EXPECT_EQ(FormatSize(UINT64_MAX), "18.4 EB");
  EXPECT_EQ(Counted(1, "call"), "1 call");
  EXPECT_EQ(Counted(2, "body", "bodies"), "2 bodies");
}

TEST(ShellQuoted, SurvivesAShell) {
  EXPECT_EQ(ShellQuoted("--port=8080"), "--port=8080");
  EXPECT_EQ(ShellQuoted("a b"), "'a b'");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted(""), "''");
}

// What bash makes of words, one a line in hexadecimal.
std::string WordsInHex(const std::string& words) {
  const std::string script = testing::TempDir() + "/words-" + std::to_string(getpid());
  std::ofstream(script) << "for word in " << words
                        << "; do printf %s \"$word\" | od -An -v -tx1 | tr -d ' \\n'; echo; done\n";
  FILE* shell = popen(("bash " + script).c_str(), "r");
  std::string out;
  for (int c = std::fgetc(shell); c != EOF; c = std::fgetc(shell)) out += static_cast<char>(c);
  EXPECT_EQ(pclose(shell), 0);
  std::filesystem::remove(script);
  return out;
}

TEST(ShellQuoted, WhatNoTerminalMayPrintComesBackFromTheShell) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  const std::string prompt = "line one\nline 'two' \\ $HOME \xE2\x80\xAE é";
  std::string words, wanted;
  for (const std::string& word : {every_byte, prompt}) {
    const std::string quoted = ShellQuoted(word);
    EXPECT_EQ(Printable(quoted), quoted);
    words += " " + quoted;
    wanted += absl::BytesToHexString(word) + "\n";
  }
  EXPECT_EQ(WordsInHex(words), wanted);
}

TEST(Style, WithoutColourChangesNothing) {
  EXPECT_EQ(Style{}(Ink::kRed, "x"), "x");
  EXPECT_EQ(Style{.color = true}(Ink::kRed, "x"), "\x1b[31mx\x1b[0m");
}

TEST(Table, ShrinksOnlyTheColumnsThatMay) {
  Table table({{.title = "ID"}, {.title = "TEXT", .shrinks = true}, {.title = "N", .right = true}},
              24);
  table.AddRow({"0123456789", "a text that is far too long", "7"});
  EXPECT_EQ(table.Render({}),
            "ID         TEXT        N\n"
            "0123456789 a text tha… 7\n");
}

TEST(Table, MakesCellsPrintable) {
  Table table({{.title = "A"}}, 40);
  table.AddRow({"\x1b[2J"});
  EXPECT_EQ(table.Render({}), "A\n\\x1b[2J\n");
}

}  // namespace
}  // namespace reenact::tools
