// What the refund service can do besides talking: look an order up, and pay money back.

#ifndef REENACT_TOOLS_DEMO_REFUND_TOOLS_H_
#define REENACT_TOOLS_DEMO_REFUND_TOOLS_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace demo {

// Answers {"order_id", "total_cents", "delivered_on", "status"} or {"error"}, as JSON.
// `arguments`: {"order_id": "A-1042"}.
std::string LookupOrder(std::string_view arguments);
inline constexpr std::string_view kLookupOrderSchema =
    R"({"type":"function","function":{"name":"lookup_order","description":"Find an order by its id.",)"
    R"("parameters":{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]}}})";

// Where money leaves: each refund is a line in a file. A call during a replay would show there.
class RefundLedger {
 public:
  explicit RefundLedger(std::string path) : path_(std::move(path)) {}

  // Appends a refund and answers {"refund_id", "amount_cents", "status"}, as JSON.
  // `arguments`: {"order_id", "amount_cents"}. Any thread.
  std::string Issue(std::string_view arguments, std::string_view refund_id);

 private:
  std::string path_;
  std::mutex mutex_;
};

inline constexpr std::string_view kIssueRefundSchema =
    R"({"type":"function","function":{"name":"issue_refund","description":"Pay a refund to the customer.",)"
    R"("parameters":{"type":"object","properties":{"order_id":{"type":"string"},)"
    R"("amount_cents":{"type":"integer"}},"required":["order_id","amount_cents"]}}})";

}  // namespace demo

#endif  // REENACT_TOOLS_DEMO_REFUND_TOOLS_H_
