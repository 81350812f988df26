#include "recorder/proxy/http_head.h"

#include <algorithm>
#include <charconv>

namespace reenact::proxy {
namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Calls `function` with each member of a comma-separated list until it answers true.
template <class Function>
bool AnyMember(std::string_view list, Function function) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (function(Trimmed(list.substr(0, comma)))) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

bool ConcernsOneConnection(std::string_view name) {
  for (const std::string_view own :
       {"connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
        "proxy-authorization", "proxy-authenticate"}) {
    if (EqualsIgnoringCase(name, own)) return true;
  }
  return false;
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view FindHeader(const Headers& headers, std::string_view name) {
  for (const auto& [own, value] : headers) {
    if (EqualsIgnoringCase(own, name)) return value;
  }
  return {};
}

bool HasToken(const Headers& headers, std::string_view name, std::string_view token) {
  return std::any_of(headers.begin(), headers.end(), [&](const auto& header) {
    return EqualsIgnoringCase(header.first, name) &&
           AnyMember(header.second,
                     [&](std::string_view member) { return EqualsIgnoringCase(member, token); });
  });
}

std::optional<std::pair<std::string, std::string>> ParseHeaderLine(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return std::pair(std::string(Trimmed(line.substr(0, colon))),
                   std::string(Trimmed(line.substr(colon + 1))));
}

Headers EndToEndHeaders(const Headers& headers) {
  Headers kept;
  for (const auto& header : headers) {
    if (ConcernsOneConnection(header.first)) continue;
    if (HasToken(headers, "connection", header.first)) continue;
    kept.push_back(header);
  }
  return kept;
}

void AnswerHeadReader::ReadStatusLine(std::string_view line) {
  head_ = {};
  head_.has_version_1 = line.substr(5, 1) == "1";
  std::string_view rest = line.substr(std::min(line.find(' '), line.size()));
  rest = Trimmed(rest);
  std::from_chars(rest.data(), rest.data() + rest.size(), head_.status);
  head_.reason = Trimmed(rest.substr(std::min<size_t>(3, rest.size())));
}

AnswerHeadReader::Event AnswerHeadReader::Read(std::string_view line) {
  const bool blank = Trimmed(line).empty();
  if (finished_) {
    auto trailer = ParseHeaderLine(line);
    if (!trailer) return Event::kNone;
    trailer_ = *std::move(trailer);
    return Event::kTrailer;
  }
  if (blank) {
    if (head_.status >= 100 && head_.status < 200) return Event::kInterim;
    finished_ = true;
    return Event::kHead;
  }
  if (line.starts_with("HTTP/")) {
    ReadStatusLine(line);
    return Event::kNone;
  }
  if ((line[0] == ' ' || line[0] == '\t') && !head_.headers.empty()) {  // A folded line.
    head_.headers.back().second.append(" ").append(Trimmed(line));
    return Event::kNone;
  }
  auto header = ParseHeaderLine(line);
  if (!header) return Event::kNone;
  if (EqualsIgnoringCase(header->first, "content-length")) {
    uint64_t length = 0;
    const std::string& text = header->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error == std::errc() && end == text.data() + text.size()) head_.content_length = length;
  } else if (EqualsIgnoringCase(header->first, "transfer-encoding")) {
    head_.chunked = true;
  }
  head_.headers.push_back(*std::move(header));
  return Event::kNone;
}

}  // namespace reenact::proxy
