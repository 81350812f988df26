// Causes planted in a program, and explained from two records of it: the program runs on spliced
// tapes, and a model that is a function of its request answers.

#include "replayer/explain/recorded_experiment.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replayer/explain/decision.h"
#include "replayer/explain/explanation.h"
#include "replayer/rerun/action.h"
#include "schema/json_view.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::explain {
namespace {

using replayer::CallSpec;
using replayer::TapeBuilder;
using schema::Boundary;

constexpr char kStart[] = R"({"model":"m","messages":[{"role":"user","content":"start"}]})";

// What a run meets, and what its program is.
struct World {
  uint64_t today = 1;
  std::string order = "120";
  std::string policy = "p";
  std::string prompt = "be kind";
  std::string seed = "1";
};

std::string TextAnswer(const std::string& text) {
  return R"({"id":"x","object":"chat.completion","model":"m-1","choices":[{"index":0,)"
         R"("finish_reason":"stop","message":{"role":"assistant","content":")" +
         text + R"("}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}})";
}

std::string Decide(const World& world, const std::string& first_answer) {
  return R"({"model":"m","temperature":1,"seed":)" + world.seed +
         R"(,"messages":[{"role":"system","content":")" + world.prompt + R"("},)" +
         R"({"role":"user","content":"day )" + std::to_string(world.today) + " order " +
         world.order + " policy " + world.policy + " said " + first_answer.substr(0, 5) + R"("}]})";
}

// The model: "wrong" where its request holds a phrase.
class PhraseModel final : public rerun::Target {
 public:
  explicit PhraseModel(std::string phrase) : phrase_(std::move(phrase)) {}

  std::string Name() const override { return "phrase"; }

  std::string AnswerTo(const std::string& request) const {
    if (request.find("start") != std::string::npos) return TextAnswer("begin");
    return TextAnswer(request.find(phrase_) != std::string::npos ? "wrong" : "right");
  }

  rerun::Sample Ask(const rerun::Question& question) override {
    rerun::Sample sample;
    sample.event = TapeBuilder().Model(question.request, AnswerTo(question.request));
    ++asked;
    ReadAnswer(&sample);
    return sample;
  }

  rerun::Abilities abilities() const override { return {}; }

  int asked = 0;

 private:
  std::string phrase_;
};

schema::RecordedRun Record(const World& world, const PhraseModel& model) {
  TapeBuilder tape;
  tape.run().components.push_back({.kind = "prompt_template",
                                   .name = "refund",
                                   .version = world.prompt,
                                   .content = {.bytes = world.prompt}});
  tape.Read(Boundary::kClock, "today", world.today);
  tape.Model(kStart, TextAnswer("begin"));
  tape.Tool("lookup", R"({"order":"A-17"})", world.order);
  tape.Add(
      {.boundary = Boundary::kRetrieval, .name = "kb", .request = "q", .reads = {world.policy}});
  const std::string request = Decide(world, "begin");
  tape.Model(request, model.AnswerTo(request));
  return tape.run();
}

// The program that made such records; its own prompt is a newer one than either had.
absl::StatusOr<replayer::ReplayReport> RunProgram(const schema::RecordedRun& tape,
                                                  const std::vector<replayer::Override>& overrides,
                                                  bool asks_for_its_prompt) {
  replayer::ReplaySession session(tape, {.overrides = overrides});
  auto program = replayer::ProgramOn(&session);
  World world{.prompt = "newer"};
  program.Begin(
      "POST /refund", R"({"order":"A-17"})",
      {{.kind = "prompt_template", .name = "refund", .content = {.bytes = world.prompt}}});
  if (asks_for_its_prompt) world.prompt = program.Content("refund").value_or(world.prompt);
  world.today = program.Read(Boundary::kClock, "today");
  const std::string begin = program.Model(kStart);
  if (begin.starts_with("DIVERGED")) {
    program.Finish("", schema::EndState::kError, "stopped");
    return session.Finish(replayer::kReplayTime);
  }
  world.order = program.Tool("lookup", R"({"order":"A-17"})");
  world.policy = program.Call({.boundary = Boundary::kRetrieval, .name = "kb", .request = "q"});
  program.Model(Decide(world, "begin"));
  program.Finish();
  return session.Finish(replayer::kReplayTime);
}

struct Outcomes {
  Explanation explanation;
  std::vector<Variable> variables;
  std::optional<bool> as_recorded;

  std::string Cause() const {
    std::string text(ToString(explanation.verdict));
    for (const size_t i : explanation.causes) text += ", " + NameOf(variables[i]);
    return text;
  }
};

