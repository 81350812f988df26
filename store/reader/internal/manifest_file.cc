#include "store/reader/internal/manifest_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

#include "store/format/chain.h"
#include "store/format/posix_file.h"

namespace reenact::store::internal {
namespace {

constexpr char kManifestName[] = "manifest.jsonl";
constexpr size_t kMaxManifestBytes = size_t{256} << 20;
constexpr size_t kMaxKeyBytes = 4096;
constexpr size_t kKeyBytes = 32;

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
      // Its writer died in it, or it was cut. What it was to say is not known; the next writer
      // removes it.
      const std::string problem = end == std::string::npos
                                      ? "ends in the middle"
                                      : Add(text.substr(begin, end - begin), number);
      if (!problem.empty()) {
        manifest_.findings.push_back(
            {kManifestName, absl::StrCat("manifest line ", number), problem});
        break;
      }
      manifest_.lines = number;
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
      return AddSealed(name, fields, number);
    } else if (const std::string pruned = TextOf(fields, "pruned"); !pruned.empty()) {
      manifest_.pruned.insert(pruned);
      manifest_.tombstones.push_back({.kind = VerifyTombstone::Kind::kPruned,
                                      .segment = pruned,
                                      .reason = TextOf(fields, "reason"),
                                      .at_wall_ns = NumberOf(fields, "at_wall_ns"),
                                      .line = number});
    } else if (const std::string redacted = TextOf(fields, "redacted"); !redacted.empty()) {
      return AddRedaction(redacted, fields, number);
    } else if (const std::string begun = TextOf(fields, "begun"); !begun.empty()) {
      manifest_.begun.emplace(begun, number);
    } else if (fields.contains("changing")) {
      manifest_.incidents.change_begun_line = number;
    } else if (fields.contains("changed")) {
      manifest_.incidents = {.sha256 = TextOf(fields, "sha256"), .line = number};
    } else {
      return "is of a kind that this Reenact does not know: use a newer one";
    }
    return {};
  }

  // Sealing that was interrupted is repeated, and then the file has other bytes that hold nothing.
  std::string AddSealed(const std::string& name, const nlohmann::json& fields, int64_t number) {
    const SealedEntry entry{.head = TextOf(fields, "head"),
                            .rows = NumberOf(fields, "rows"),
                            .line = number,
                            .sha256 = TextOf(fields, "sha256")};
    const auto [place, is_new] = manifest_.sealed.try_emplace(name, entry);
    if (is_new) return {};
    if (place->second.head != entry.head || place->second.rows != entry.rows)
      return absl::StrCat("seals ", name, " a second time, with other rows than line ",
                          place->second.line);
    place->second = entry;
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
    sealed->second = {.head = TextOf(fields, "head"),
                      .rows = NumberOf(fields, "rows"),
                      .line = number,
                      .was = was,
                      .sha256 = TextOf(fields, "sha256")};
    manifest_.tombstones.push_back({.kind = VerifyTombstone::Kind::kRedacted,
                                    .segment = name,
                                    .changed_rows = NumberOf(fields, "changed_rows"),
                                    .at_wall_ns = NumberOf(fields, "at_wall_ns"),
                                    .line = number});
    return {};
  }

  std::string key_;
  std::string previous_;
  Manifest manifest_;
};

}  // namespace

// Between the lines of others: a writer holds the lock while it appends one.
int ReadManifestText(const StoreLayout& layout, std::string* text) {
  FileDescriptor file;
  const std::string path = layout.manifest();
  if (const int code = OpenRegularFile(path, O_RDONLY, 0, &file); code != 0) return code;
  // Where there are no locks nobody writes either.
  while (flock(file.get(), LOCK_SH) != 0 && errno == EINTR) {
  }
  return ReadWholeFile(path, kMaxManifestBytes, text);
}

Manifest ReadManifest(const StoreLayout& layout) {
  Manifest manifest;
  std::string text;
  if (const int code = ReadManifestText(layout, &text); code != 0) {
    if (code != ENOENT)
      manifest.findings.push_back(
          {kManifestName, "manifest", absl::StrCat("cannot be read: ", DescribeErrno(code))});
    return manifest;
  }
  std::string key;
  if (ReadWholeFile(layout.key_file(), kMaxKeyBytes, &key) != 0) {
    manifest.findings.push_back(
        {kManifestName, "manifest", "cannot be checked: store.key is missing or cannot be read"});
    return manifest;
  }
  // HMAC takes a key with zeros at its end for the one without.
  if (key.size() != kKeyBytes) {
    manifest.findings.push_back(
        {kManifestName, "manifest",
         absl::StrCat("cannot be checked: store.key holds ", key.size(), " bytes instead of 32")});
    return manifest;
  }
  return ManifestReader(std::move(key)).Read(text);
}

std::map<std::string, std::string> MissingSegments(const StoreLayout& layout,
                                                   const Manifest& manifest) {
  std::map<std::string, std::string> missing;
  const auto add = [&](const std::string& name, const char* what, int64_t line) {
    const std::string path = absl::StrCat(layout.segments(), "/", name);
    if (manifest.pruned.contains(name) || access(path.c_str(), F_OK) == 0) return;
    missing[name] = absl::StrCat("is missing: it was ", what, " (manifest line ", line,
                                 "), and nothing says that it was pruned");
  };
  for (const auto& [name, line] : manifest.begun) add(name, "begun", line);
  for (const auto& [name, sealed] : manifest.sealed) add(name, "sealed", sealed.line);
  if (missing.empty()) return missing;
  const Manifest now = ReadManifest(layout);
  std::erase_if(missing, [&](const auto& entry) { return now.pruned.contains(entry.first); });
  return missing;
}

}  // namespace reenact::store::internal
