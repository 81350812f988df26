#include "schema/internal/credential_names.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace reenact::schema::internal {
namespace {

// Whole names.
constexpr std::array<std::string_view, 4> kExactNames = {"secret", "secretvalue", "pwd", "idtoken"};

// Names that may have anything before them: "azure_openai_api_key".
constexpr std::array<std::string_view, 26> kSuffixes = {
    "apikey",         "apitoken",        "apisecret",    "accesstoken",   "authtoken",
    "refreshtoken",   "bearertoken",     "sessiontoken", "securitytoken", "authorizationtoken",
    "authorization",  "clientsecret",    "appsecret",    "signingsecret", "webhooksecret",
    "consumersecret", "sharedsecret",    "secretkey",    "accesskey",     "privatekey",
    "accountkey",     "subscriptionkey", "password",     "passwd",        "passphrase",
    "authkey"};

// Credentials in the query of a URL only.
constexpr std::array<std::string_view, 12> kParameterNames = {
    "key",          "token",         "sig",
    "signature",    "sessionid",     "sid",
    "auth",         "googsignature", "googcredential",
    "amzsignature", "amzcredential", "amzsecuritytoken"};

constexpr std::array<std::string_view, 9> kHeaderWords = {
    "auth", "key", "token", "secret", "cookie", "session", "credential", "signature", "password"};

// The last characters of a name in their plain form. Long names keep their end, which decides.
class PlainName {
 public:
  explicit PlainName(std::string_view name) {
    if (name.size() > 2 && (name[0] == 'x' || name[0] == 'X') &&
        (name[1] == '-' || name[1] == '_')) {
      name.remove_prefix(2);
    }
    if (name.size() > 2 * kCapacity) name.remove_prefix(name.size() - 2 * kCapacity);
    for (size_t i = name.size(); i-- > 0 && begin_ > 0;) {
      const char c = name[i];
      if (c == '-' || c == '_' || c == '.' || c == ' ') continue;
      text_[--begin_] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }

  std::string_view text() const { return {text_.data() + begin_, kCapacity - begin_}; }

 private:
  static constexpr size_t kCapacity = 40;
  std::array<char, kCapacity> text_{};
  size_t begin_ = kCapacity;
};

template <size_t kSize>
bool Contains(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsPlainCredential(std::string_view plain) {
  if (Contains(kExactNames, plain)) return true;
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [plain](std::string_view suffix) { return plain.ends_with(suffix); });
}

}  // namespace

bool IsCredentialKey(std::string_view name) {
  const PlainName plain(name);
  if (IsPlainCredential(plain.text())) return true;
  std::string_view singular = plain.text();
  if (!singular.ends_with('s')) return false;
  singular.remove_suffix(1);
  return IsPlainCredential(singular);
}

bool IsCredentialParameter(std::string_view name) {
  return Contains(kParameterNames, PlainName(name).text()) || IsCredentialKey(name);
}

bool IsTokenKey(std::string_view name) {
  return PlainName(name).text() == "token";
}

bool IsCredentialHeaderMember(std::string_view name) {
  const PlainName plain(name);
  return std::any_of(kHeaderWords.begin(), kHeaderWords.end(), [&plain](std::string_view word) {
    return plain.text().find(word) != std::string_view::npos;
  });
}

bool IsHeadersKey(std::string_view name) {
  return PlainName(name).text().ends_with("headers");
}

}  // namespace reenact::schema::internal
