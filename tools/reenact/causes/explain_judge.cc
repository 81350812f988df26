#include "tools/reenact/causes/explain_judge.h"

#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"

#include "replayer/rerun/action.h"
#include "schema/model_view.h"

namespace reenact::tools {
namespace {

using explain::Judgement;
using explain::Outcome;

// Whether the command says that an answer, on its standard input, is wrong: exit status 0. Status 1
// is not wrong, and anything else judges nothing.
absl::StatusOr<bool> IsWrong(const std::string& command, const std::string& action) {
  const auto pipe = std::signal(SIGPIPE, SIG_IGN);  // It need not read all.
  FILE* input = popen(command.c_str(), "w");
  if (input == nullptr) return absl::UnavailableError("--wrong could not be started");
  std::fwrite(action.data(), 1, action.size(), input);
  std::fputc('\n', input);
  const int status = pclose(input);
  std::signal(SIGPIPE, pipe);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
  if (code > 1) {
    return absl::UnavailableError("--wrong ended with status " + std::to_string(code) +
                                  ": it must be 0 for wrong, 1 for not wrong");
  }
  return code == 0;
}

}  // namespace

explain::Judge JudgeByAction(std::string incident, std::string reference) {
  return [incident = std::move(incident), reference = std::move(reference)](
             const schema::ModelView& answer) -> absl::StatusOr<Judgement> {
    std::string action = rerun::ActionOf(answer);
    if (action.empty()) return absl::UnavailableError("the answer is not whole");
    const Outcome outcome = action == incident    ? Outcome::kIncident
                            : action == reference ? Outcome::kReference
                                                  : Outcome::kOther;
    return Judgement{outcome, std::move(action)};
  };
}

explain::Judge JudgeByCommand(const std::string& command) {
  return [command](const schema::ModelView& answer) -> absl::StatusOr<Judgement> {
    std::string action = rerun::ActionOf(answer);
    if (action.empty()) return absl::UnavailableError("the answer is not whole");
    const absl::StatusOr<bool> wrong = IsWrong(command, action);
    if (!wrong.ok()) return wrong.status();
    return Judgement{*wrong ? Outcome::kIncident : Outcome::kReference, std::move(action)};
  };
}

absl::Status CheckJudge(const explain::Judge& judge, const schema::Event& incident,
                        const schema::Event& reference) {
  const auto wrong = judge(schema::ViewModelCall(incident));
  if (!wrong.ok()) return wrong.status();
  const auto right = judge(schema::ViewModelCall(reference));
  if (!right.ok()) return right.status();
  if (wrong->outcome == Outcome::kIncident && right->outcome == Outcome::kReference) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      std::string("--wrong says of the incident that it is ") +
      (wrong->outcome == Outcome::kIncident ? "wrong" : "not wrong") +
      ", and of the reference that " +
      (right->outcome == Outcome::kIncident ? "it is wrong" : "it is not wrong"));
}

}  // namespace reenact::tools
