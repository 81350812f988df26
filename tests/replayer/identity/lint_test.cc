#include "replayer/identity/lint.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace reenact::identity {
namespace {

using store::CallIdentity;
using store::ComponentIdentity;
using store::Sighting;
using store::Sightings;
using store::Trait;
using store::TraitIdentity;

const Sighting kSeen{1'770'000'000'000'000'000, schema::MakeUlid(7, {}), 3};

class System {
 public:
  explicit System(std::string service = "refunds") : service_(std::move(service)) {}

  System& Calls(std::string model, std::string served, std::string fingerprint) {
    seen_.calls.push_back({{.service = service_,
                            .provider = "openai",
                            .endpoint = "https://api.openai.com/v1",
                            .asked_model = std::move(model),
                            .served_model = std::move(served),
                            .fingerprint_presence = fingerprint.empty() ? schema::Presence::kAbsent
                                                                        : schema::Presence::kValue,
                            .fingerprint = fingerprint},
                           0,
                           10,
                           kSeen,
                           kSeen});
    return *this;
  }

  // Of calls of a model; of the service where it is empty.
  System& Has(Trait trait, std::string model, std::string subject = "", int64_t count = 10) {
    seen_.traits.push_back({{.service = service_,
                             .provider = model.empty() ? "" : "openai",
                             .asked_model = std::move(model),
                             .trait = trait,
                             .subject = std::move(subject)},
                            0,
                            count,
                            kSeen,
                            kSeen});
    return *this;
  }

  System& Uses(std::string kind) {
    seen_.components.push_back(
        {{.service = service_, .kind = std::move(kind), .name = "x"}, 0, 1, kSeen, kSeen});
    return *this;
  }

  std::vector<Finding> Findings() const { return Lint(seen_, ""); }

  const Finding* Find(const std::string& rule) {
    found_ = Findings();
    const auto it = std::find_if(found_.begin(), found_.end(),
                                 [&](const Finding& finding) { return finding.rule == rule; });
    return it == found_.end() ? nullptr : &*it;
  }

 private:
  std::string service_;
  Sightings seen_;
  std::vector<Finding> found_;
};

constexpr char kPinned[] = "gpt-4o-2024-08-06";

TEST(Lint, ASystemThatRecordsAllOfItselfIsClean) {
  System system;
  system.Calls(kPinned, kPinned, "fp_a").Uses("prompt_template").Uses("application");
  system.Has(Trait::kRun, "").Has(Trait::kClockRead, "").Has(Trait::kNamesItsDay, kPinned);
  system.Has(Trait::kToolAsked, "", "lookup").Has(Trait::kToolRecorded, "", "lookup");
  EXPECT_TRUE(system.Findings().empty());
}

TEST(Lint, AFloatingAliasNamesTheModelToAskFor) {
  System system;
  system.Calls("gpt-4o", kPinned, "fp_a");
  const Finding* finding = system.Find("floating_alias");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding->fix, "ask for gpt-4o-2024-08-06");
  EXPECT_EQ(finding->last.run, kSeen.run);
  EXPECT_EQ(finding->count, 10);
}

TEST(Lint, MissingLogprobsAreWorseWhereNothingElseTells) {
  System with_fingerprint;
  with_fingerprint.Calls(kPinned, kPinned, "fp_a").Has(Trait::kLogprobsMissing, kPinned);
  ASSERT_NE(with_fingerprint.Find("logprobs_missing"), nullptr);
  EXPECT_EQ(with_fingerprint.Find("logprobs_missing")->severity, Severity::kNote);
  System blind;
  blind.Calls(kPinned, kPinned, "").Has(Trait::kLogprobsMissing, kPinned);
  EXPECT_EQ(blind.Find("logprobs_missing")->severity, Severity::kWarning);
  System sampled;  // One call of ten has them.
  sampled.Calls(kPinned, kPinned, "").Has(Trait::kLogprobsMissing, kPinned, "", 9);
  EXPECT_EQ(sampled.Find("logprobs_missing"), nullptr);
}

TEST(Lint, SettingsAreNoGuaranteeButOnTheInvariantEngine) {
  for (const Trait trait :
       {Trait::kTemperatureZero, Trait::kTopKOne, Trait::kTopPOne, Trait::kSeedRepeated}) {
    System hosted;
    hosted.Calls(kPinned, kPinned, "fp_a").Has(trait, kPinned);
    EXPECT_NE(hosted.Find("no_guarantee"), nullptr);
    System invariant;
    invariant.Calls("refund-1", "refund-1", "n1-0123456789abcdef").Has(trait, "refund-1");
    EXPECT_EQ(invariant.Find("no_guarantee"), nullptr);
  }
}

TEST(Lint, WhatARunDoesNotRecordIsNamed) {
  System system;
  system.Calls(kPinned, kPinned, "fp_a").Has(Trait::kRun, "");
  system.Has(Trait::kNamesItsDay, kPinned).Has(Trait::kToolAsked, "", "lookup");
  EXPECT_NE(system.Find("components_missing"), nullptr);
  EXPECT_NE(system.Find("clock_outside_seam"), nullptr);
  ASSERT_NE(system.Find("tool_unrecorded"), nullptr);
  EXPECT_NE(system.Find("tool_unrecorded")->text.find("lookup"), std::string::npos);
  system.Uses("prompt_template");
  EXPECT_EQ(system.Find("components_missing"), nullptr);
  EXPECT_NE(system.Find("code_version_missing"), nullptr);
}