// Two records of the program in these worlds, whose model says "wrong" to a phrase.
Outcomes ExplainWorlds(const World& incident, const World& reference, const std::string& phrase,
                       bool with_program = true, bool asks_for_its_prompt = true) {
  PhraseModel model(phrase);
  const schema::RecordedRun a = Record(incident, model);
  const schema::RecordedRun b = Record(reference, model);
  const auto calls = FindDecisiveCalls(a, b);
  if (!calls) return {};
  Outcomes outcomes;
  outcomes.variables = DifferencesOf(a, b, *calls, !with_program);
  const std::string wrong = rerun::ActionOf(schema::ViewModelCall(a.events[calls->incident]));
  const std::string right = rerun::ActionOf(schema::ViewModelCall(b.events[calls->reference]));
  ExperimentDoors doors;
  doors.target = &model;
  doors.judge = [&](const schema::ModelView& answer) -> absl::StatusOr<Judgement> {
    const std::string action = rerun::ActionOf(answer);
    return Judgement{action == wrong   ? Outcome::kIncident
                     : action == right ? Outcome::kReference
                                       : Outcome::kOther,
                     action};
  };
  if (with_program) {
    doors.replay = [&](const schema::RecordedRun& tape,
                       const std::vector<replayer::Override>& overrides) {
      return RunProgram(tape, overrides, asks_for_its_prompt);
    };
  }
  RecordedExperiment experiment({&a, &b, *calls}, outcomes.variables, std::move(doors));
  outcomes.explanation =
      Explain(outcomes.variables, EvidenceOf(a.events[calls->incident], b.events[calls->reference]),
              &experiment);
  outcomes.as_recorded = experiment.comes_to_recorded_request();
  return outcomes;
}

// All that can differ, so that each cause has four others to hide among.
const World kThen = {
    .today = 2, .order = "1200", .policy = "q", .prompt = "be brief", .seed = "77"};

TEST(RecordedExperiment, NamesWhatWasPlantedInAProgramAmongFiveDifferences) {
  EXPECT_EQ(ExplainWorlds(kThen, {}, "day 2").Cause(), "cause, clock today");
  EXPECT_EQ(ExplainWorlds(kThen, {}, "order 1200").Cause(), "cause, tool answer lookup");
  EXPECT_EQ(ExplainWorlds(kThen, {}, "policy q").Cause(), "cause, retrieval kb");
  EXPECT_EQ(ExplainWorlds(kThen, {}, "be brief").Cause(),
            "cause, component prompt_template refund");
  EXPECT_EQ(ExplainWorlds(kThen, {}, R"("seed":77)").Cause(), "cause, sampling seed");
  EXPECT_EQ(ExplainWorlds(kThen, {}, "day 2 order 1200").Cause(),
            "causes, clock today, tool answer lookup");
}

TEST(RecordedExperiment, ArmZeroIsTheRecordedRequest) {
  const Outcomes outcomes = ExplainWorlds(kThen, {}, "day 2");
  EXPECT_EQ(outcomes.as_recorded, true);
  EXPECT_EQ(outcomes.explanation.unchanged.incident, outcomes.explanation.unchanged.done());
}

TEST(RecordedExperiment, AProgramThatKeepsItsOwnPromptIsNoExperiment) {
  const Outcomes outcomes = ExplainWorlds(kThen, {}, "be brief", true, false);
  EXPECT_EQ(outcomes.Cause(), "inconclusive");
  EXPECT_NE(outcomes.explanation.because.find("goes on with its own"), std::string::npos)
      << outcomes.explanation.because;
}

TEST(RecordedExperiment, WithoutAProgramThePartOfTheRequestIsNamed) {
  EXPECT_EQ(ExplainWorlds(kThen, {}, "day 2", false).Cause(), "cause, request part messages[1]");
  EXPECT_EQ(ExplainWorlds(kThen, {}, "be brief", false).Cause(), "cause, request part messages[0]");
  EXPECT_EQ(ExplainWorlds(kThen, {}, R"("seed":77)", false).Cause(), "cause, sampling seed");
}

TEST(RecordedExperiment, ACallBeforeTheDecisionIsAskedOnceForEachTry) {
  PhraseModel model("day 2");
  schema::RecordedRun a = Record(kThen, model);
  const schema::RecordedRun b = Record({}, model);
  // Its first call is not on the tape: another request was recorded there.
  a.events[1].request.bytes = R"({"model":"m","messages":[{"role":"user","content":"older"}]})";
  schema::RecordedRun c = b;
  c.events[1].request.bytes = a.events[1].request.bytes;
  const DecisiveCalls calls = *FindDecisiveCalls(a, c);
  const std::vector<Variable> variables = DifferencesOf(a, c, calls, false);
  ExperimentDoors doors;
  doors.target = &model;
  doors.replay = [](const schema::RecordedRun& tape,
                    const std::vector<replayer::Override>& overrides) {
    return RunProgram(tape, overrides, true);
  };
  doors.judge = [](const schema::ModelView& answer) -> absl::StatusOr<Judgement> {
    return Judgement{Outcome::kIncident, rerun::ActionOf(answer)};
  };
  RecordedExperiment experiment({&a, &c, calls}, variables, std::move(doors));
  const Trial trial = experiment.Run(Setting(variables.size(), false));
  EXPECT_EQ(trial.status, TrialStatus::kDone);
  EXPECT_EQ(trial.text, "answers wrong");
  EXPECT_EQ(model.asked, 2);
}

}  // namespace
}  // namespace reenact::explain
