// Redaction of what surrounds a body: headers and URLs.

#include <algorithm>
#include <array>
#include <utility>

#include "schema/internal/credential_names.h"
#include "schema/internal/secret_scanner.h"
#include "schema/redaction.h"
#include "schema/stored_header.h"

namespace reenact::schema {
namespace {

// Kept by name only.
constexpr std::string_view kMcpSession = "mcp-session-id";

// Lower case, '-' for '_'.
constexpr std::array<std::string_view, 28> kAllowedHeaders = {"accept",
                                                              "content-type",
                                                              "content-encoding",
                                                              "content-length",
                                                              "transfer-encoding",
                                                              "date",
                                                              "server",
                                                              "retry-after",
                                                              "retry-after-ms",
                                                              "x-should-retry",
                                                              "user-agent",
                                                              "x-request-id",
                                                              "request-id",
                                                              "x-ms-request-id",
                                                              "apim-request-id",
                                                              "cf-ray",
                                                              "via",
                                                              "age",
                                                              "cache-control",
                                                              "openai-version",
                                                              "openai-model",
                                                              "openai-processing-ms",
                                                              "anthropic-version",
                                                              "anthropic-beta",
                                                              "x-ms-region",
                                                              "idempotency-key",
                                                              "traceparent",
                                                              kMcpSession};

constexpr std::array<std::string_view, 7> kAllowedPrefixes = {
    "x-ratelimit-", "anthropic-ratelimit-", "x-envoy-upstream-", "x-stainless-",
    "x-inference-", "x-compute-",           "x-served-"};

constexpr std::array<std::string_view, 24> kSecretHeaders = {"authorization",
                                                             "proxy-authorization",
                                                             "api-key",
                                                             "x-api-key",
                                                             "xi-api-key",
                                                             "x-goog-api-key",
                                                             "x-amz-security-token",
                                                             "cookie",
                                                             "set-cookie",
                                                             "x-session-token",
                                                             "x-session-id",
                                                             "x-auth-token",
                                                             "x-id-token",
                                                             "x-access-token",
                                                             "ocp-apim-subscription-key",
                                                             "cf-access-client-secret",
                                                             "x-portkey-api-key",
                                                             "x-portkey-virtual-key",
                                                             "helicone-auth",
                                                             "x-litellm-api-key",
                                                             "x-vault-token",
                                                             "x-csrf-token",
                                                             "x-auth-key",
                                                             "x-amz-access-token"};

constexpr std::array<std::string_view, 5> kSecretSuffixes = {"-api-key", "-apikey", "-auth-token",
                                                             "-access-token", "-secret"};

std::string PlainHeaderName(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return plain;
}

template <size_t kSize>
bool Contains(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The query with the values of credentials, and of names that the policy adds, replaced.
std::string RedactQuery(std::string_view query, const internal::SecretScanner& scanner) {
  std::string redacted;
  while (!query.empty()) {
    const size_t end = std::min(query.find_first_of("&;"), query.size());
    const std::string_view pair = query.substr(0, end);
    const size_t equals = pair.find('=');
    if (equals + 1 < pair.size() && equals != std::string_view::npos &&
        (internal::IsCredentialParameter(pair.substr(0, equals)) ||
         scanner.IsCredential(pair.substr(0, equals)))) {
      redacted.append(pair.substr(0, equals + 1)).append(kRedactedMark);
    } else {
      redacted.append(pair);
    }
    if (end < query.size()) redacted.push_back(query[end]);
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return redacted;
}

// The URL without userinfo, and its query redacted.
std::string RedactUrlParts(std::string_view url, const internal::SecretScanner& scanner) {
  std::string redacted;
  if (const size_t scheme_end = url.find("://"); scheme_end < url.find_first_of("/?#@")) {
    const size_t authority = scheme_end + 3;
    redacted.append(url.substr(0, authority));
    url.remove_prefix(authority);
    const size_t authority_end = std::min(url.find_first_of("/?#"), url.size());
    const size_t at_sign = url.substr(0, authority_end).rfind('@');
    if (at_sign != std::string_view::npos) url.remove_prefix(at_sign + 1);
  }
  const size_t query = std::min(url.find_first_of("?#"), url.size());
  redacted.append(url.substr(0, query));
  if (query == url.size()) return redacted;
  redacted.push_back(url[query]);
  const std::string_view rest = url.substr(query + 1);
  const size_t fragment = std::min(rest.find('#'), rest.size());
  redacted.append(RedactQuery(rest.substr(0, fragment), scanner));
  if (fragment < rest.size()) {  // It may carry a query of its own, and tokens in it.
    redacted.append("#").append(RedactQuery(rest.substr(fragment + 1), scanner));
  }
  return redacted;
}

}  // namespace

Headers AllowedHeaders(const Headers& headers) {
  Headers allowed;
  for (const auto& [name, value] : headers) {
    if (IsAllowedHeader(name)) allowed.emplace_back(name, StoredHeaderValue(name, value));
  }
  return allowed;
}

std::string_view StoredHeaderValue(std::string_view name, std::string_view value) {
  if (name.size() != kMcpSession.size() || PlainHeaderName(name) != kMcpSession) return value;
  return kRedactedMark;
}

bool IsAllowedHeader(std::string_view name) {
  // An allowed prefix may end in a credential: x-inference-api-key.
  if (IsSecretHeader(name)) return false;
  const std::string plain = PlainHeaderName(name);
  if (Contains(kAllowedHeaders, plain)) return true;
  return std::any_of(kAllowedPrefixes.begin(), kAllowedPrefixes.end(),
                     [&plain](std::string_view prefix) { return plain.starts_with(prefix); });
}

bool IsSecretHeader(std::string_view name) {
  const std::string plain = PlainHeaderName(name);
  if (Contains(kSecretHeaders, plain)) return true;
  return std::any_of(kSecretSuffixes.begin(), kSecretSuffixes.end(),
                     [&plain](std::string_view suffix) { return plain.ends_with(suffix); });
}

std::string_view CredentialIn(std::string_view header_value) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = std::min(header_value.find_first_not_of(kBlanks), header_value.size());
  header_value.remove_prefix(begin);
  header_value = header_value.substr(0, header_value.find_last_not_of(kBlanks) + 1);
  for (const std::string_view scheme : {"bearer", "basic", "token", "apikey", "api-key"}) {
    if (header_value.size() <= scheme.size() ||
        kBlanks.find(header_value[scheme.size()]) == std::string_view::npos ||
        PlainHeaderName(header_value.substr(0, scheme.size())) != scheme) {
      continue;
    }
    header_value.remove_prefix(header_value.find_first_not_of(kBlanks, scheme.size()));
    break;
  }
  return header_value;
}

std::string Redactor::RedactUrl(std::string_view url) const {
  // Text that is no URL may look like another one once a part is gone.
  constexpr int kMaxPasses = 4;
  std::string redacted(url);
  for (int pass = 0; scanner_ != nullptr && pass < kMaxPasses; ++pass) {
    std::string next = RedactBody(RedactUrlParts(redacted, *scanner_)).bytes;
    if (next == redacted) break;
    redacted = std::move(next);
  }
  return redacted;
}

bool Redactor::IsSecretName(std::string_view name) const {
  return scanner_ != nullptr && scanner_->IsCredential(name);
}

std::string RedactUrl(std::string_view url, const RedactionPolicy& policy) {
  return Redactor(policy).RedactUrl(url);
}

}  // namespace reenact::schema
