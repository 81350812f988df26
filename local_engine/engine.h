// The local engine: loads an open-weight model and answers requests, many at once, with the bits
// that each has alone.
//
//   absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load("models/qwen3-0.6b", {});
//   absl::StatusOr<std::vector<int32_t>> prompt = (*engine)->EncodeText("Once upon a time");
//   absl::StatusOr<RequestId> id = (*engine)->Submit({.prompt = *prompt, .max_tokens = 64});
//   absl::StatusOr<Answer> answer = (*engine)->RunToEnd(*id);
//
// Bits: tokens, logprobs and KV bytes of a request depend on the weights, the request and its seed.
// They do not depend on what else is running, on the order of submission, on how a prompt was cut
// into chunks, on prefix-cache hits, on preemptions, or on any option below: that is the numerics
// profile "n1". The other one, "stock", is never silent: it imitates production kernels, whose bits
// follow the load, and records what they followed.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_H_
#define REENACT_LOCAL_ENGINE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/chat_template/chat_template.h"
#include "local_engine/engine/stock_schedule.h"
#include "local_engine/grammar/grammar.h"
#include "local_engine/numerics/sha256.h"
#include "local_engine/reference/sampler.h"

namespace reenact::local_engine {

enum class BackendKind {
  kCpu,        // The processor's vector units.
  kReference,  // The scalar definition of the profile: some hundred times slower.
  kCuda,       // An NVIDIA device; an error where there is none, or it cannot hold the model.
  kAuto,       // kCuda where that can be, else kCpu.
};

// What computes the steps of an engine.
struct EngineDevice {
  BackendKind backend = BackendKind::kCpu;  // Never kAuto.
  std::string name;                         // "CPU", "reference", "NVIDIA H200"
  std::string message;                      // Where kAuto came to be kCpu: why. Else empty.
};

enum class Profile {
  kN1,
  kStock,  // Only on kCpu, which kAuto is then. To summon an incident that load makes, and to
           // replay it.
};

struct EngineOptions {
  Profile profile = Profile::kN1;
  BackendKind backend = BackendKind::kCpu;
  // The next three are of kCpu.
  int32_t threads = 0;  // 0: one for each physical core; one for a model of a few megabytes.
  std::string isa;      // "avx512", "avx2", "neon", "plain"...; empty: the fastest there is.
  bool mmap = false;  // Leaves weights in their file in place of a packed copy: less memory of its
                      // own, a faster start, slower steps.
  int32_t max_positions = 4096;  // Of one sequence; no more than the model has.
  // Pages of 32 positions for keys and values; 0: room for four sequences of max_positions.
  int32_t page_count = 0;
  int32_t max_sequences = 64;  // That run at once.
  int32_t max_step_rows = 512;
  int32_t max_chunk_rows = 128;  // Of one sequence in a step.
  bool prefix_cache = true;
  int32_t prefix_hash_bits = 64;  // Fewer make collisions, which tests want.
  bool poison_pages = false;      // Fills a page with NaN when it is handed out.
  // A folder for digests of weights, by the identity of their files, so that not every start reads
  // all of them; empty: they are read. See weights/digest_cache.h.
  std::string digest_cache;
  bool verify_weights = false;  // Reads them, whatever the cache has, and corrects it.
  // Where a seed comes from when a request has none; empty: the system's randomness.
  std::function<uint64_t()> generate_seed;
  // Called by Load, on its thread, as the weights are read and made ready. Of the total, each byte
  // counts once for every time that it is read.
  std::function<void(int64_t done_bytes, int64_t total_bytes)> on_load_progress;
};

// What the answers of an engine are a function of, beside the request.
struct EngineIdentity {
  std::string profile;         // "n1" or "stock"
  std::string engine_version;  // Of the meaning of results, not of the release.
  std::string cache_type;      // "F32", "F16" or "BF16"
  Sha256Digest weights = {};   // The Merkle root over the tensors.
  Sha256Digest configuration = {};
  Sha256Digest rotary_tables = {};
  Sha256Digest tokenizer = {};      // Zero without one.
  Sha256Digest chat_template = {};  // Zero without one.

