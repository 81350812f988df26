#include "store/reader/internal/search_text.h"

#include <algorithm>
#include <cstring>

#include "schema/json_view.h"
#include "schema/sha256.h"
#include "store/reader/internal/utf8.h"

namespace reenact::store::internal {
namespace {

constexpr size_t kSnippetBytes = 200;

void AppendText(std::string_view text, std::string* out) {
  if (text.empty() || out->size() >= kMaxIndexedBytes) return;
  if (!out->empty()) out->push_back('\n');
  const size_t room = kMaxIndexedBytes - out->size();
  out->append(text.substr(0, text.size() <= room ? text.size() : FloorToCharacter(text, room)));
}

// Walks without recursion: the depth of the text is a stranger's choice.
void AppendJson(schema::JsonValue root, std::string* out) {
  std::vector<schema::JsonValue> rest{root};
  while (!rest.empty() && out->size() < kMaxIndexedBytes) {
    const schema::JsonValue value = rest.back();
    rest.pop_back();
    if (value.is_string()) {
      AppendText(value.AsString(), out);
    } else if (value.is_number()) {
      AppendText(value.raw(), out);
    } else if (value.is_object()) {
      for (size_t i = 0; i < value.size(); ++i) AppendText(value.KeyAt(i), out);
    }
    for (size_t i = value.size(); i > 0; --i) rest.push_back(value[i - 1]);
  }
}

uint64_t HashMessage(std::string_view role, std::string_view text) {
  schema::Sha256 hash;
  hash.Update(role);
  hash.Update(std::string_view("\0", 1));
  hash.Update(text);
  const schema::Digest digest = hash.Finish();
  uint64_t value = 0;
  std::memcpy(&value, digest.data(), sizeof(value));
  return value;
}

void AppendToolCalls(const std::vector<schema::ToolCall>& calls, std::string* out) {
  for (const schema::ToolCall& call : calls) {
    AppendText(call.name, out);
    AppendText(ReadableText(call.arguments), out);
  }
}

std::string TextOf(const schema::RequestMessage& message) {
  std::string text;
  AppendText(message.text, &text);
  AppendToolCalls(message.tool_calls, &text);
  return text;
}

std::string TextOf(const schema::Choice& choice) {
  std::string text;
  AppendText(choice.content.value_or(""), &text);
  AppendToolCalls(choice.tool_calls, &text);
  return text;
}

std::vector<SearchDocument> ModelDocuments(const schema::Event& event,
                                           const schema::ModelView& view, SeenMessages* seen) {
  if (view.dialect == schema::ModelDialect::kUnknown) {
    return {{TextPlace::kRequest, ReadableText(event.request.bytes)},
            {TextPlace::kAnswer, ReadableText(event.response.bytes)}};
  }
  SearchDocument request{TextPlace::kRequest, {}};
  for (const schema::RequestMessage& message : view.messages) {
    const std::string text = TextOf(message);
    if (seen != nullptr && !seen->insert(HashMessage(message.role, text)).second) continue;
    AppendText(text, &request.text);
  }
  SearchDocument answer{TextPlace::kAnswer, {}};
  for (const schema::Choice& choice : view.choices) {
    const std::string text = TextOf(choice);
    // The next request repeats the answer as a message; it is indexed once, here.
    if (seen != nullptr) seen->insert(HashMessage("assistant", text));
    AppendText(text, &answer.text);
    AppendText(choice.reasoning, &answer.text);
    AppendText(choice.refusal, &answer.text);
  }
  AppendText(view.error_message, &answer.text);
  return {std::move(request), std::move(answer)};
}

bool IsSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

struct QueryWord {
  std::string text;
  bool is_prefix = false;
};

std::vector<QueryWord> SplitQuery(std::string_view text) {
  std::vector<QueryWord> words;
  while (!text.empty()) {
    if (IsSpace(text.front())) {
      text.remove_prefix(1);
      continue;
    }
    if (text.front() == '"') {
      const size_t close = text.find('"', 1);
      words.push_back({std::string(text.substr(1, close == text.npos ? close : close - 1)), false});
      text.remove_prefix(close == text.npos ? text.size() : close + 1);
      continue;
    }
    const auto end = std::find_if(text.begin(), text.end(), IsSpace);
    std::string_view word = text.substr(0, static_cast<size_t>(end - text.begin()));
    text.remove_prefix(word.size());
    const bool is_prefix = word.size() > 1 && word.back() == '*';
    if (is_prefix) word.remove_suffix(1);
    words.push_back({std::string(word), is_prefix});
  }
  return words;
}

bool IsIdeograph(uint32_t character) {
  return (character >= 0x2e80 && character <= 0x9fff) ||    // Radicals, kana, Han.
         (character >= 0xf900 && character <= 0xfaff) ||    // Compatibility Han.
         (character >= 0x20000 && character <= 0x3ffff) ||  // Supplementary Han.
         (character >= 0x0e00 && character <= 0x0eff);      // Thai and Lao.
}

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string Lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Lower);
  return out;
}

}  // namespace

