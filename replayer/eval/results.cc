#include "replayer/eval/results.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "nlohmann/json.hpp"
#include "replayer/eval/internal/foreign_results.h"

namespace reenact::eval {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kForm[] = "reenact.eval";
constexpr int kFormVersion = 1;

// Answers may hold any bytes.
std::string Line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string TextOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

ResultHeader ReadHeader(const Json& json) {
  ResultHeader header;
  header.name = TextOf(json, "name");
  header.mode = TextOf(json, "mode") == "A" ? Mode::kBitwise : Mode::kDistribution;
  header.target = TextOf(json, "target");
  header.model = TextOf(json, "model");
  header.cases = TextOf(json, "cases");
  header.grader = TextOf(json, "grader");
  header.source = TextOf(json, "source");
  header.repeats = json.value("repeats", int64_t{0});
  header.threshold = json.value("threshold", 1.0);
  header.invariant = json.value("invariant", false);
  return header;
}

SampleResult ReadSample(const Json& json) {
  SampleResult sample;
  sample.case_id = TextOf(json, "case");
  sample.repeat = json.value("repeat", int64_t{0});
  sample.status = TextOf(json, "status");
  if (json.contains("score") && json["score"].is_number()) sample.score = json["score"];
  sample.pass = json.value("pass", false);
  sample.answer = TextOf(json, "answer");
  sample.why = TextOf(json, "why");
  sample.served_model = TextOf(json, "served_model");
  sample.fingerprint = TextOf(json, "fingerprint");
  sample.response_id = TextOf(json, "response_id");
  if (json.contains("least_margin_nats") && json["least_margin_nats"].is_number())
    sample.least_margin_nats = json["least_margin_nats"];
  for (const Json& score : json.value("judge_scores", Json::array()))
    if (score.is_number()) sample.judge_scores.push_back(score);
  return sample;
}

absl::StatusOr<EvalResults> ReadOwn(std::string_view text) {
  EvalResults results;
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    ++number;
    if (line.empty()) continue;
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object()) {
      if (end == std::string_view::npos) break;  // Written when the power went.
      return absl::InvalidArgumentError(absl::StrCat("line ", number, " is no JSON object"));
    }
    try {
      if (number == 1)
        results.header = ReadHeader(json);
      else
        results.samples.push_back(ReadSample(json));
    } catch (const Json::exception&) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " has a field of another type"));
    }
  }
  return results;
}

// Cases in the order of their first sample; of one case and repeat, the last line.
void Settle(EvalResults* results) {
  std::map<std::string, size_t> order;
  for (const SampleResult& sample : results->samples) order.emplace(sample.case_id, order.size());
  std::map<std::pair<size_t, int64_t>, SampleResult> settled;
  for (SampleResult& sample : results->samples) {
    const std::pair key{order.at(sample.case_id), sample.repeat};
    settled.insert_or_assign(key, std::move(sample));
  }
  results->samples.clear();
  for (auto& [key, sample] : settled) results->samples.push_back(std::move(sample));
}

}  // namespace

std::string_view ToString(Mode mode) {
  return mode == Mode::kBitwise ? "A" : "B";
}

std::string HeaderLine(const ResultHeader& header) {
  Json json{{"form", kForm},
            {"version", kFormVersion},
            {"name", header.name},
            {"mode", ToString(header.mode)},
            {"target", header.target},
            {"model", header.model},
            {"cases", header.cases},
            {"grader", header.grader},
            {"repeats", header.repeats},
            {"threshold", header.threshold},
            {"invariant", header.invariant}};
  if (!header.source.empty()) json["source"] = header.source;
  return Line(json);
}

std::string SampleLine(const SampleResult& sample) {
  Json json{{"case", sample.case_id}, {"repeat", sample.repeat}, {"status", sample.status}};
  if (sample.score) json["score"] = *sample.score;
  json["pass"] = sample.pass;
  for (const auto& [name, text] :
       {std::pair{"answer", &sample.answer}, std::pair{"why", &sample.why},
        std::pair{"served_model", &sample.served_model},
        std::pair{"fingerprint", &sample.fingerprint},
        std::pair{"response_id", &sample.response_id}}) {
    if (!text->empty()) json[name] = *text;
  }
  if (sample.least_margin_nats) json["least_margin_nats"] = *sample.least_margin_nats;
  if (!sample.judge_scores.empty()) json["judge_scores"] = sample.judge_scores;
  return Line(json);
}

absl::StatusOr<EvalResults> ParseResults(std::string_view text) {
  const std::string_view first_line = text.substr(0, text.find('\n'));
  const Json head = Json::parse(first_line, nullptr, false);
  const bool is_own = head.is_object() && TextOf(head, "form") == kForm;
  if (is_own && head.value("version", Json()) != kFormVersion)
    return absl::FailedPreconditionError("results of a newer version of reenact");
  auto results = is_own ? ReadOwn(text) : internal::ReadForeignResults(text);
  if (!results.ok()) return results;
  Settle(&*results);
  if (results->samples.empty() && !is_own)
    return absl::InvalidArgumentError("there is no result in it");
  return results;
}

}  // namespace reenact::eval