TEST(Lint, AnUnstablePrefixIsOneThatMostlyMoves) {
  System moves;
  moves.Calls(kPinned, kPinned, "fp_a").Has(Trait::kPrefixChurn, kPinned, "", 9);
  moves.Has(Trait::kPrefixKept, kPinned, "", 2);
  EXPECT_NE(moves.Find("prefix_unstable"), nullptr);
  System stays;
  stays.Calls(kPinned, kPinned, "fp_a").Has(Trait::kPrefixChurn, kPinned, "", 2);
  stays.Has(Trait::kPrefixKept, kPinned, "", 9);
  EXPECT_EQ(stays.Find("prefix_unstable"), nullptr);
}

TEST(Lint, EvalsAreHeldToTheirOwnRules) {
  System eval("eval refunds");
  eval.Calls(kPinned, kPinned, "fp_a").Has(Trait::kLongAnswerAllowed, kPinned);
  eval.Has(Trait::kSingleJudgement, "", "refunds").Has(Trait::kBitwiseExpectation, "", "refunds");
  EXPECT_NE(eval.Find("long_answers_in_eval"), nullptr);
  EXPECT_NE(eval.Find("too_few_answers"), nullptr);
  EXPECT_NE(eval.Find("determinism_worthwhile"), nullptr);
  ASSERT_NE(eval.Find("bitwise_on_hosted"), nullptr);
  EXPECT_EQ(eval.Find("bitwise_on_hosted")->severity, Severity::kError);
  EXPECT_EQ(eval.Findings().front().rule, "bitwise_on_hosted");  // The worst first.
  System invariant("eval refunds");
  invariant.Calls("refund-1", "refund-1", "n1-0123456789abcdef");
  invariant.Has(Trait::kBitwiseExpectation, "", "refunds");
  EXPECT_EQ(invariant.Find("bitwise_on_hosted"), nullptr);
  System production;
  production.Calls(kPinned, kPinned, "fp_a").Has(Trait::kLongAnswerAllowed, kPinned);
  EXPECT_EQ(production.Find("long_answers_in_eval"), nullptr);
}

TEST(Lint, DeterminismThatNobodyUsesIsAPricePaidForNothing) {
  System system;
  system.Calls("refund-1", "refund-1", "n1-0123456789abcdef");
  system.Has(Trait::kSeedMissing, "refund-1");
  EXPECT_NE(system.Find("determinism_unused"), nullptr);
}

TEST(Lint, AServerThatMayNotBatchIsNamedWithItsSetting) {
  System system;
  system.Calls(kPinned, kPinned, "fp_a").Has(Trait::kBatchingOff, "", "max_num_seqs");
  ASSERT_NE(system.Find("batching_off"), nullptr);
  EXPECT_NE(system.Find("batching_off")->text.find("max_num_seqs"), std::string::npos);
}

// What each rule is found by, and what mends it.
struct Mended {
  const char* rule;
  System system;
  const char* fix;
};

System Hosted(Trait trait, const std::string& model, const std::string& subject = "") {
  System system;
  system.Calls(kPinned, kPinned, "fp_a").Has(trait, model, subject);
  return system;
}

TEST(Lint, EveryFindingSaysWhatMendsItAndWhereItWasSeen) {
  System components;
  components.Calls(kPinned, kPinned, "fp_a").Has(Trait::kRun, "");
  System code = components;
  code.Uses("prompt_template");
  System eval("eval refunds");
  eval.Calls(kPinned, kPinned, "fp_a").Has(Trait::kLongAnswerAllowed, kPinned);
  System unused;
  unused.Calls("refund-1", "refund-1", "n1-0123456789abcdef").Has(Trait::kSeedMissing, "refund-1");
  System alias;
  alias.Calls("gpt-4o", "gpt-4o", "fp_a");
  std::vector<Mended> cases = {
      {"floating_alias", alias, "ask for a dated name"},
      {"logprobs_missing", Hosted(Trait::kLogprobsMissing, kPinned), "logprob_rate"},
      {"seed_missing", Hosted(Trait::kSeedMissing, kPinned), "run.Random"},
      {"no_guarantee", Hosted(Trait::kTemperatureZero, kPinned), "5 answers or more"},
      {"prefix_unstable", Hosted(Trait::kPrefixChurn, kPinned), "behind what stays"},
      {"determinism_unused", unused, "profile stock is cheaper"},
      {"determinism_worthwhile", eval, "profile n1"},
      {"long_answers_in_eval", eval, "lower max_tokens"},
      {"components_missing", components, "reenact snapshot"},
      {"code_version_missing", code, "Application(name, commit)"},
      {"clock_outside_seam", Hosted(Trait::kNamesItsDay, kPinned), "run.Now"},
      {"tool_unrecorded", Hosted(Trait::kToolAsked, "", "lookup"), "run.CallTool"},
      {"batching_off", Hosted(Trait::kBatchingOff, "", "max_num_seqs"), "batch again"},
      {"too_few_answers", Hosted(Trait::kSingleJudgement, "", "refunds"), "5 times or more"},
      {"bitwise_on_hosted", Hosted(Trait::kBitwiseExpectation, "", "refunds"), "grade what"},
  };
  for (Mended& one : cases) {
    const Finding* finding = one.system.Find(one.rule);
    ASSERT_NE(finding, nullptr) << one.rule;
    EXPECT_NE(finding->fix.find(one.fix), std::string::npos) << one.rule << ": " << finding->fix;
    EXPECT_EQ(finding->last.run, kSeen.run) << one.rule;
    EXPECT_EQ(finding->count, 10) << one.rule;
  }
}

}  // namespace
}  // namespace reenact::identity
