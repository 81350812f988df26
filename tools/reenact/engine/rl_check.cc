#include "tools/reenact/engine/rl_check.h"

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"

#include "schema/json_view.h"
#include "tools/reenact/exit_code.h"
#include "tools/reenact/io/measure_text.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {
namespace {

using schema::JsonValue;

absl::Status Wrong(size_t line, const std::string& what) {
  return absl::InvalidArgumentError("line " + std::to_string(line) + " " + what);
}

// Nothing: the member is no list of token ids.
std::optional<std::vector<int32_t>> TokensIn(const JsonValue& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<int64_t> id = list[i].is_number() ? list[i].AsInt64() : std::nullopt;
    if (!id || *id < 0 || *id > std::numeric_limits<int32_t>::max()) return std::nullopt;
    tokens.push_back(static_cast<int32_t>(*id));
  }
  return tokens;
}

std::optional<std::vector<double>> NumbersIn(const JsonValue& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<double> numbers;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<double> number = list[i].AsDouble();
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<std::vector<bool>> MaskIn(const JsonValue& list) {
  std::vector<bool> mask;
  if (!list.is_present() || list.is_null()) return mask;
  if (!list.is_array()) return std::nullopt;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<int64_t> number = list[i].AsInt64();
    const bool known = list[i].is_bool() || (number && (*number == 0 || *number == 1));
    if (!known) return std::nullopt;
    mask.push_back(list[i].is_bool() ? list[i].AsBool() : *number == 1);
  }
  return mask;
}

absl::StatusOr<TrainerSequence> ReadLine(std::string_view text, size_t line) {
  const auto document = schema::JsonDocument::Parse(text);
  if (document == nullptr || !document->root().is_object()) {
    return Wrong(line, "is no JSON object");
  }
  const JsonValue root = document->root();
  std::optional<std::vector<int32_t>> prompt = TokensIn(root["prompt_tokens"]);
  std::optional<std::vector<int32_t>> tokens = TokensIn(root["tokens"]);
  std::optional<std::vector<double>> logprobs = NumbersIn(root["logprobs"]);
  std::optional<std::vector<bool>> mask = MaskIn(root["mask"]);
  if (!prompt || prompt->empty()) return Wrong(line, "has no prompt_tokens: a list of token ids");
  if (!tokens) return Wrong(line, "has no tokens: a list of token ids");
  if (!logprobs) return Wrong(line, "has no logprobs: a list of numbers");
  if (!mask) return Wrong(line, "has a mask that is no list of true and false, or 1 and 0");
  if (logprobs->size() != tokens->size() || (!mask->empty() && mask->size() != tokens->size())) {
    return Wrong(line, "has lists of different lengths");
  }
  return TrainerSequence{*std::move(prompt), *std::move(tokens), *std::move(logprobs),
                         *std::move(mask)};
}

}  // namespace

absl::StatusOr<std::vector<TrainerSequence>> ReadTrainerFile(std::string_view text) {
  std::vector<TrainerSequence> sequences;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (part.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    absl::StatusOr<TrainerSequence> sequence = ReadLine(part, line);
    if (!sequence.ok()) return sequence.status();
    sequences.push_back(*std::move(sequence));
  }
  if (sequences.empty()) return absl::InvalidArgumentError("the file has no line of logprobs");
  return sequences;
}

analysis::ScoredSequence ToScored(const std::vector<float>& rollout,
                                  const TrainerSequence& trainer) {
  analysis::ScoredSequence scored;
  for (const float logprob : rollout) scored.rollout.push_back(static_cast<double>(logprob));
  for (const double logprob : trainer.logprobs) {
    scored.trainer.push_back(static_cast<double>(static_cast<float>(logprob)));
  }
  scored.mask = trainer.mask;
  return scored;
}

std::string RenderMismatch(const analysis::Mismatch& mismatch) {
  if (mismatch.status != analysis::Status::kOk) {
    return "nothing was compared: " + std::string(analysis::StatusName(mismatch.status)) + "\n";
  }
  std::string out = "tokens " + std::to_string(mismatch.tokens) + "  bitwise equal " +
                    std::to_string(mismatch.bitwise_equal) + "/" + std::to_string(mismatch.tokens) +
                    "  max|dlogp| " + MeasureText(mismatch.max_abs);
  if (mismatch.worst_token >= 0 && mismatch.max_abs.ok() && mismatch.max_abs.value() > 0) {
    out += " (sequence " + std::to_string(mismatch.worst_sequence) + " token " +
           std::to_string(mismatch.worst_token) + ")";
  }
  out += "  mean|dlogp| " + MeasureText(mismatch.mean_abs) + "\n";
  out += "KL(sampler||trainer): k1 " + MeasureText(mismatch.k1) + " (may be negative)  k3 " +
         MeasureText(mismatch.k3) + "  probs_diff mean " + MeasureText(mismatch.probs_diff_mean) +
         "\n";
  if (mismatch.invalid_rollout > 0) {
    out += Counted(mismatch.invalid_rollout, "token") +
           " left out: the sampler cannot have drawn "
           "it\n";
  }
  if (mismatch.impossible_in_trainer > 0) {
    out += Counted(mismatch.impossible_in_trainer, "token") + " impossible for the trainer\n";
  }
  return out + "level " + std::string(analysis::MismatchLevelName(mismatch.level)) + "\n";
}

void WriteMismatch(const analysis::Mismatch& mismatch, JsonWriter* json) {
  json->Key("mismatch");
  json->BeginObject();
  json->TextField("status", analysis::StatusName(mismatch.status));
  json->TextField("level", analysis::MismatchLevelName(mismatch.level));
  json->IntField("tokens", mismatch.tokens);
  json->IntField("bitwise_equal", mismatch.bitwise_equal);
  json->IntField("invalid_rollout", mismatch.invalid_rollout);
  json->IntField("impossible_in_trainer", mismatch.impossible_in_trainer);
  MeasureField("k1", mismatch.k1, json);
  MeasureField("k3", mismatch.k3, json);
  MeasureField("max_abs", mismatch.max_abs, json);
  MeasureField("mean_abs", mismatch.mean_abs, json);
  MeasureField("probs_diff_mean", mismatch.probs_diff_mean, json);
  json->IntField("worst_sequence", mismatch.worst_sequence);
  json->IntField("worst_token", mismatch.worst_token);
  json->IntField("first_unequal_sequence", mismatch.first_unequal_sequence);
  json->IntField("first_unequal_token", mismatch.first_unequal_token);
  json->EndObject();
}

int ExitCodeOf(const analysis::Mismatch& mismatch) {
  if (mismatch.status != analysis::Status::kOk) return kExitInconclusive;
  const bool fine = mismatch.level == analysis::MismatchLevel::kBitwise ||
                    mismatch.level == analysis::MismatchLevel::kAligned ||
                    mismatch.level == analysis::MismatchLevel::kHealthy;
  return fine ? kExitOk : kExitFinding;
}

}  // namespace reenact::tools
