#include "local_engine/weights/tensor_set.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "local_engine/numerics/sha256.h"

namespace reenact::local_engine {
namespace {

constexpr size_t kMaxNameBytes = 256;

bool IsPrintable(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

void HashLength(uint64_t length, Sha256* hash) {
  hash->Update(&length, sizeof(length));
}

void HashText(std::string_view text, Sha256* hash) {
  HashLength(text.size(), hash);
  hash->Update(text.data(), text.size());
}

using ReadBytes = std::span<const std::byte>;
using OnRead = absl::FunctionRef<void(ReadBytes)>;

constexpr size_t kReadBytes = size_t{8} << 20;
constexpr uint64_t kWorthAThreadBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxThreads = 16;  // More than memory has readers for.

Sha256Digest LeafOf(const Tensor& tensor, OnRead on_read) {
  Sha256 hash;
  const uint8_t kind = 0;
  hash.Update(&kind, 1);
  HashText(tensor.name, &hash);
  HashText(DataTypeName(tensor.type), &hash);
  HashLength(tensor.shape.size(), &hash);
  for (uint64_t dimension : tensor.shape) HashLength(dimension, &hash);
  HashLength(tensor.size_bytes, &hash);
  const ReadBytes data(tensor.data, tensor.size_bytes);
  for (size_t at = 0; at < data.size(); at += kReadBytes) {
    const ReadBytes read = data.subspan(at, std::min(kReadBytes, data.size() - at));
    hash.Update(read.data(), read.size());
    on_read(read);
  }
  return hash.Finish();
}

Sha256Digest NodeOf(const Sha256Digest& left, const Sha256Digest& right) {
  Sha256 hash;
  const uint8_t kind = 1;
  hash.Update(&kind, 1);
  hash.Update(left.data(), left.size());
  hash.Update(right.data(), right.size());
  return hash.Finish();
}

// The leaves of all tensors, by as many threads as are of use; the largest tensors first, so that
// none is left for the end.
class LeafWork {
 public:
  explicit LeafWork(const TensorSet& tensors) : leaves_(tensors.tensors().size()) {
    for (const auto& [name, tensor] : tensors.tensors()) {
      queue_.emplace_back(&tensor, queue_.size());
      size_bytes_ += tensor.size_bytes;
    }
    std::stable_sort(queue_.begin(), queue_.end(), [](const Entry& a, const Entry& b) {
      return a.first->size_bytes > b.first->size_bytes;
    });
  }

  // Calls `on_read` on this thread only: for its own reads, and for those of the others.
  void Run(OnRead on_read) {
    std::vector<std::jthread> others;
    const uint64_t wanted = std::min({size_bytes_ / kWorthAThreadBytes, kMaxThreads,
                                      uint64_t{std::thread::hardware_concurrency()}});
    try {
      while (others.size() + 1 < wanted) {
        others.emplace_back([this] { TakeTensors([this](ReadBytes read) { Leave(read); }); });
      }
    } catch (const std::system_error&) {
      // Those that are there do it all.
    }
    TakeTensors([&](ReadBytes read) {
      on_read(read);
      for (const ReadBytes other : TakeLeft()) on_read(other);
    });
    std::unique_lock lock(mutex_);
    while (finished_ < leaves_.size() || !left_.empty()) {
      changed_.wait(lock, [&] { return finished_ == leaves_.size() || !left_.empty(); });
      lock.unlock();
      for (const ReadBytes other : TakeLeft()) on_read(other);
      lock.lock();
    }
  }

  const std::vector<Sha256Digest>& leaves() const { return leaves_; }

 private:
  using Entry = std::pair<const Tensor*, size_t>;  // And which leaf it is.

  void TakeTensors(OnRead on_read) {
    for (size_t i = next_.fetch_add(1); i < queue_.size(); i = next_.fetch_add(1)) {
      leaves_[queue_[i].second] = LeafOf(*queue_[i].first, on_read);
      const std::lock_guard lock(mutex_);
      ++finished_;
      changed_.notify_one();
    }
  }

  void Leave(ReadBytes read) {
    const std::lock_guard lock(mutex_);
    left_.push_back(read);
    changed_.notify_one();
  }

  std::vector<ReadBytes> TakeLeft() {
    const std::lock_guard lock(mutex_);
    return std::exchange(left_, {});
  }

  std::vector<Entry> queue_;
  uint64_t size_bytes_ = 0;
  std::atomic<size_t> next_{0};
  std::vector<Sha256Digest> leaves_;

  std::mutex mutex_;  // Of what follows.
  std::condition_variable changed_;
  size_t finished_ = 0;          // Leaves.
  std::vector<ReadBytes> left_;  // Read by others and not reported yet.
};

}  // namespace

absl::Status TensorSet::Add(Tensor tensor) {
  if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes || !IsPrintable(tensor.name)) {
    return absl::InvalidArgumentError("a tensor's name is empty, over 256 bytes or not printable");
  }
  std::string name = tensor.name;
  if (!tensors_.try_emplace(name, std::move(tensor)).second) {
    return absl::InvalidArgumentError("tensor \"" + name + "\" is there twice");
  }
  return absl::OkStatus();
}

const Tensor* TensorSet::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

absl::Status CheckNoOverlap(std::vector<DataExtent>* extents) {
  std::sort(extents->begin(), extents->end(), [](const DataExtent& a, const DataExtent& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  for (size_t i = 1; i < extents->size(); ++i) {
    const DataExtent& before = (*extents)[i - 1];
    const DataExtent& after = (*extents)[i];
    if (after.begin < before.end) {
      return absl::InvalidArgumentError("tensor \"" + after.name + "\" overlaps tensor \"" +
                                        before.name + "\"");
    }
  }
  return absl::OkStatus();
}

WeightsDigest DigestOf(const TensorSet& tensors, OnRead on_read) {
  WeightsDigest digest;
  LeafWork work(tensors);
  work.Run(on_read);
  std::vector<Sha256Digest> level = work.leaves();
  size_t next = 0;
  for (const auto& [name, tensor] : tensors.tensors()) digest.leaves.emplace(name, level[next++]);
  while (level.size() > 1) {
    std::vector<Sha256Digest> above;
    for (size_t i = 0; i + 1 < level.size(); i += 2) {
      above.push_back(NodeOf(level[i], level[i + 1]));
    }
    if (level.size() % 2 == 1) above.push_back(level.back());
    level = std::move(above);
  }
  digest.root = level.empty() ? Sha256Of(nullptr, 0) : level.front();
  return digest;
}

}  // namespace reenact::local_engine
