// Overlapping answers come in the order that was recorded, and wait for nothing that does not.

#include "replayer/http/answer_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reenact::replayer {
namespace {

using Turn = AnswerOrder::Turn;

class AnswerOrderTest : public ::testing::Test {
 protected:
  // A call from `begin_ns` to `end_ns`.
  void Record(int64_t begin_ns, int64_t end_ns) {
    schema::Event event;
    event.boundary = schema::Boundary::kTool;
    event.started.monotonic_ns = begin_ns;
    event.elapsed_ns = end_ns - begin_ns;
    event.exchange.emplace_back().kind = schema::ExchangeItemKind::kHead;
    events_.push_back(event);
  }

  // Sends `what`, which was sent at `at_ns`, when it is time; then the answer has ended.
  void Send(AnswerOrder* order, Turn turn, size_t event, int64_t at_ns, const std::string& what) {
    const auto send = [this, order, turn, what] {
      sent_ += what;
      order->End(turn);
    };
    if (order->IsTime(turn, at_ns - events_[event].started.monotonic_ns)) return send();
    order->Await(turn, send);
  }

  std::vector<schema::Event> events_;
  std::string sent_;
};

TEST_F(AnswerOrderTest, CallsThatDidNotOverlapWaitForNothing) {
  Record(0, 10);
  Record(20, 30);
  AnswerOrder order(events_);
  Send(&order, order.Begin(0), 0, 10, "a");
  EXPECT_EQ(sent_, "a");
  Send(&order, order.Begin(1), 1, 30, "b");
  EXPECT_EQ(sent_, "ab");
}

TEST_F(AnswerOrderTest, TheSlowOneOfTwoComesLastThoughItIsAskedFirst) {
  Record(0, 100);
  Record(1, 50);
  AnswerOrder order(events_);
  Send(&order, order.Begin(0), 0, 100, "slow ");
  EXPECT_EQ(sent_, "") << "the other had begun by then, and is still to be asked for";
  Send(&order, order.Begin(1), 1, 50, "fast ");
  EXPECT_EQ(sent_, "fast slow ");
}

TEST_F(AnswerOrderTest, PiecesOfStreamsInterleaveAsTheyDid) {
  Record(0, 100);
  Record(1, 100);
  AnswerOrder order(events_);
  const Turn a = order.Begin(0);
  ASSERT_FALSE(order.IsTime(a, 10)) << "b had begun by then";
  order.Await(a, [&] { sent_ += "a10 "; });
  const Turn b = order.Begin(1);
  ASSERT_FALSE(order.IsTime(b, 19)) << "a's first piece comes before";
  bool b_went = false;
  order.Await(b, [&] { b_went = true; });
  EXPECT_EQ(sent_, "a10 ");
  EXPECT_FALSE(b_went) << "a's piece is under way";
  ASSERT_FALSE(order.IsTime(a, 30)) << "b's at 20 comes before a's at 30";
  order.Await(a, [&] { sent_ += "a30"; });
  EXPECT_TRUE(b_went);
  EXPECT_EQ(sent_, "a10 ");
  EXPECT_FALSE(order.IsTime(b, 49));
  order.Await(b, [] {});
  EXPECT_EQ(sent_, "a10 a30");
}

TEST_F(AnswerOrderTest, AProgramThatLeftACallOutIsNotKeptWaitingEverAfter) {
  Record(0, 10);
  Record(20, 30);  // Never asked for.
  Record(40, 50);
  AnswerOrder order(events_);
  Send(&order, order.Begin(0), 0, 10, "a");
  Send(&order, order.Begin(2), 2, 50, "c");
  EXPECT_EQ(sent_, "ac");
}

TEST_F(AnswerOrderTest, NothingHangsOnACallThatNeverComes) {
  Record(0, 100);
  Record(1, 50);  // Never asked for, though they overlapped.
  AnswerOrder order(events_);
  const Turn turn = order.Begin(0);
  Send(&order, turn, 0, 100, "a");
  ASSERT_EQ(sent_, "");
  order.Hurry(turn, 90);
  EXPECT_EQ(sent_, "") << "that is not what it waits for";
  order.Hurry(turn, 100);
  EXPECT_EQ(sent_, "a");
  order.Hurry(turn, 100);
  EXPECT_EQ(sent_, "a");
}

TEST_F(AnswerOrderTest, AClientThatWentAwayHoldsNobodyUp) {
  Record(0, 50);
  Record(1, 100);
  AnswerOrder order(events_);
  const Turn gone = order.Begin(0);
  Send(&order, order.Begin(1), 1, 100, "b");
  EXPECT_EQ(sent_, "");
  order.End(gone);
  EXPECT_EQ(sent_, "b");
  order.End(gone);
}

TEST_F(AnswerOrderTest, WhatIsAnsweredElsewhereIsNotAwaited) {
  Record(0, 100);
  Record(1, 50);
  events_[1].exchange.clear();
  Record(2, 60);
  events_[2].exchange.front().kind = schema::ExchangeItemKind::kBytes;
  AnswerOrder order(events_);
  Send(&order, order.Begin(0), 0, 100, "a");
  EXPECT_EQ(sent_, "a");
}

}  // namespace
}  // namespace reenact::replayer
