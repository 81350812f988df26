// Every construct of the template language, as jinja2 renders it: data/constructs.jsonl, which
// peer_test.py compares with jinja2 where that is installed.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "local_engine/chat_template/chat_template.h"

namespace reenact::local_engine {
namespace {

std::string ReadData(const std::string& name) {
  std::ifstream file(std::string(REENACT_CHAT_TEMPLATE_TEST_DATA) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<std::string> Render(const std::string& source, const std::string& variables = "",
                                   const ChatTemplateLimits& limits = {}) {
  const absl::StatusOr<ChatTemplate> parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) return parsed.status();
  ChatTemplateInput input{.messages_json = "[]", .variables_json = variables};
  input.now = absl::CivilSecond(2026, 7, 26, 9, 5, 3);
  return parsed->Render(input, limits);
}

TEST(ChatTemplateConstructs, RenderAsJinja2RendersThem) {
  const std::string variables = ReadData("variables.json");
  std::istringstream lines(ReadData("constructs.jsonl"));
  int texts = 0, errors = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto expected = nlohmann::json::parse(line);
    const std::string source = expected["source"];
    const absl::StatusOr<std::string> actual = Render(source, variables);
    if (expected.contains("text")) {
      ++texts;
      ASSERT_TRUE(actual.ok()) << source << "\n" << actual.status();
      EXPECT_EQ(*actual, expected["text"].get<std::string>()) << source;
    } else {
      ++errors;
      EXPECT_FALSE(actual.ok()) << source << "\nrendered: " << *actual;
    }
  }
  EXPECT_GT(texts, 130);
  EXPECT_GT(errors, 60);
}

TEST(ChatTemplateErrors, NameLineAndConstruct) {
  const auto message = [](const std::string& source) {
    return std::string(Render(source).status().message());
  };
  EXPECT_EQ(message("a\nb{{ x.y }}"), "line 2, in {{ }}: 'x' is undefined");
  EXPECT_EQ(message("\n\n{% for a in 5 %}{% endfor %}"),
            "line 3, in {% for %}: 'int' object is not iterable");
  EXPECT_EQ(message("{{ 1 }}\n{{ x | tojson }}"),
            "line 2, in filter 'tojson': Object of type Undefined is not JSON serializable");
  EXPECT_EQ(message("{% macro f() %}\n{{ none + 1 }}{% endmacro %}{{ f() }}"),
            "line 2, in {{ }}: unsupported operand types for +: 'NoneType' and 'int'");
  EXPECT_EQ(message("\n{% if x %}"), "line 2: expected {% endif %}, found the end of the template");
  EXPECT_EQ(message("\n\n{{ 'a }}"), "line 3: a string without its closing quote");
  EXPECT_EQ(message("{{ 'a'['split']('') }}"), "line 1, in call of 'split': empty separator");
  EXPECT_EQ(message("{% include 'x' %}"), "line 1: {% include %} is not supported");
}

TEST(ChatTemplateErrors, HaveTheCodeOfTheirKind) {
  EXPECT_EQ(Render("{{ raise_exception('no') }}").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Render("{{ 1 + none }}").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Render("{{ 1 | no_such_filter }}").status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Render("{% extends 'x' %}").status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Render("\xff").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ChatTemplateInputs, ThatAreNotJsonAreNamed) {
  const absl::StatusOr<ChatTemplate> parsed = ChatTemplate::Parse("x");
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->Render({.messages_json = "[]"}).ok());
  const absl::Status messages = parsed->Render({.messages_json = "[{]"}).status();
  EXPECT_EQ(messages.message().substr(0, 9), "messages:") << messages;
  const absl::Status variables =
      parsed->Render({.messages_json = "[]", .variables_json = "[1]"}).status();
  EXPECT_EQ(variables.message(), "variables: not a JSON object");
  EXPECT_FALSE(parsed->Render({.messages_json = "[\"\\ud800\"]"}).ok());
  EXPECT_FALSE(parsed->Render({.messages_json = std::string(5000, '[')}).ok());
}

TEST(ChatTemplateInputs, TheTimeIsTheCallers) {
  const absl::StatusOr<ChatTemplate> parsed = ChatTemplate::Parse("{{ strftime_now('%d %b %Y') }}");
  ASSERT_TRUE(parsed.ok());
  ChatTemplateInput input{.messages_json = "[]"};
  EXPECT_FALSE(parsed->Render(input).ok());
  input.now = absl::CivilSecond(2024, 2, 29);
  EXPECT_EQ(*parsed->Render(input), "29 Feb 2024");
}

TEST(ChatTemplateInputs, WithoutToolsTheyAreNone) {
  const absl::StatusOr<ChatTemplate> parsed =
      ChatTemplate::Parse("{{ tools is none }} {{ documents is none }} {{ bos_token }}");
  ASSERT_TRUE(parsed.ok());
  ChatTemplateInput input{.messages_json = "[]"};
  input.special_tokens = {{"bos_token", "<s>"}};
  EXPECT_EQ(*parsed->Render(input), "True True <s>");
  input.tools_json = "[]";
  EXPECT_EQ(*parsed->Render(input), "False True <s>");
}

// A template that would take for ever, all memory, or the stack.
TEST(ChatTemplateLimits, EndHostileTemplates) {
  const std::string doubling =
      "{% set n = namespace(x=1) %}{% for i in range(99999) %}{% set n.x = {{BODY}} %}{% endfor %}";
  const auto repeat = [&doubling](const std::string& body) {
    return std::string(doubling).replace(doubling.find("{{BODY}}"), 8, body);
  };
  const std::vector<std::string> sources = {
      "{{ 'abcdefgh' * 9999999999 }}",
      "{{ [1, 2, 3] * 9999999999 }}",
      "{{ 'a'.center(9999999999) }}",
      "{{ '%99999999999d' % 1 }}",
      "{{ 'a' | indent(9999999999) }}",
      "{{ [[1]] | tojson(indent=9999999999) }}",
      repeat("n.x ~ n.x ~ 'ab'"),
      repeat("[n.x, n.x]"),
      repeat("[n.x]"),
      repeat("{'a': n.x}"),
      repeat("(n.x | string) * 2"),
      repeat("(n.x | string).replace('1', '11')"),
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
      "{% for a in range(99999) %}{% for b in range(99999) %}{{ 'x' * 1000 }}{% endfor %}{% endfor "
      "%}",
      "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
      "{{ range(999999999) }}",
      "{{ " + std::string(20'000, '(') + "1" + std::string(20'000, ')') + " }}",
      "{{ " + std::string(20'000, '[') + std::string(20'000, ']') + " }}",
      "{{ " + std::string(20'000, '-') + "1 }}",
      "{{ 1" +
          [] {
            std::string more;
            for (int i = 0; i < 20'000; ++i) more += " + 1";
            return more;
          }() +
          " }}",
      "{{ x" +
          [] {
            std::string more;
            for (int i = 0; i < 20'000; ++i) more += ".a";
            return more;
          }() +
          " }}",
      [] {
        std::string ifs;
        for (int i = 0; i < 20'000; ++i) ifs += "{% if 1 %}";
        return ifs;
      }(),
      std::string(ChatTemplate::kMaxSourceBytes + 1, 'a'),
  };
  for (const std::string& source : sources) {
    const absl::Status status = Render(source, "", {.work = int64_t{1} << 24}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << source.substr(0, 120) << "\n"
                                                                   << status;
  }
}

TEST(ChatTemplateLimits, OutputIsBounded) {
  EXPECT_TRUE(Render("{{ 'a' * 100 }}", "", {.output_bytes = 100}).ok());
  EXPECT_EQ(Render("{{ 'a' * 101 }}", "", {.output_bytes = 100}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace reenact::local_engine
