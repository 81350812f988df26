#include "tools/reenact/replay/fork_planner.h"

#include <optional>
#include <utility>

#include "recorder/proxy/own_answer.h"
#include "replayer/http/http_answer.h"
#include "schema/json_view.h"

namespace reenact::tools {
namespace {

constexpr int kRefused = 400;  // Clients try no such request again.

EndState EndOf(replayer::BodyEnd end) {
  switch (end) {
    case replayer::BodyEnd::kWhole:
      return EndState::kComplete;
    case replayer::BodyEnd::kCut:
      return EndState::kTruncated;
    case replayer::BodyEnd::kReset:
      return EndState::kReset;
    case replayer::BodyEnd::kOpen:
      return EndState::kAbandonedByCaller;
  }
  return EndState::kComplete;
}

proxy::GivenAnswer ToGiven(replayer::HttpAnswer answer) {
  proxy::GivenAnswer given;
  given.status = answer.status;
  given.headers = std::move(answer.headers);
  given.content_length = answer.content_length;
  given.end = EndOf(answer.end);
  // A body that came whole has the length that it has.
  if (given.content_length && given.end == EndState::kComplete) {
    given.content_length = answer.size();
  }
  for (replayer::BodyPiece& piece : answer.pieces) given.pieces.push_back(std::move(piece.bytes));
  return given;
}

bool NamesItsModel(std::string_view body) {
  const auto document = schema::JsonDocument::Parse(body);
  return document && document->root()["model"].is_string();
}

}  // namespace

ForkPlanner::ForkPlanner(replayer::ReplaySession* session, const schema::RecordedCommand& command,
                         ForkSettings settings)
    : desk_(session, command.routes), settings_(std::move(settings)) {
  counts_.edits_made.resize(settings_.edits.size());
}

proxy::RequestPlan ForkPlanner::Plan(const proxy::WholeRequest& request) {
  if (!request.is_kept) return Refuse("the request is too large to be compared with the tape");
  const replayer::HttpQuestion question{std::string(request.method), std::string(request.target),
                                        std::string(request.body)};
  if (desk_.SourceOf(question, settings_.point) == replayer::AnswerSource::kLive) {
    return GoLive(request);
  }
  return FromTape(question, request.kind->is_telemetry);
}

proxy::RequestPlan ForkPlanner::FromTape(const replayer::HttpQuestion& question,
                                         bool is_telemetry) {
  replayer::HttpReply reply = desk_.Ask(question);
  proxy::RequestPlan plan;
  plan.answer = ToGiven(std::move(reply.answer));
  plan.is_recorded = !is_telemetry;
  if (is_telemetry) return plan;
  const bool is_recorded_answer = reply.token != 0;
  plan.facts.emplace_back("answered_by", is_recorded_answer ? "tape" : "reenact");
  ++(is_recorded_answer ? counts_.from_tape : counts_.refused);
  if (is_recorded_answer) {
    plan.answer->done = [this, token = reply.token](uint64_t bytes, bool whole) {
      desk_.Done(token, bytes, whole);
    };
  }
  return plan;
}

proxy::RequestPlan ForkPlanner::GoLive(const proxy::WholeRequest& request) {
  proxy::RequestPlan plan;
  if (request.kind->boundary != schema::Boundary::kModel) {
    ++counts_.live_other;
    return plan;
  }
  std::string body(request.body);
  std::vector<schema::RequestEdit> made;
  const auto make = [&](schema::RequestEdit edit) {
    std::optional<std::string> edited = schema::ApplyEdit(body, &edit);
    if (!edited) return false;
    body = *std::move(edited);
    made.push_back(std::move(edit));
    return true;
  };
  if (!settings_.model.empty()) {
    // Never another model than the one that was asked for.
    if (!NamesItsModel(body)) return Refuse("--model: this call names its model in its URL");
    const std::string assignment = "model=\"" + settings_.model + "\"";
    if (!make(*schema::ParseRequestEdit(assignment))) return Refuse("--model: no such call");
    ++counts_.model_edits;
  }
  for (size_t i = 0; i < settings_.edits.size(); ++i) {
    if (make(settings_.edits[i])) ++counts_.edits_made[i];
  }
  ++counts_.live_model;
  if (made.empty()) return plan;
  plan.facts.emplace_back(schema::kRequestEditsFact, schema::EncodeEdits(made));
  plan.body = std::move(body);
  return plan;
}

proxy::RequestPlan ForkPlanner::Refuse(const std::string& why) {
  ++counts_.refused;
  const proxy::OwnAnswer own = proxy::MakeOwnError(kRefused, "not_forked", why);
  proxy::GivenAnswer given;
  given.status = own.status;
  for (const auto& [name, value] : own.headers) {
    if (!proxy::EqualsIgnoringCase(name, "content-length")) given.headers.emplace_back(name, value);
  }
  given.content_length = own.body.size();
  given.pieces.push_back(own.body);
  proxy::RequestPlan plan;
  plan.facts.emplace_back("answered_by", "reenact");
  plan.answer = std::move(given);
  return plan;
}

}  // namespace reenact::tools
