// Templates that were damaged: whatever the bytes, an answer or an error, and the same one twice.

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "local_engine/chat_template/chat_template.h"

namespace reenact::local_engine {
namespace {

std::vector<std::string> Sources() {
  std::ifstream file(std::string(REENACT_CHAT_TEMPLATE_TEST_DATA) + "/constructs.jsonl");
  std::vector<std::string> sources;
  for (std::string line; std::getline(file, line);)
    sources.push_back(nlohmann::json::parse(line)["source"]);
  return sources;
}

std::string Mutate(std::string text, const std::vector<std::string>& sources,
                   std::mt19937* random) {
  static const std::vector<std::string> kPieces = {
      "{{", "}}", "{%", "%}", "-%}", "{#", "#}", "{% endif %}", "{% raw %}",
      "'",  "\"", "(",  ")",  "[",   "]",  "|",  ".",           "is",
      "\\", "*",  "**", "~",  "not", "\n", "{",  "}",           "\xc3"};
  const auto below = [random](size_t n) { return n == 0 ? 0 : (*random)() % n; };
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    const size_t at = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        text.erase(at, 1 + below(8));
        break;
      case 1:
        text.insert(at, kPieces[below(kPieces.size())]);
        break;
      case 2:
        text.insert(at, sources[below(sources.size())]);
        break;
      case 3:
        text.resize(at);
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
    }
  }
  return text;
}

TEST(ChatTemplateMutation, DamagedTemplatesRenderOrFailAlike) {
  std::ifstream file(std::string(REENACT_CHAT_TEMPLATE_TEST_DATA) + "/variables.json");
  std::ostringstream variables;
  variables << file.rdbuf();
  const std::vector<std::string> sources = Sources();
  ASSERT_GT(sources.size(), 200u);
  std::mt19937 random(20260726);
  const ChatTemplateLimits limits{.work = 1 << 20, .output_bytes = 1 << 16};
  const std::string text = variables.str();
  const ChatTemplateInput input{.messages_json = "[]", .variables_json = text};
  int rendered = 0, failed = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string source = Mutate(sources[random() % sources.size()], sources, &random);
    const absl::StatusOr<ChatTemplate> parsed = ChatTemplate::Parse(source);
    if (!parsed.ok()) {
      ++failed;
      continue;
    }
    const absl::StatusOr<std::string> first = parsed->Render(input, limits),
                                      second = parsed->Render(input, limits);
    ASSERT_EQ(first.status(), second.status()) << source;
    ASSERT_EQ(first.value_or(""), second.value_or("")) << source;
    ++(first.ok() ? rendered : failed);
  }
  EXPECT_GT(rendered, 1000);
  EXPECT_GT(failed, 1000);
}

}  // namespace
}  // namespace reenact::local_engine
