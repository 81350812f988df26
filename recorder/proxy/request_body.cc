#include "recorder/proxy/request_body.h"

#include <algorithm>
#include <utility>

namespace reenact::proxy {

void RequestBody::Append(std::string_view bytes) {
  size_ += bytes.size();
  if (whole_ && budget_->left < bytes.size()) Forget();
  if (whole_) {
    budget_->left -= bytes.size();
    reserved_ += bytes.size();
  } else {
    bytes_.erase(0, read_);
    read_ = 0;
  }
  bytes_.append(bytes);
}

void RequestBody::Forget() {
  whole_ = false;
  budget_->left += std::exchange(reserved_, 0);
  std::string(bytes_, read_).swap(bytes_);  // An assignment would keep the room.
  read_ = 0;
}

size_t RequestBody::Read(char* buffer, size_t size) {
  const size_t taken = bytes_.copy(buffer, size, read_);
  read_ += taken;
  return taken;
}

void RequestBody::Replace(std::string bytes) {
  bytes_ = std::move(bytes);
  size_ = bytes_.size();
  read_ = 0;
}

bool RequestBody::Rewind() {
  if (!whole_) return false;
  read_ = 0;
  return true;
}

}  // namespace reenact::proxy
