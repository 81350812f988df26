#include "tests/local_engine/cuda/device_code.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::device_code {
namespace {

constexpr std::string_view kPtxBegin = "\n.version ";
constexpr std::string_view kElfBegin = "\177ELF\2\1";
constexpr size_t kElfMachineAt = 18;
constexpr unsigned char kMachineCuda = 190;

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError("cannot read " + path);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::vector<std::string_view> PtxTexts(std::string_view bytes) {
  std::vector<std::string_view> texts;
  for (size_t at = bytes.find(kPtxBegin); at != std::string_view::npos;
       at = bytes.find(kPtxBegin, at)) {
    const size_t end = std::min(bytes.find('\0', at), bytes.size());
    texts.push_back(bytes.substr(at, end - at));
    at = end;
  }
  return texts;
}

std::vector<std::string_view> Cubins(std::string_view bytes) {
  std::vector<std::string_view> cubins;
  for (size_t at = bytes.find(kElfBegin); at != std::string_view::npos;
       at = bytes.find(kElfBegin, at + 1)) {
    if (at + kElfMachineAt >= bytes.size()) break;
    const auto machine = static_cast<unsigned char>(bytes[at + kElfMachineAt]);
    if (machine == kMachineCuda && bytes[at + kElfMachineAt + 1] == 0)
      cubins.push_back(bytes.substr(at));
  }
  return cubins;
}

}  // namespace reenact::device_code
