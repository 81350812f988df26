#include "refund_tools.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <mutex>

#include <nlohmann/json.hpp>

namespace demo {
namespace {

using nlohmann::ordered_json;

struct Order {
  std::string_view id;
  int64_t total_cents;
  std::string_view delivered_on;
};

constexpr std::array<Order, 6> kOrders = {{
    {"A-1042", 12000, "2026-02-20"},
    {"A-1043", 4500, "2026-02-21"},
    {"A-1044", 8000, "2026-02-25"},
    {"A-1045", 3000, "2026-02-27"},
    {"A-1046", 129900, "2026-02-26"},
    {"A-1084", 6450, "2026-02-26"},
}};

std::string Error(std::string_view what) {
  return ordered_json{{"error", what}}.dump();
}

}  // namespace

std::string LookupOrder(std::string_view arguments) {
  const ordered_json parsed = ordered_json::parse(arguments, nullptr, false);
  if (!parsed.is_object()) return Error("the arguments are not a JSON object");
  const std::string id = parsed.value("order_id", "");
  for (const Order& order : kOrders) {
    if (order.id != id) continue;
    return ordered_json{{"order_id", order.id},
                        {"total_cents", order.total_cents},
                        {"delivered_on", order.delivered_on},
                        {"status", "delivered"}}
        .dump();
  }
  return Error("no such order");
}

std::string RefundLedger::Issue(std::string_view arguments, std::string_view refund_id) {
  const ordered_json parsed = ordered_json::parse(arguments, nullptr, false);
  if (!parsed.is_object()) return Error("the arguments are not a JSON object");
  const int64_t amount_cents = parsed.value("amount_cents", int64_t{0});
  const ordered_json line{{"refund_id", refund_id},
                          {"order_id", parsed.value("order_id", "")},
                          {"amount_cents", amount_cents}};
  const std::lock_guard<std::mutex> lock(mutex_);
  std::ofstream file(path_, std::ios::app);
  file << line.dump() << "\n";
  if (!file.flush()) return Error("the ledger cannot be written");
  return ordered_json{{"refund_id", refund_id}, {"amount_cents", amount_cents}, {"status", "paid"}}
      .dump();
}

}  // namespace demo
