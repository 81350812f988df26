#include "tools/reenact/runs/event_alignment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace reenact::tools {
namespace {

using schema::Boundary;

using Scopes = std::set<std::string>;

// Without a scope: of one that the other run has nothing of.
using Address = std::tuple<std::optional<std::string>, Boundary, std::string>;

Scopes ScopesOf(const RunView& run) {
  Scopes scopes;
  for (const EventView& event : run.events) scopes.insert(event.event->scope);
  return scopes;
}

Address AddressKey(const EventView& view, const Scopes& scopes_of_other) {
  const schema::Event& event = *view.event;
  Address address{std::nullopt, event.boundary, event.name};
  if (scopes_of_other.contains(event.scope)) std::get<0>(address) = event.scope;
  return address;
}

// Pairs the events of one address: equal requests in order, then what is left in order.
void PairAddress(const std::vector<const EventView*>& as, const std::vector<const EventView*>& bs,
                 std::vector<EventPair>* pairs) {
  std::map<schema::RequestKey, std::vector<size_t>> free_by_key;
  for (size_t i = bs.size(); i-- > 0;) free_by_key[RequestKeyOf(*bs[i])].push_back(i);
  std::vector<bool> taken(bs.size());
  std::vector<const EventView*> left;
  for (const EventView* a : as) {
    std::vector<size_t>& free = free_by_key[RequestKeyOf(*a)];
    if (free.empty()) {
      left.push_back(a);
      continue;
    }
    taken[free.back()] = true;
    pairs->push_back({a, bs[free.back()]});
    free.pop_back();
  }
  size_t next_left = 0;
  for (size_t i = 0; i < bs.size(); ++i) {
    if (taken[i]) continue;
    pairs->push_back({next_left < left.size() ? left[next_left++] : nullptr, bs[i]});
  }
  for (; next_left < left.size(); ++next_left) pairs->push_back({left[next_left], nullptr});
}

// In the order of A; what only B has follows what came before it in B.
void SortPairs(std::vector<EventPair>* pairs) {
  std::sort(pairs->begin(), pairs->end(), [](const EventPair& x, const EventPair& y) {
    const auto in_b = [](const EventPair& pair) { return pair.b != nullptr ? pair.b->index : -1; };
    return in_b(x) < in_b(y);
  });
  // (place in A, after what is there, place in B)
  using Place = std::tuple<int64_t, bool, int64_t>;
  std::vector<std::pair<Place, EventPair>> placed;
  placed.reserve(pairs->size());
  int64_t before = -1;  // The last place in A that B has come past.
  for (const EventPair& pair : *pairs) {
    if (pair.a != nullptr && pair.b != nullptr) before = std::max(before, pair.a->index);
    const Place place =
        pair.a != nullptr ? Place{pair.a->index, false, 0} : Place{before, true, pair.b->index};
    placed.emplace_back(place, pair);
  }
  std::sort(placed.begin(), placed.end(),
            [](const auto& x, const auto& y) { return x.first < y.first; });
  std::transform(placed.begin(), placed.end(), pairs->begin(),
                 [](const auto& entry) { return entry.second; });
}

}  // namespace

schema::CallRequest CallRequestOf(const schema::Event& call) {
  return {call.boundary, call.provider, call.endpoint, call.request.bytes};
}

schema::RequestKey RequestKeyOf(const EventView& view) {
  if (!view.is_call()) return {};
  return schema::KeyOf(CallRequestOf(*view.event));
}

std::vector<EventPair> AlignEvents(const RunView& a, const RunView& b) {
  std::map<Address, std::pair<std::vector<const EventView*>, std::vector<const EventView*>>> groups;
  const Scopes scopes_a = ScopesOf(a);
  const Scopes scopes_b = ScopesOf(b);
  for (const EventView& event : a.events) {
    groups[AddressKey(event, scopes_b)].first.push_back(&event);
  }
  for (const EventView& event : b.events) {
    groups[AddressKey(event, scopes_a)].second.push_back(&event);
  }
  std::vector<EventPair> pairs;
  for (const auto& [address, group] : groups) PairAddress(group.first, group.second, &pairs);
  SortPairs(&pairs);
  return pairs;
}

}  // namespace reenact::tools
