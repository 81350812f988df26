#include "schema/internal/answer_body.h"

#include "schema/internal/text_classes.h"
#include "schema/json_view.h"
#include "schema/sse.h"

namespace reenact::schema::internal {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBinaryFrames = "amazon.eventstream";

// The value of the last header of this name, in lower case.
std::string HeaderValue(const Headers* headers, std::string_view name) {
  std::string value;
  if (headers == nullptr) return value;
  for (const auto& [header, text] : *headers) {
    if (LowerCase(header) == name) value = LowerCase(text);
  }
  return value;
}

// Several documents, one a line: what Ollama's native interface streams.
bool IsNdjson(std::string_view body) {
  const size_t end = body.find('\n');
  if (end == std::string_view::npos) return false;
  const size_t more = body.find_first_not_of(" \t\r\n", end);
  return more != std::string_view::npos && body[more] == '{' &&
         JsonDocument::Parse(body.substr(0, end)) != nullptr;
}

// Only the bytes tell whether a transport has already decoded what the header says is encoded.
std::string EncodingOfBytes(std::string_view body) {
  if (body.starts_with("\x1f\x8b")) return "gzip";
  if (body.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  return {};
}

// The first byte that means something; npos where there is none.
size_t BeginOf(std::string_view body) {
  const size_t mark = body.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  return body.find_first_not_of(" \t\r\n", mark);
}

}  // namespace

BodyKind KindOfBody(const LastAttempt& answer) {
  const std::string_view body = answer.body;
  if (body.empty()) return BodyKind::kEmpty;
  if (!EncodingOfBytes(body).empty()) return BodyKind::kEncoded;
  const size_t begin = BeginOf(body);
  if (begin == std::string_view::npos) return BodyKind::kText;
  const std::string type = HeaderValue(answer.headers, "content-type");
  if (body[begin] == '{' || body[begin] == '[') {
    const bool is_lines = type.find("ndjson") != std::string::npos || IsNdjson(body);
    return is_lines ? BodyKind::kLines : BodyKind::kDocument;
  }
  if (LooksLikeSse(body)) return BodyKind::kEventStream;
  if (!EncodingOf(answer).empty()) return BodyKind::kEncoded;
  if (type.find("text/event-stream") != std::string::npos) return BodyKind::kEventStream;
  return BodyKind::kText;
}

std::string EncodingOf(const LastAttempt& answer) {
  if (std::string encoding = EncodingOfBytes(answer.body); !encoding.empty()) return encoding;
  const std::string type = HeaderValue(answer.headers, "content-type");
  if (type.find(kBinaryFrames) != std::string::npos) return std::string(kBinaryFrames);
  std::string encoding = HeaderValue(answer.headers, "content-encoding");
  return encoding == "identity" ? std::string() : encoding;
}

bool IsList(std::string_view body) {
  const size_t begin = BeginOf(body);
  return begin != std::string_view::npos && body[begin] == '[';
}

}  // namespace reenact::schema::internal
