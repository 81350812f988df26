#include "schema/internal/url_parts.h"

#include <algorithm>

#include "schema/internal/text_classes.h"

namespace reenact::schema::internal {
namespace {

unsigned HexValue(char c) {
  if (IsDigit(c)) return static_cast<unsigned>(c - '0');
  return static_cast<unsigned>((IsUpper(c) ? c - 'A' : c - 'a') + 10);
}

std::string Decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      decoded.push_back(' ');
    } else if (text[i] == '%' && i + 2 < text.size() && IsHex(text[i + 1]) && IsHex(text[i + 2])) {
      decoded.push_back(static_cast<char>(HexValue(text[i + 1]) << 4 | HexValue(text[i + 2])));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

// Where the authority begins, or npos in a bare target (whose query may hold "://").
size_t AuthorityBegin(std::string_view url) {
  const size_t scheme_end = url.find("://");
  return scheme_end < url.find_first_of("/?#") ? scheme_end + 3 : std::string_view::npos;
}

std::string_view WithoutAuthority(std::string_view url) {
  const size_t begin = AuthorityBegin(url);
  if (begin == std::string_view::npos) return url;
  return url.substr(std::min(url.find_first_of("/?#", begin), url.size()));
}

}  // namespace

std::string_view AuthorityOf(std::string_view url) {
  const size_t begin = AuthorityBegin(url);
  if (begin == std::string_view::npos) return {};
  url = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  const size_t at_sign = url.rfind('@');
  return at_sign == std::string_view::npos ? url : url.substr(at_sign + 1);
}

std::string_view PathOf(std::string_view url) {
  url = WithoutAuthority(url);
  std::string_view path = url.substr(0, url.find_first_of("?#"));
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

std::string_view QueryOf(std::string_view url) {
  url = url.substr(0, url.find('#'));
  const size_t mark = url.find('?');
  return mark == std::string_view::npos ? std::string_view() : url.substr(mark + 1);
}

std::vector<std::pair<std::string, std::string>> QueryParameters(std::string_view url) {
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string_view rest = QueryOf(url);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view parameter = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (parameter.empty()) continue;
    const size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view value = parameter.substr(std::min(equals + 1, parameter.size()));
    parameters.emplace_back(Decode(parameter.substr(0, equals)), Decode(value));
  }
  return parameters;
}

}  // namespace reenact::schema::internal
