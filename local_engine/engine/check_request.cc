#include "local_engine/engine/check_request.h"

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "absl/status/status.h"

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

constexpr int32_t kMostSamples = 128;
constexpr size_t kMostStopTexts = 64;

absl::Status Refuse(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

absl::Status CheckRange(const char* name, float value, float lowest, float highest) {
  if (is_finite(value) && value >= lowest && value <= highest) return absl::OkStatus();
  return Refuse(std::string(name) + " " + std::to_string(value) + " is not within " +
                std::to_string(lowest) + " ... " + std::to_string(highest));
}

absl::Status CheckTokens(const char* name, std::span<const int32_t> tokens, int32_t size) {
  for (int32_t token : tokens) {
    if (token >= 0 && token < size) continue;
    return Refuse(std::string(name) + " " + std::to_string(token) + " is not in a vocabulary of " +
                  std::to_string(size));
  }
  return absl::OkStatus();
}

// The ranges keep every rewritten logit finite, for any logit of a sane model.
absl::Status CheckSampling(const SamplingSettings& sampling) {
  absl::Status status;
  if (sampling.temperature != 0.0f) {
    status.Update(CheckRange("temperature", sampling.temperature, 1e-4f, 1e4f));
  }
  status.Update(CheckRange("top_p", sampling.top_p, 0.0f, 1.0f));
  status.Update(CheckRange("min_p", sampling.min_p, 0.0f, 1.0f));
  status.Update(CheckRange("repetition penalty", sampling.repetition_penalty, 1e-4f, 1e4f));
  status.Update(CheckRange("presence penalty", sampling.presence_penalty, -1e4f, 1e4f));
  status.Update(CheckRange("frequency penalty", sampling.frequency_penalty, -1e4f, 1e4f));
  if (sampling.top_k < 0) status.Update(Refuse("top_k is negative"));
  return status;
}

absl::Status CheckBiases(const Request& request, int32_t vocabulary_size) {
  std::set<int32_t> seen;
  for (const TokenBias& entry : request.biases) {
    absl::Status status = CheckTokens("biased token", {&entry.token_id, 1}, vocabulary_size);
    status.Update(CheckRange("bias", entry.bias, -1e4f, 1e4f));
    if (!status.ok()) return status;
    if (!seen.insert(entry.token_id).second) {
      return Refuse("token " + std::to_string(entry.token_id) + " is biased twice");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCounts(const Request& request, const RequestLimits& limits) {
  if (request.prompt.empty()) return Refuse("the prompt has no token");
  if (request.sample_count < 1 || request.sample_count > kMostSamples) {
    return Refuse("the number of samples is not within 1 ... " + std::to_string(kMostSamples));
  }
  if (request.max_tokens < 0 ||
      request.max_tokens < static_cast<int64_t>(request.forced_tokens.size())) {
    return Refuse("max_tokens " + std::to_string(request.max_tokens) + " is less than the " +
                  std::to_string(request.forced_tokens.size()) + " forced tokens");
  }
  const int64_t positions = static_cast<int64_t>(request.prompt.size()) + request.max_tokens;
  if (positions > limits.max_positions) {
    return Refuse("a prompt of " + std::to_string(request.prompt.size()) + " tokens and " +
                  std::to_string(request.max_tokens) + " more do not fit " +
                  std::to_string(limits.max_positions) + " positions");
  }
  if (request.top_logprobs < 0 || request.top_logprobs > limits.vocabulary_size) {
    return Refuse("top_logprobs is not within the vocabulary");
  }
  return absl::OkStatus();
}

absl::Status CheckStops(const Request& request) {
  if (request.stop_texts.size() > kMostStopTexts) {
    return Refuse("more than " + std::to_string(kMostStopTexts) + " stop texts");
  }
  for (const std::string& stop : request.stop_texts) {
    if (stop.empty()) return Refuse("a stop text is empty");
    // The text is held back from where a stop text may begin, which has to be a whole character.
    if ((static_cast<unsigned char>(stop[0]) & 0xc0) == 0x80) {
      return Refuse("a stop text begins inside a character");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckForm(const Request& request, bool has_text) {
  if (request.form == nullptr) return absl::OkStatus();
  if (!has_text) return Refuse("a form needs a tokenizer");
  if (!request.forced_tokens.empty()) return Refuse("a form goes without forced tokens");
  return absl::OkStatus();
}

absl::Status CheckSchedule(const Request& request, bool is_taken) {
  if (request.schedule.empty()) return absl::OkStatus();
  if (!is_taken) return Refuse("a schedule is of profile \"stock\" alone");
  if (request.sample_count != 1) return Refuse("a schedule is that of one sample");
  return CheckStockSchedule(request.schedule);
}

}  // namespace

absl::Status CheckRequest(const Request& request, const RequestLimits& limits) {
  absl::Status status = CheckCounts(request, limits);
  status.Update(CheckTokens("prompt token", request.prompt, limits.vocabulary_size));
  status.Update(CheckTokens("forced token", request.forced_tokens, limits.vocabulary_size));
  status.Update(CheckTokens("stop token", request.stop_tokens, limits.vocabulary_size));
  status.Update(CheckSampling(request.sampling));
  status.Update(CheckBiases(request, limits.vocabulary_size));
  status.Update(CheckStops(request));
  status.Update(CheckForm(request, limits.has_text));
  status.Update(CheckSchedule(request, limits.takes_schedules));
  return status;
}

}  // namespace reenact::local_engine
