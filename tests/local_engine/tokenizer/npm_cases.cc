// Encodes and decodes the texts that write_cases.mjs wrote, and compares: identical ids, identical
// text. usage: npm_cases TOKENIZER.JSON CASES [--plant]
//              npm_cases - CASES [--plant]    (of write_small_cases.mjs: each with its tokenizer)
// --plant changes one id in a hundred before comparing: a comparison that still passes is none.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
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

class CaseReader {
 public:
  explicit CaseReader(std::string bytes) : bytes_(std::move(bytes)) {}

  bool AtEnd() const { return at_ >= bytes_.size(); }

  uint32_t Number() {
    uint32_t value = 0;
    std::memcpy(&value, &bytes_[at_], sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string Text() {
    const uint32_t size = Number();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  Case Next() {
    Case c;
    c.flags = Number();
    c.text = Text();
    c.ids.resize(Number());
    for (uint32_t& id : c.ids) id = Number();
    c.decoded = Text();
    return c;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

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

struct Tally {
  size_t cases = 0;
  size_t encoded = 0;
  size_t encoded_bytes = 0;
  size_t id_differences = 0;
  size_t text_differences = 0;
  double load_seconds = 0;
  double encode_seconds = 0;
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Check(const Tokenizer& tokenizer, const Case& c, bool plant, Tally* tally) {
  ++tally->cases;
  if ((c.flags & kDecodeOnly) == 0) {
    const Clock::time_point before = Clock::now();
    absl::StatusOr<std::vector<uint32_t>> ids =
        tokenizer.Encode(c.text, {.add_special_tokens = (c.flags & kAddSpecial) != 0});
    tally->encode_seconds += SecondsSince(before);
    if (ids.ok() && plant && tally->cases % 100 == 0) ids->push_back(1);
    ++tally->encoded;
    tally->encoded_bytes += c.text.size();
    if (!ids.ok() || *ids != c.ids) {
      if (++tally->id_differences <= 5)
        Show("encoding", c, ids.value_or(std::vector<uint32_t>()), "");
    }
  }
  const std::string decoded = Decode(tokenizer, c);
  if (decoded != c.decoded && ++tally->text_differences <= 5) Show("decoding", c, {}, decoded);
}

absl::StatusOr<Tokenizer> Load(const std::string& json, Tally* tally) {
  const Clock::time_point start = Clock::now();
  absl::StatusOr<Tokenizer> tokenizer = reenact::local_engine::TokenizerFromJson(json);
  tally->load_seconds += SecondsSince(start);
  if (!tokenizer.ok()) {
    std::printf("%s\n%s\n", json.substr(0, 3000).c_str(),
                std::string(tokenizer.status().message()).c_str());
  }
  return tokenizer;
}

// False when a tokenizer could not be read.
bool Run(const std::string& tokenizer_path, CaseReader* reader, bool plant, Tally* tally) {
  const bool each_with_its_own = tokenizer_path == "-";
  while (!reader->AtEnd()) {
    const std::string json = each_with_its_own ? reader->Text() : ReadFile(tokenizer_path.c_str());
    const absl::StatusOr<Tokenizer> tokenizer = Load(json, tally);
    if (!tokenizer.ok()) return false;
    const size_t differences = tally->id_differences + tally->text_differences;
    for (uint32_t left = each_with_its_own ? reader->Number() : UINT32_MAX;
         left > 0 && !reader->AtEnd(); --left) {
      Check(*tokenizer, reader->Next(), plant, tally);
    }
    if (each_with_its_own && !plant &&
        tally->id_differences + tally->text_differences > differences && differences < 3) {
      std::printf("with the tokenizer %s\n\n", json.c_str());
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool plant = argc > 3 && std::string_view(argv[3]) == "--plant";
  CaseReader reader(ReadFile(argv[2]));
  Tally tally;
  if (!Run(argv[1], &reader, plant, &tally)) return 2;
  std::printf(
      "{\"cases\": %zu, \"encoded\": %zu, \"id_differences\": %zu, \"text_differences\": %zu, "
      "\"load_s\": %.2f, \"encode_mb_s\": %.2f}\n",
      tally.cases, tally.encoded, tally.id_differences, tally.text_differences, tally.load_seconds,
      static_cast<double>(tally.encoded_bytes) / 1e6 / tally.encode_seconds);
  return tally.encoded == 0 || tally.id_differences + tally.text_differences > 0 ? 1 : 0;
}
