#include "schema/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace reenact::schema {
namespace {

TEST(TraceContext, IdsAreReadFromEitherForm) {
  const std::string id = "0af7651916cd43dd8448eb211c80319c";
  EXPECT_EQ(ParseTraceId(id), id);
  EXPECT_EQ(ParseTraceId("0AF7651916CD43DD8448EB211C80319C"), id);
  EXPECT_EQ(ParseTraceId("00-" + id + "-00f067aa0ba902b7-01"), id);
  EXPECT_EQ(ParseTraceId("cc-" + id + "-00f067aa0ba902b7-01-later"), id);
}

TEST(TraceContext, WhatIsNoTraceIdIsNone) {
  const std::string id = "0af7651916cd43dd8448eb211c80319c";
  for (const std::string& text :
       {std::string(), std::string("abc"), std::string(32, '0'), std::string(32, 'g'),
        "ff-" + id + "-00f067aa0ba902b7-01", "00-" + id + "-00f067aa0ba902b7-01-more",
        "00_" + id + "-00f067aa0ba902b7-01", "00-" + id + "-00f067aa0ba902b-01x"}) {
    EXPECT_EQ(ParseTraceId(text), "") << text;
  }
}

}  // namespace
}  // namespace reenact::schema
