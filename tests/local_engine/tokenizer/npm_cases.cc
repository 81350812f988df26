// Encodes and decodes the texts that write_cases.mjs wrote, and compares: identical ids, identical
// text. usage: npm_cases TOKENIZER.JSON CASES [--plant]
// --plant changes one id in a hundred before comparing: a comparison that still passes is none.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "local_engine/tokenizer/internal/utf8_text.h"
#include "local_engine/tokenizer/tokenizer.h"
#include "local_engine/tokenizer/tokenizer_json.h"

namespace {

using reenact::local_engine::DecodeStream;
using reenact::local_engine::FirstInvalidByte;
using reenact::local_engine::Tokenizer;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kAddSpecial = 1;
constexpr uint32_t kSkipSpecial = 2;
constexpr uint32_t kDecodeOnly = 4;

struct Case {
  uint32_t flags = 0;
  std::string text;
  std::vector<uint32_t> ids;
  std::string decoded;
};

std::string ReadFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Case> ReadCases(const std::string& bytes) {
  size_t at = 0;
  const auto number = [&] {
    uint32_t value = 0;
    std::memcpy(&value, &bytes[at], sizeof value);
    at += sizeof value;
    return value;
  };
  const auto text = [&] {
    const uint32_t size = number();
    at += size;
    return bytes.substr(at - size, size);
  };
  std::vector<Case> cases;
  while (at < bytes.size()) {
    Case c;
    c.flags = number();
    c.text = text();
    c.ids.resize(number());
    for (uint32_t& id : c.ids) id = number();
    c.decoded = text();
    cases.push_back(std::move(c));
  }
  return cases;
}

// Whole and streamed; empty, when a character was split.
std::string Decode(const Tokenizer& tokenizer, const Case& c) {
  const bool skip = (c.flags & kSkipSpecial) != 0;
  std::string streamed;
  DecodeStream stream = tokenizer.NewStream(skip);
  for (size_t i = 0; i <= c.ids.size(); ++i) {
    const std::string part = i < c.ids.size() ? stream.Push(c.ids[i]) : stream.Finish();
    if (FirstInvalidByte(part) != std::string_view::npos) return {};
    streamed += part;
  }
  return streamed == tokenizer.Decode(c.ids, skip) ? streamed : std::string();
}

void Show(const char* what, const Case& c, const std::vector<uint32_t>& ids,
          const std::string& decoded) {
  const auto print_ids = [](const std::vector<uint32_t>& list) {
    for (const uint32_t id : list) std::printf(" %u", id);
    std::printf("\n");
  };
  std::printf("%s differs, flags %u, text:\n%s\n expected:", what, c.flags, c.text.c_str());
  print_ids(c.ids);
  std::printf(" actual:  ");
  print_ids(ids);
  std::printf(" expected text: %s\n actual text:   %s\n", c.decoded.c_str(), decoded.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool plant = argc > 3 && std::string_view(argv[3]) == "--plant";
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<Tokenizer> tokenizer =
      reenact::local_engine::TokenizerFromJson(ReadFile(argv[1]));
  if (!tokenizer.ok()) {
    std::printf("%s: %s\n", argv[1], std::string(tokenizer.status().message()).c_str());
    return 2;
  }
  const Clock::time_point loaded = Clock::now();
  const std::vector<Case> cases = ReadCases(ReadFile(argv[2]));
  size_t encoded = 0;
  size_t encoded_bytes = 0;
  size_t id_differences = 0;
  size_t text_differences = 0;
  double encode_seconds = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if ((c.flags & kDecodeOnly) == 0) {
      const Clock::time_point before = Clock::now();
      absl::StatusOr<std::vector<uint32_t>> ids =
          tokenizer->Encode(c.text, {.add_special_tokens = (c.flags & kAddSpecial) != 0});
      encode_seconds += std::chrono::duration<double>(Clock::now() - before).count();
      if (ids.ok() && plant && i % 100 == 0) ids->push_back(1);
      ++encoded;
      encoded_bytes += c.text.size();
      if (!ids.ok() || *ids != c.ids) {
        if (++id_differences <= 5) Show("encoding", c, ids.value_or(std::vector<uint32_t>()), "");
      }
    }
    const std::string decoded = Decode(*tokenizer, c);
    if (decoded != c.decoded && ++text_differences <= 5) Show("decoding", c, {}, decoded);
  }
  std::printf(
      "{\"cases\": %zu, \"encoded\": %zu, \"id_differences\": %zu, \"text_differences\": %zu, "
      "\"load_s\": %.2f, \"encode_mb_s\": %.2f}\n",
      cases.size(), encoded, id_differences, text_differences,
      std::chrono::duration<double>(loaded - start).count(),
      static_cast<double>(encoded_bytes) / 1e6 / encode_seconds);
  return encoded == 0 || id_differences + text_differences > 0 ? 1 : 0;
}
