// Memory for vectors: aligned to cache lines, and in large pages where the system gives them.

#ifndef REENACT_LOCAL_ENGINE_CPU_ALIGNED_BYTES_H_
#define REENACT_LOCAL_ENGINE_CPU_ALIGNED_BYTES_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace reenact::local_engine {

class AlignedBytes {
 public:
  // At least `size_bytes`; the old contents are lost when it grows. Throws std::bad_alloc.
  std::byte* AtLeast(size_t size_bytes) {
    if (size_bytes <= size_bytes_) return data_.get();
    constexpr size_t kLargePage = size_t{2} << 20;
    const size_t alignment = size_bytes >= kLargePage ? kLargePage : 64;
    const size_t rounded = (size_bytes + alignment - 1) / alignment * alignment;
    data_.reset();
    size_bytes_ = 0;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    if (alignment == kLargePage) madvise(memory, rounded, MADV_HUGEPAGE);  // A wish, no more.
    data_.reset(static_cast<std::byte*>(memory));
    size_bytes_ = rounded;
    return data_.get();
  }

  std::byte* data() { return data_.get(); }

  const std::byte* data() const { return data_.get(); }

  size_t size_bytes() const { return size_bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::unique_ptr<std::byte, Free> data_;
  size_t size_bytes_ = 0;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_ALIGNED_BYTES_H_
