// The body of a request on its way through the proxy: read by the upstream as it arrives, and kept
// whole for the record, as long as all bodies that are under way fit a budget.

#ifndef REENACT_RECORDER_PROXY_REQUEST_BODY_H_
#define REENACT_RECORDER_PROXY_REQUEST_BODY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reenact::proxy {

// Shared by all bodies of one proxy, which live on one thread.
struct BodyBudget {
  uint64_t left = uint64_t{256} << 20;
};

class RequestBody {
 public:
  explicit RequestBody(BodyBudget* budget) : budget_(budget) {}

  ~RequestBody() { budget_->left += reserved_; }

  RequestBody(const RequestBody&) = delete;
  RequestBody& operator=(const RequestBody&) = delete;

  void Append(std::string_view bytes);

  void Finish() { finished_ = true; }

  bool finished() const { return finished_; }

  // Arrived, not yet read by the upstream.
  size_t unread() const { return bytes_.size() - read_; }

  uint64_t size() const { return size_; }

  // False: the budget was used up, and what was read is gone.
  bool is_whole() const { return whole_; }

  std::string_view bytes() const { return bytes_; }

  size_t Read(char* buffer, size_t size);
  // Other bytes in the place of all; nothing was read, and it is whole.
  void Replace(std::string bytes);
  // What was read is needed no more: neither for the record nor for a second try.
  void Forget();
  // To the beginning, for a second try on a fresh connection. False: the beginning is gone.
  bool Rewind();

 private:
  BodyBudget* const budget_;
  std::string bytes_;
  size_t read_ = 0;
  uint64_t size_ = 0;
  uint64_t reserved_ = 0;
  bool whole_ = true;
  bool finished_ = false;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_REQUEST_BODY_H_
