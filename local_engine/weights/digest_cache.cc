#include "local_engine/weights/digest_cache.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

#include "absl/status/statusor.h"

#include "local_engine/numerics/planted_support_fault.h"
#include "local_engine/numerics/sha256.h"
#include "local_engine/weights/mapped_file.h"

namespace reenact::local_engine {
namespace {

std::string HashText(std::string_view text) {
  return HexText(Sha256Of(text.data(), text.size()));
}

// Everything that a digest is found by, and the way in which it is made.
std::string KeyOf(const TensorSet& tensors) {
  std::string key = "reenact weights digest 1\n";
  for (const auto& file : tensors.files()) {
    FileIdentity identity = file->identity();
    if (Planted(SupportFault::kDigestForgetsChange)) identity.modified_ns = identity.changed_ns = 0;
    if (Planted(SupportFault::kDigestOfSizeAlone)) identity = {.size_bytes = identity.size_bytes};
    for (const uint64_t number : {identity.device, identity.inode, identity.size_bytes,
                                  static_cast<uint64_t>(identity.modified_ns),
                                  static_cast<uint64_t>(identity.changed_ns)}) {
      key += std::to_string(number) + " ";
    }
    key += "\n";
  }
  std::string names;
  for (const auto& [name, tensor] : tensors.tensors()) names += name + "\n";
  return key + HashText(names) + "\n";
}

std::string PathOf(const std::string& folder, const std::string& key) {
  return folder + "/weights-" + HashText(key).substr(0, 32);
}

std::optional<Sha256Digest> DigestFromHex(std::string_view hex) {
  if (hex.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  Sha256Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    const std::string byte(hex.substr(2 * i, 2));
    digest[i] = static_cast<uint8_t>(std::stoul(byte, nullptr, 16));
  }
  return digest;
}

// Key, digest, and the hash of both.
std::string EntryOf(const std::string& key, const std::string& digest) {
  const std::string body = key + digest + "\n";
  return body + HashText(body) + "\n";
}

}  // namespace

bool DigestCache::IsSettled(const MappedFile& file) const {
  const absl::StatusOr<FileIdentity> now = IdentityOfFile(file.path());
  if (Planted(SupportFault::kDigestOfMovingFile)) return true;
  if (!now.ok() || *now != file.identity()) return false;
  const int64_t time = std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  return now->modified_ns + settled_ns_ < time && now->changed_ns + settled_ns_ < time;
}

std::optional<Sha256Digest> DigestCache::Find(const TensorSet& tensors) const {
  if (folder_.empty()) return std::nullopt;
  const std::string key = KeyOf(tensors);
  std::ifstream file(PathOf(folder_, key), std::ios::binary);
  const std::string entry{std::istreambuf_iterator<char>(file), {}};
  constexpr size_t kHexDigits = 2 * std::tuple_size_v<Sha256Digest>;
  if (entry.size() != key.size() + 2 * (kHexDigits + 1)) return std::nullopt;
  const std::string digest = entry.substr(key.size(), kHexDigits);
  const bool whole = entry == EntryOf(key, digest);
  if (!whole && !Planted(SupportFault::kDigestBelievesDamage)) return std::nullopt;
  return DigestFromHex(digest);
}

void DigestCache::Keep(const TensorSet& tensors, const Sha256Digest& root) const {
  if (folder_.empty()) return;
  for (const auto& file : tensors.files()) {
    if (!IsSettled(*file)) return;
  }
  const std::string key = KeyOf(tensors);
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  std::string aside = folder_ + "/.weights-XXXXXX";
  const int descriptor = mkstemp(aside.data());
  if (descriptor < 0) return;
  const std::string entry = EntryOf(key, HexText(root));
  const bool written = write(descriptor, entry.data(), entry.size()) == std::ssize(entry);
  if (close(descriptor) == 0 && written) {
    std::filesystem::rename(aside, PathOf(folder_, key), error);
    if (!error) return;
  }
  std::filesystem::remove(aside, error);
}

}  // namespace reenact::local_engine