std::string_view ToString(TextPlace place) {
  switch (place) {
    case TextPlace::kRequest:
      return "request";
    case TextPlace::kAnswer:
      return "answer";
    case TextPlace::kTool:
      return "tool";
    case TextPlace::kRetrieval:
      return "retrieval";
    case TextPlace::kInput:
      return "input";
    case TextPlace::kOutput:
      return "output";
  }
  return "";
}

std::string ReadableText(std::string_view body) {
  std::string out;
  const auto document = schema::JsonDocument::Parse(body);
  if (document != nullptr)
    AppendJson(document->root(), &out);
  else
    AppendText(body, &out);
  return ToUtf8(out);
}

std::vector<SearchDocument> DocumentsOf(const schema::Event& event, const schema::ModelView& view,
                                        SeenMessages* seen) {
  std::vector<SearchDocument> documents;
  if (event.boundary == schema::Boundary::kModel) {
    documents = ModelDocuments(event, view, seen);
  } else if (event.boundary == schema::Boundary::kTool ||
             event.boundary == schema::Boundary::kRetrieval) {
    SearchDocument document{
        event.boundary == schema::Boundary::kTool ? TextPlace::kTool : TextPlace::kRetrieval, {}};
    AppendText(event.name, &document.text);
    AppendText(ReadableText(event.request.bytes), &document.text);
    AppendText(ReadableText(event.response.bytes), &document.text);
    AppendText(event.end_detail, &document.text);
    documents.push_back(std::move(document));
  }
  for (SearchDocument& document : documents) document.text = ToUtf8(document.text);
  std::erase_if(documents, [](const SearchDocument& document) { return document.text.empty(); });
  return documents;
}

std::string QuoteQuery(std::string_view text) {
  std::string query;
  for (const QueryWord& word : SplitQuery(text)) {
    std::string quoted;
    for (const char c : SeparateIdeographs(ToUtf8(word.text))) {
      if (c == '"') quoted.push_back('"');
      quoted.push_back(c == '\0' ? ' ' : c);
    }
    if (quoted.empty()) continue;
    if (!query.empty()) query.push_back(' ');
    query += '"' + quoted + (word.is_prefix ? "\"*" : "\"");
  }
  return query;
}

std::string SeparateIdeographs(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t size = lead < 0xe0 ? 1 : lead < 0xf0 ? 3 : 4;
    if (size == 1 || i + size > text.size()) {
      out.push_back(text[i++]);
      continue;
    }
    uint32_t character = lead & (size == 3 ? 0x0fU : 0x07U);
    for (size_t k = 1; k < size; ++k)
      character = (character << 6) | (static_cast<uint8_t>(text[i + k]) & 0x3fU);
    const bool separate = IsIdeograph(character);
    if (separate) out.push_back(' ');
    out.append(text.substr(i, size));
    if (separate) out.push_back(' ');
    i += size;
  }
  return out;
}

std::string Snippet(std::string_view text, std::string_view query) {
  const std::vector<QueryWord> words = SplitQuery(query);
  size_t at = 0;
  if (!words.empty()) {
    const size_t found = Lowered(text).rfind(Lowered(words.front().text));
    if (found != std::string::npos) at = found;
  }
  const size_t lead = kSnippetBytes / 3;
  const size_t begin = FloorToCharacter(text, at > lead ? at - lead : 0);
  const size_t end = FloorToCharacter(text, std::min(text.size(), begin + kSnippetBytes));
  return std::string(text.substr(begin, end - begin));
}

}  // namespace reenact::store::internal
