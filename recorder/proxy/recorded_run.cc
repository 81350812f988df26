#include "recorder/proxy/recorded_run.h"

#include <charconv>
#include <optional>
#include <utility>

#include "schema/trace_context.h"

namespace reenact::proxy {
namespace {

constexpr std::chrono::seconds kRetryWindow(120);
constexpr size_t kRememberedCalls = 4096;

std::optional<uint32_t> ParseCount(std::string_view text) {
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return count;
}

}  // namespace

// --- AttemptBook ---

AttemptBook::Attempt AttemptBook::Begin(uint64_t fingerprint, std::string_view said,
                                        SteadyTime now) {
  Forget(now);
  const auto found = entries_.find(fingerprint);
  const bool known = found != entries_.end() && now - found->second.at < kRetryWindow;
  const std::optional<uint32_t> count = ParseCount(said);
  const bool again = count ? *count > 0 && known : known && found->second.failed;
  Attempt attempt;
  attempt.call = again ? found->second.last.call : ++calls_;
  attempt.attempt = count ? *count : again ? found->second.last.attempt + 1 : 0;
  entries_[fingerprint] = {attempt, false, now};
  return attempt;
}

void AttemptBook::End(uint64_t fingerprint, bool failed, SteadyTime now) {
  const auto found = entries_.find(fingerprint);
  if (found == entries_.end()) return;
  found->second.failed = failed;
  found->second.at = now;
}

void AttemptBook::Forget(SteadyTime now) {
  if (entries_.size() < kRememberedCalls) return;
  std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.at > kRetryWindow; });
  if (entries_.size() >= kRememberedCalls) entries_.clear();
}

// --- RecordedRun, RunBook ---

RecordedRun::~RecordedRun() {
  if (run_ == &own_) own_.Finish();
}

RunBook::RunBook(Recorder* recorder, Run* only, Tags tags)
    : recorder_(recorder),
      tags_(std::move(tags)),
      only_(only == nullptr ? nullptr : std::make_shared<RecordedRun>(only)) {}

std::shared_ptr<RecordedRun> RunBook::RunOf(const Headers& request, uint64_t connection,
                                            SteadyTime now) {
  if (only_) return only_;
  RunInfo info;
  info.entry = "proxy";
  info.tags = tags_;
  std::string key;
  const std::string_view name = FindHeader(request, "x-reenact-run");
  info.trace_id = schema::ParseTraceId(FindHeader(request, "traceparent"));
  if (!name.empty()) {
    key = "n" + std::string(name);
    info.tags.emplace_back("x-reenact-run", name);
  } else if (!info.trace_id.empty()) {
    key = "t" + info.trace_id;
  } else {
    key = "c" + std::to_string(connection);
  }
  Entry& entry = runs_[key];
  entry.used = now;
  if (!entry.run) {
    entry.run = std::make_shared<RecordedRun>(recorder_->StartRun(info));
    ++runs_begun_;
  }
  return entry.run;
}

void RunBook::ForgetConnection(uint64_t connection) {
  runs_.erase("c" + std::to_string(connection));
}

void RunBook::ForgetIdle(SteadyTime now, std::chrono::seconds idle) {
  std::erase_if(runs_, [&](const auto& entry) {
    return entry.first[0] != 'c' && entry.second.run.use_count() == 1 &&
           now - entry.second.used > idle;
  });
}

}  // namespace reenact::proxy
