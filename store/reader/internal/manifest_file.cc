#include "store/reader/internal/manifest_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

#include "store/format/chain.h"

namespace reenact::store::internal {
namespace {

constexpr char kManifestName[] = "manifest.jsonl";
constexpr uintmax_t kMaxManifestBytes = uintmax_t{256} << 20;

std::optional<std::string> ReadFile(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uintmax_t>(status.st_size) > kMaxManifestBytes)
    return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (!in.good() && !in.eof()) return std::nullopt;
  return text.str();
}

// A member as a string; empty when it is missing or something else.
std::string TextOf(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t NumberOf(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

// Reads lines until one does not fit: what follows it proves nothing.
class ManifestReader {
 public:
  explicit ManifestReader(std::string key) : key_(std::move(key)) {}

  Manifest Read(const std::string& text) {
    size_t begin = 0;
    for (int64_t number = 1; begin < text.size(); ++number) {
      const size_t end = text.find('\n', begin);
      // A line without its end is one whose writer died: it never counted.
      if (end == std::string::npos) break;
      const std::string problem = Add(text.substr(begin, end - begin), number);
      if (!problem.empty()) {
        manifest_.findings.push_back(
            {kManifestName, absl::StrCat("manifest line ", number), problem});
        break;
      }
      begin = end + 1;
    }
    return std::move(manifest_);
  }

 private:
  std::string Add(const std::string& line, int64_t number) {
    std::string unsigned_line;
    std::string mac;
    if (!CheckManifestLine(line, key_, &unsigned_line, &mac)) {
      return mac.empty() ? "is no line of a manifest"
                         : "does not fit the store's key: it was changed or put there";
    }
    const auto fields = nlohmann::json::parse(unsigned_line, nullptr, false);
    if (!fields.is_object()) return "is no line of a manifest";
    if (TextOf(fields, "previous") != previous_)
      return "does not follow the line before it: one was removed or moved";
    previous_ = mac;
    if (const std::string name = TextOf(fields, "segment"); !name.empty()) {
      manifest_.sealed[name] = {TextOf(fields, "head"), NumberOf(fields, "rows"), number, ""};
    } else if (const std::string pruned = TextOf(fields, "pruned"); !pruned.empty()) {
      manifest_.pruned.insert(pruned);
    } else if (const std::string redacted = TextOf(fields, "redacted"); !redacted.empty()) {
      return AddRedaction(redacted, fields, number);
    }
    return {};
  }

  // What it replaces is what was sealed, or what an earlier redaction left. One that was begun and
  // not finished is begun again from the same head.
  std::string AddRedaction(const std::string& name, const nlohmann::json& fields, int64_t number) {
    const auto sealed = manifest_.sealed.find(name);
    const std::string was = TextOf(fields, "was");
    if (sealed == manifest_.sealed.end() || was.empty() ||
        (was != sealed->second.head && was != sealed->second.was))
      return absl::StrCat("redacts what ", name, " never was");
    sealed->second = {TextOf(fields, "head"), NumberOf(fields, "rows"), number, was};
    ++manifest_.redactions;
    return {};
  }

  std::string key_;
  std::string previous_;
  Manifest manifest_;
};

}  // namespace

Manifest ReadManifest(const StoreLayout& layout) {
  Manifest manifest;
  const auto text = ReadFile(layout.manifest());
  if (!text) {
    if (access(layout.manifest().c_str(), F_OK) == 0)
      manifest.findings.push_back({kManifestName, "manifest", "cannot be read"});
    return manifest;
  }
  const auto key = ReadFile(layout.key_file());
  if (!key) {
    manifest.findings.push_back(
        {kManifestName, "manifest", "cannot be checked: store.key is missing or cannot be read"});
    return manifest;
  }
  return ManifestReader(*key).Read(*text);
}

}  // namespace reenact::store::internal
