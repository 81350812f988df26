// Tool calls in the forms of several families of models, however the text is cut.

#include "tools/engine_server/tool_call_text.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace reenact::engine_server {
namespace {

// "content|name(arguments)|..."
std::string Joined(const ToolCallText::Piece& piece) {
  std::string text = piece.content;
  for (const ToolCall& call : piece.calls) text += "|" + call.name + "(" + call.arguments + ")";
  return text;
}

void Append(ToolCallText::Piece piece, ToolCallText::Piece* whole) {
  whole->content += piece.content;
  for (ToolCall& call : piece.calls) whole->calls.push_back(std::move(call));
}

// The text in pieces of so many bytes.
std::string Read(std::string_view text, size_t piece_size,
                 std::vector<std::string> tools = {"f", "g"}) {
  ToolCallText reader(std::move(tools));
  ToolCallText::Piece whole;
  for (size_t at = 0; at < text.size(); at += piece_size) {
    Append(reader.Push(text.substr(at, piece_size), ""), &whole);
  }
  Append(reader.Finish(), &whole);
  return Joined(whole);
}

struct Case {
  const char* text;
  const char* expected;
};

constexpr Case kCases[] = {
    {"Plain text < [ {} \n", "Plain text < [ {} \n"},
    {"", ""},
    {" \n ", " \n "},
    // Hermes, Qwen.
    {"Well.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": \"}\"}}\n</tool_call>",
     "Well.|f({\"b\":1,\"a\":\"}\"})"},
    {"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n"
     "<tool_call>{\"name\":\"g\"}</tool_call>\n",
     "|f({})|g({})"},
    {"<tool_call>{\"name\":\"unheard_of\",\"arguments\":{}}</tool_call> so", "so|unheard_of({})"},
    {"a <tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}", "a|f({\"x\":1})"},
    {"a <tool_call>{\"name\": oops}</tool_call> b", "a<tool_call>{\"name\": oops}</tool_call> b"},
    {"<tool_call>", "<tool_call>"},
    {"<tool_cal", "<tool_cal"},
    {"a <tool_call>{\"name\":\"f\",\"arguments\":3}</tool_call>",
     "a<tool_call>{\"name\":\"f\",\"arguments\":3}</tool_call>"},
    // Mistral.
    {"[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"x\": 1}}, {\"name\": \"g\", \"arguments\": "
     "{}}]",
     "|f({\"x\":1})|g({})"},
    {"Hm. [TOOL_CALLS]f[ARGS]{\"x\": [1, 2]}[TOOL_CALLS]g{}", "Hm.|f({\"x\":[1,2]})|g({})"},
    {"[TOOL_CALLS][{\"name\": \"f\"", "[TOOL_CALLS][{\"name\": \"f\""},
    {"[TOOL_CALLS]", "[TOOL_CALLS]"},
    // Llama 3.
    {"{\"name\": \"f\", \"parameters\": {\"x\": 1}}", "|f({\"x\":1})"},
    {"<|python_tag|>{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": {}}",
     "|f({})|g({})"},
    {"{\"name\": \"no_tool\", \"parameters\": {}}", "{\"name\": \"no_tool\", \"parameters\": {}}"},
    {"{\"answer\": 42}", "{\"answer\": 42}"},
    {"{\"name\": \"f\", \"parameters\": {}} and more",
     "{\"name\": \"f\", \"parameters\": {}} and more"},
};

TEST(ToolCallText, EveryFormIsReadHoweverItIsCut) {
  for (const Case& one : kCases) {
    for (const size_t piece_size : {size_t{1}, size_t{2}, size_t{7}, size_t{1000}}) {
      EXPECT_EQ(Read(one.text, piece_size), one.expected) << one.text << " in " << piece_size;
    }
  }
}

TEST(ToolCallText, WithoutToolsEverythingIsText) {
  for (const Case& one : kCases) EXPECT_EQ(Read(one.text, 3, {}), one.text);
}

TEST(ToolCallText, MarkersThatAreSpecialTokensHaveNoTextAndCountAllTheSame) {
  ToolCallText reader({"f"});
  ToolCallText::Piece whole;
  Append(reader.Push("Yes.", "Yes."), &whole);
  Append(reader.Push("", "[TOOL_CALLS]"), &whole);
  Append(reader.Push("f", "f"), &whole);
  Append(reader.Push("", "[ARGS]"), &whole);
  Append(reader.Push("{\"x\":1}", "{"), &whole);
  Append(reader.Finish(), &whole);
  EXPECT_EQ(Joined(whole), "Yes.|f({\"x\":1})");
}

TEST(ToolCallText, TextIsNotHeldBackLongerThanItCouldBeAMarker) {
  ToolCallText reader({"f"});
  EXPECT_EQ(reader.Push("Hello <b", "").content, "Hello <b");
  EXPECT_EQ(reader.Push(" <tool", "").content, "");
  EXPECT_EQ(reader.Push("s>", "").content, " <tools>");
}

TEST(ToolCallText, JsonThatIsTooDeepIsText) {
  const std::string deep = "<tool_call>" + std::string(100000, '[') + "</tool_call>";
  EXPECT_EQ(Read(deep, 50000), deep);
}

}  // namespace
}  // namespace reenact::engine_server
