#include "tools/reenact/replay/override_check.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tools/reenact/io/suggestion.h"

namespace reenact::tools {
namespace {

using Target = replayer::Override::Target;

// More names than these are no help on one line.
constexpr size_t kListedNames = 8;

const char* WordOf(Target target) {
  switch (target) {
    case Target::kClock:
      return "clock";
    case Target::kTool:
      return "tool";
    case Target::kRetrieval:
      return "retrieval";
    case Target::kComponent:
      return "component";
  }
  return "";
}

bool IsOf(Target target, schema::Boundary boundary) {
  return (target == Target::kClock && boundary == schema::Boundary::kClock) ||
         (target == Target::kTool && boundary == schema::Boundary::kTool) ||
         (target == Target::kRetrieval && boundary == schema::Boundary::kRetrieval);
}

std::vector<std::string> RecordedNames(const schema::RecordedRun& tape, Target target) {
  std::set<std::string> names;
  for (const schema::Event& event : tape.events) {
    if (IsOf(target, event.boundary)) names.insert(event.name);
  }
  for (const schema::Component& component : tape.components) {
    if (target == Target::kComponent) names.insert(component.name);
  }
  return {names.begin(), names.end()};
}

std::string WhatThereIs(Target target, const std::string& wanted,
                        const std::vector<std::string>& names) {
  if (names.empty()) return absl::StrCat("the run has no ", WordOf(target));
  const std::string closest = ClosestWord(wanted, names);
  std::string text = absl::StrCat("the run has no ", WordOf(target), " of that name");
  if (!closest.empty()) return absl::StrCat(text, "; did you mean \"", closest, "\"?");
  const size_t count = std::min(names.size(), kListedNames);
  absl::StrAppend(
      &text, "; it has \"",
      absl::StrJoin(names.begin(), names.begin() + static_cast<ptrdiff_t>(count), "\", \""), "\"");
  if (count < names.size()) absl::StrAppend(&text, " and ", names.size() - count, " more");
  return text;
}

}  // namespace

absl::Status CheckOverrides(const schema::RecordedRun& tape,
                            const std::vector<replayer::Override>& overrides) {
  std::set<std::string> given;
  for (const replayer::Override& override : overrides) {
    const std::string what = override.name.empty()
                                 ? std::string(WordOf(override.target))
                                 : absl::StrCat(WordOf(override.target), ":", override.name);
    if (!given.insert(what).second) {
      return absl::InvalidArgumentError(absl::StrCat("override ", what, " is given twice"));
    }
    const std::vector<std::string> names = RecordedNames(tape, override.target);
    const bool found = override.name.empty()
                           ? !names.empty()
                           : std::find(names.begin(), names.end(), override.name) != names.end();
    if (found) continue;
    return absl::NotFoundError(
        absl::StrCat("override ", what, ": ", WhatThereIs(override.target, override.name, names)));
  }
  return absl::OkStatus();
}

}  // namespace reenact::tools