  // "n1-" or "stock-" and 16 hexadecimal digits over all of the above.
  std::string Fingerprint() const;
};

using RequestId = uint64_t;

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;
};

// The model's own log-probability of a token after those before it: of the raw logits, before bias,
// penalties, temperature and cuts.
struct TokenScore {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // The most probable first, equal ones by id.
};

enum class FinishReason { kStop, kLength, kCancelled, kError };

// What a step added to one sample.
struct Delta {
  RequestId request = 0;
  int32_t sample_index = 0;
  std::string_view text;  // Whole characters; may be empty while one is incomplete.
  std::optional<int32_t> token;
  const TokenScore* score = nullptr;   // Of the token, where logprobs were asked for.
  std::optional<FinishReason> finish;  // In the last delta of a sample.
};

struct Request {
  std::vector<int32_t> prompt;  // At least one token.
  // The first tokens of the output, given instead of sampled: a replay with their true logprobs.
  // The draws after them are those that sampling would have made there. Only the last of them can
  // end the sample.
  std::vector<int32_t> forced_tokens;
  int32_t max_tokens = 16;  // Of the output, the forced ones included; 0 for scoring alone.
  int32_t sample_count = 1;
  SamplingSettings sampling;
  std::vector<TokenBias> biases;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop_texts;  // Not part of the text; found across tokens.
  std::vector<int32_t> stop_tokens;     // Beside the model's own; no part of the text.
  bool ignore_end = false;              // The model's own end tokens are tokens like others.
  // What the output has to be; null: anything. A token that no text of the grammar can have there
  // is cut before anything else is done to the logits; logprobs stay the model's own. The model's
  // end token is possible where the text is complete, and a text that cannot go on ends the sample.
  // A text that max_tokens cuts off is a beginning of one. Goes without forced tokens.
  std::shared_ptr<const Grammar> form;
  bool logprobs = false;
  int32_t top_logprobs = 0;      // So many beside each chosen one; needs logprobs.
  bool prompt_logprobs = false;  // Of sample 0; the prompt's prefix is not taken from the cache.
  bool kv_digest = false;
  // Profile "stock": the record of an earlier sample, which is computed as it says, whatever runs
  // beside it, and without the prefix cache. For a request of one sample. Empty: the load decides.
  StockSchedule schedule;
  std::function<void(const Delta&)> on_delta;  // Called from Submit, Step, Cancel; calls no engine.
  // Called from Step after each part of the prompt of sample 0: tokens that are computed, found in
  // the prefix cache or not, and those to be computed in all. After a preemption it begins again.
  std::function<void(int32_t done_tokens, int32_t total_tokens)> on_prefill_progress;
};

struct Completion {
  FinishReason finish = FinishReason::kLength;
  absl::Status status;          // Of kError: what was not finite, and where.
  std::vector<int32_t> tokens;  // With the end or stop token, where one ended it.
  std::vector<TokenScore> scores;
  std::string text;
  std::string stop_text;         // That ended it; empty for another reason.
  int32_t cached_positions = 0;  // Of the prompt, found in the prefix cache when it first ran.
  int32_t preemptions = 0;
  int32_t most_co_resident = 0;  // The most sequences in a step that it was part of.
  // Over keys, then values, layer by layer, of every position but the last token's, as binary32:
  // where Request::kv_digest asked.
  Sha256Digest kv_digest = {};
  StockSchedule schedule;  // Of profile "stock"; empty in "n1".
};

struct Answer {
  uint64_t seed = 0;
  bool seed_generated = false;
  std::vector<TokenScore> prompt_scores;  // Of prompt[1], prompt[2]...
  std::vector<Completion> completions;    // One a sample.
};

