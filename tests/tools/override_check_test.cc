// An override must be of something that was recorded.

#include "tools/reenact/replay/override_check.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace reenact::tools {
namespace {

using replayer::Override;
using schema::Boundary;

schema::RecordedRun TapeOf(const std::vector<std::pair<Boundary, std::string>>& events,
                           const std::vector<std::string>& components) {
  schema::RecordedRun tape;
  for (const auto& [boundary, name] : events) {
    schema::Event event;
    event.boundary = boundary;
    event.name = name;
    tape.events.push_back(event);
  }
  for (const std::string& name : components) {
    schema::Component component;
    component.name = name;
    tape.components.push_back(component);
  }
  return tape;
}

// OK, or the message with its code.
std::string Check(const schema::RecordedRun& tape, const std::vector<std::string>& texts) {
  std::vector<Override> overrides;
  for (const std::string& text : texts) overrides.push_back(*replayer::ParseOverride(text));
  return CheckOverrides(tape, overrides).ToString();
}

TEST(CheckOverrides, TakesWhatWasRecordedOfEveryKind) {
  const schema::RecordedRun tape = TapeOf({{Boundary::kClock, "today"},
                                           {Boundary::kTool, "lookup_order"},
                                           {Boundary::kRetrieval, "policies"}},
                                          {"refund"});
  EXPECT_EQ(Check(tape, {"clock=2026-03-01T12:00:00Z", "clock:today=2026-03-01T12:00:00Z",
                         "tool:lookup_order=1", "retrieval:policies=", "component:refund=x"}),
            "OK");
}

TEST(CheckOverrides, NamesWhatIsNotThereAndTheNearestOfItsKind) {
  const schema::RecordedRun tape = TapeOf({{Boundary::kClock, "today"},
                                           {Boundary::kTool, "lookup_order"},
                                           {Boundary::kRetrieval, "policies"}},
                                          {"refund"});
  EXPECT_EQ(Check(tape, {"tool:lookup_oder=1"}),
            "NOT_FOUND: override tool:lookup_oder: the run has no tool of that name; did you mean "
            "\"lookup_order\"?");
  EXPECT_EQ(Check(tape, {"retrieval:policy=1"}),
            "NOT_FOUND: override retrieval:policy: the run has no retrieval of that name; it has "
            "\"policies\"");
  EXPECT_EQ(Check(tape, {"component:refunds=1"}),
            "NOT_FOUND: override component:refunds: the run has no component of that name; did you "
            "mean \"refund\"?");
  EXPECT_EQ(Check(tape, {"clock:tody=2026-03-01T12:00:00Z"}),
            "NOT_FOUND: override clock:tody: the run has no clock of that name; did you mean "
            "\"today\"?");
  // A tool is no retrieval.
  EXPECT_EQ(Check(tape, {"retrieval:lookup_order=1"}).substr(0, 9), "NOT_FOUND");
}

TEST(CheckOverrides, SaysThatThereIsNoneOfTheKind) {
  const schema::RecordedRun tape = TapeOf({{Boundary::kModel, "chat"}}, {});
  EXPECT_EQ(Check(tape, {"clock=2026-03-01T12:00:00Z"}),
            "NOT_FOUND: override clock: the run has no clock");
  EXPECT_EQ(Check(tape, {"tool:chat=1"}), "NOT_FOUND: override tool:chat: the run has no tool");
}

TEST(CheckOverrides, ListsNoMoreThanALineOfNames) {
  std::vector<std::pair<Boundary, std::string>> tools;
  for (int i = 0; i < 20; ++i)
    tools.emplace_back(Boundary::kTool, std::string(9, static_cast<char>('a' + i)));
  const std::string text = Check(TapeOf(tools, {}), {"tool:x=1"});
  EXPECT_NE(text.find("and 12 more"), std::string::npos) << text;
}

TEST(CheckOverrides, RefusesTheSameTwice) {
  const schema::RecordedRun tape = TapeOf({{Boundary::kTool, "lookup_order"}}, {});
  EXPECT_EQ(Check(tape, {"tool:lookup_order=1", "tool:lookup_order=2"}),
            "INVALID_ARGUMENT: override tool:lookup_order is given twice");
}

}  // namespace
}  // namespace reenact::tools
