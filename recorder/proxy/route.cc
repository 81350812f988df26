#include "recorder/proxy/route.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"

#include "recorder/proxy/http_head.h"

namespace reenact::proxy {
namespace {

constexpr std::string_view kOwnName = "reenact";

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

bool IsName(std::string_view name) {
  return !name.empty() && name != kOwnName && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), IsNameCharacter);
}

// What lies between the scheme and the path; empty where there is no "://".
std::string_view AuthorityOf(std::string_view url) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return {};
  const size_t begin = scheme_end + 3;
  return url.substr(begin, std::min(url.find_first_of("/?#", begin), url.size()) - begin);
}

// The parts of a URL, by libcurl's parser: the one that will read it again when it is sent.
class Url {
 public:
  explicit Url(const std::string& text) : handle_(curl_url(), &curl_url_cleanup) {
    valid_ =
        handle_ != nullptr &&
        curl_url_set(handle_.get(), CURLUPART_URL, text.c_str(), CURLU_PATH_AS_IS) == CURLUE_OK &&
        HasHostOf(AuthorityOf(text));
  }

  bool valid() const { return valid_; }

  std::string Part(CURLUPart part) const {
    char* text = nullptr;
    if (curl_url_get(handle_.get(), part, &text, 0) != CURLUE_OK) return {};
    std::string copy(text);
    curl_free(text);
    return copy;
  }

 private:
  // libcurl repairs what it can ("http:/host", "http:///host"): the record would name another host
  // than the one that was asked. An address of one number is the same in four.
  bool HasHostOf(std::string_view authority) const {
    authority.remove_prefix(authority.rfind('@') + 1);
    const std::string host = Part(CURLUPART_HOST);
    in_addr v4{};
    if (!authority.empty() && inet_pton(AF_INET, host.c_str(), &v4) == 1) return true;
    const std::string_view rest = authority.substr(std::min(host.size(), authority.size()));
    return !host.empty() && EqualsIgnoringCase(authority.substr(0, host.size()), host) &&
           (rest.empty() || rest[0] == ':');
  }

  std::unique_ptr<CURLU, void (*)(CURLU*)> handle_;
  bool valid_ = false;
};

}  // namespace

const std::vector<Route>& WellKnownRoutes() {
  static const auto& routes = *new std::vector<Route>{
      {"openai", "https://api.openai.com"},
      {"anthropic", "https://api.anthropic.com", "/v1"},
      {"gemini", "https://generativelanguage.googleapis.com"},
      {"mistral", "https://api.mistral.ai"},
      {"groq", "https://api.groq.com"},
      {"deepseek", "https://api.deepseek.com"},
      {"openrouter", "https://openrouter.ai"},
      {"xai", "https://api.x.ai"},
      {"together", "https://api.together.xyz"},
      {"cohere", "https://api.cohere.com"},
      {"perplexity", "https://api.perplexity.ai"},
      {"ollama", "http://127.0.0.1:11434"},
  };
  return routes;
}

absl::StatusOr<std::string> ParseUpstream(std::string_view url) {
  std::string text(url);
  while (text.ends_with('/')) text.pop_back();
  const Url parsed(text);
  const std::string scheme = parsed.valid() ? parsed.Part(CURLUPART_SCHEME) : "";
  if (scheme != "http" && scheme != "https") {
    return absl::InvalidArgumentError("\"" + text + "\" is no http or https URL");
  }
  if (AuthorityOf(text).find('@') != std::string::npos) {
    return absl::InvalidArgumentError(
        "an upstream may not hold credentials: clients send theirs in a header");
  }
  if (text.find_first_of("?#") != std::string::npos) {
    return absl::InvalidArgumentError("\"" + text + "\" has a query or a fragment");
  }
  return text;
}

absl::StatusOr<Route> ParseRoute(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return absl::InvalidArgumentError("\"" + std::string(text) + "\" is no name=https://host/base");
  }
  Route route;
  route.name = text.substr(0, equals);
  if (!IsName(route.name)) {
    return absl::InvalidArgumentError("\"" + route.name +
                                      "\" is no name for a route: letters, digits, '-', '_' and '.'"
                                      ", and not \"reenact\"");
  }
  absl::StatusOr<std::string> upstream = ParseUpstream(text.substr(equals + 1));
  if (!upstream.ok()) return upstream.status();
  route.upstream = *std::move(upstream);
  return route;
}

void RouteTable::Set(Route route) {
  for (Route& own : routes_) {
    if (own.name != route.name) continue;
    own = std::move(route);
    return;
  }
  routes_.push_back(std::move(route));
}

const Route* RouteTable::Find(std::string_view name) const {
  const auto found = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const Route& route) { return route.name == name; });
  return found == routes_.end() ? nullptr : &*found;
}

std::optional<Destination> RouteTable::Resolve(std::string_view target) const {
  if (!target.starts_with('/')) return std::nullopt;
  const size_t end = std::min(target.find_first_of("/?", 1), target.size());
  const Route* const route = Find(target.substr(1, end - 1));
  if (route == nullptr) return std::nullopt;
  std::string url = route->upstream;
  const std::string_view rest = target.substr(end);
  if (!rest.starts_with(route->implied_path)) url += route->implied_path;
  std::optional<Destination> destination = ResolveWholeUrl(url.append(rest));
  if (destination) destination->route = route->name;
  return destination;
}

std::optional<Destination> ResolveWholeUrl(std::string_view url) {
  Destination destination;
  destination.url = url;
  const Url parsed(destination.url);
  const std::string_view authority = AuthorityOf(url);
  if (!parsed.valid() || authority.find('@') != authority.npos) return std::nullopt;
  const std::string scheme = parsed.Part(CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return std::nullopt;
  destination.host = authority;
  destination.target =
      url.substr(static_cast<size_t>(authority.data() - url.data()) + authority.size());
  if (!destination.target.starts_with('/')) destination.target.insert(0, "/");
  return destination;
}

}  // namespace reenact::proxy