// Proof that a path ran, rather than the intention that it should.
struct EngineCounters {
  int64_t steps = 0;
  int64_t rows = 0;
  int64_t prefill_rows = 0;      // Of a sequence that had more than one token to compute.
  int64_t decode_rows = 0;       // Of a sequence that had one.
  int64_t recomputed_rows = 0;   // Computed before, and lost to a preemption.
  int64_t chunks = 0;            // Parts of sequences that did not fit one step.
  int64_t mixed_steps = 0;       // With prefill and decode rows.
  int64_t most_co_resident = 0;  // Sequences in one step.
  int64_t cache_hit_pages = 0;
  int64_t cache_evictions = 0;
  int64_t hash_collisions = 0;  // Equal hashes that the comparison of tokens refused.
  int64_t preemptions = 0;
  int64_t cancellations = 0;
};

// Threads: one at a time. What says nothing of requests (identity, device, vocabulary_size,
// max_positions, end_tokens, chat_template, EncodeText, EncodeChat, PieceOf, BytesOf) may be called
// from any thread at any time.
class Engine {
 public:
  // A folder with config.json, safetensors and, where there are any, tokenizer.json,
  // tokenizer_config.json and chat_template.jinja; or a .gguf file. Without a tokenizer the engine
  // takes and gives token ids only. Reads all weights once for their digest, where no cache has it,
  // and packs a copy unless options say otherwise. Gives the calling thread the floating-point mode
  // of the profile. Errors: those of the readers; InvalidArgument for options; Unimplemented for an
  // instruction set that is not there; ResourceExhausted for want of memory; for kCuda those of
  // ChooseDevice (engine/choose_device.h), before the weights are read.
  static absl::StatusOr<std::unique_ptr<Engine>> Load(const std::string& path,
                                                      const EngineOptions& options);

  ~Engine();

  const EngineIdentity& identity() const;
  const EngineCounters& counters() const;
  const EngineDevice& device() const;
  int32_t vocabulary_size() const;
  // The most that the prompt and the output of a sample can have together.
  int32_t max_positions() const;
  // With which the model ends its answers.
  const std::vector<int32_t>& end_tokens() const;

  // The source of the model's chat template; empty without one.
  const std::string& chat_template() const;

  // A text as a prompt, special tokens put around and parsed. Errors: FailedPrecondition without a
  // tokenizer; those of Tokenizer::Encode.
  absl::StatusOr<std::vector<int32_t>> EncodeText(std::string_view text) const;

  // Messages through the model's chat template; the special tokens of `input` are filled in.
  // Errors: FailedPrecondition without a template; those of ChatTemplate::Render.
  absl::StatusOr<std::vector<int32_t>> EncodeChat(ChatTemplateInput input) const;

  // How the vocabulary spells a token; empty without a tokenizer.
  std::string PieceOf(int32_t token) const;

  // The bytes that a token adds to a text, as Tokenizer::BytesOf; empty without a tokenizer.
  std::string BytesOf(int32_t token) const;

  // Takes a request into the queue. InvalidArgument names the first value that is out of its range
  // or does not fit the engine.
  absl::StatusOr<RequestId> Submit(Request request);

  // One step over what is running; false when nothing is left to do. An error is the engine's own
  // (a floating-point mode); what goes wrong in a sample ends that sample alone.
  absl::StatusOr<bool> Step();

  // Ends a request's samples where they stand. NotFound for a request that is not there.
  absl::Status Cancel(RequestId id);

  // Takes the pages of a request's running samples, as a full KV cache does: they are computed
  // again. NotFound as above.
  absl::Status Preempt(RequestId id);

  // Whether every sample of a request has ended; true for one that is not there.
  bool IsFinished(RequestId id) const;

  // The answer of a finished request, which the engine forgets. NotFound, or FailedPrecondition
  // while it is not finished.
  absl::StatusOr<Answer> Take(RequestId id);

  // Steps until the request is finished, and takes it. Other requests advance too.
  absl::StatusOr<Answer> RunToEnd(RequestId id);

 private:
  struct Parts;

  explicit Engine(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_H_
