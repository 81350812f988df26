#include "replayer/explain/envelope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace reenact::explain {
namespace {

using local_engine::StockSchedule;
using local_engine::StockSettings;

// Where two answers part; nothing where they are equal.
std::optional<size_t> PartingOf(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() && y == b.end()) return std::nullopt;
  return static_cast<size_t>(x - a.begin());
}

// `schedule` up to a position, and `settings` from there to the end.
StockSchedule ChangedAt(const StockSchedule& schedule, int32_t position, int32_t end,
                        const StockSettings& settings) {
  StockSchedule changed = local_engine::PartOfSchedule(schedule, 0, 0, position);
  local_engine::AppendToSchedule({position, end - position, settings}, &changed);
  return changed;
}

class Search {
 public:
  Search(const std::vector<NamedSettings>& settings, const EnvelopeOptions& options,
         const ScheduledModel& model)
      : settings_(settings),
        options_(options),
        model_(model),
        end_(options.prompt_tokens + options.max_tokens) {}

  absl::StatusOr<Envelope> Run() {
    for (const NamedSettings& one : settings_) {
      if (Stops()) {
        ++result_.not_visited;
        continue;
      }
      const absl::StatusOr<size_t> index =
          Visit({{.first_position = 0, .position_count = end_, .settings = one.settings}});
      if (!index.ok()) return index.status();
      result_.answers[*index].settings.push_back(one.name);
    }
    if (options_.noise_nats) result_.noise_nats = *options_.noise_nats;
    if (options_.branches) {
      for (size_t i = 0; i < result_.answers.size(); ++i) Open(i, 0);
      while (!open_.empty()) {
        if (Stops()) break;
        const Branch branch = Take();
        const absl::Status status = Follow(branch);
        if (!status.ok()) return status;
      }
    }
    result_.not_visited += static_cast<int64_t>(open_.size());
    result_.near_ties = static_cast<int64_t>(near_ties_.size());
    Compare();
    return std::move(result_);
  }

 private:
  struct Branch {
    size_t answer = 0;
    size_t token = 0;
    size_t settings = 0;
  };

  using Prefix = std::vector<int32_t>;

  bool Stops() const {
    return result_.runs - result_.known_runs >= options_.max_runs ||
           (options_.interrupted && options_.interrupted());
  }

  // Runs a schedule; the index of the answer that it reaches.
  absl::StatusOr<size_t> Visit(StockSchedule schedule) {
    absl::StatusOr<ScheduledAnswer> answer = model_(schedule);
    if (!answer.ok()) return answer.status();
    ++result_.runs;
    if (answer->is_known) ++result_.known_runs;
    Measure(*answer);
    for (size_t i = 0; i < result_.answers.size(); ++i) {
      ReachedAnswer& known = result_.answers[i];
      if (known.answer.tokens != answer->tokens) continue;
      ++known.runs;
      return i;
    }
    ReachedAnswer reached;
    reached.answer = *std::move(answer);
    reached.schedule = std::move(schedule);
    reached.runs = 1;
    result_.answers.push_back(std::move(reached));
    return result_.answers.size() - 1;
  }

  // What other settings did to margins after the same tokens.
  void Measure(const ScheduledAnswer& answer) {
    if (options_.noise_nats || result_.answers.empty()) return;
    const ScheduledAnswer& first = result_.answers.front().answer;
    const size_t common =
        std::min({PartingOf(first.tokens, answer.tokens).value_or(first.tokens.size()),
                  first.margins.size(), answer.margins.size()});
    for (size_t i = 0; i < common; ++i) {
      const double moved = std::fabs(first.margins[i] - answer.margins[i]);
      if (std::isfinite(moved)) result_.noise_nats = std::max(result_.noise_nats, moved);
      ++result_.noise_samples;
    }
  }

  // The near-ties of an answer from a token on, with every setting there is.
  void Open(size_t index, size_t from) {
    const ScheduledAnswer& answer = result_.answers[index].answer;
    for (size_t k = from; k < answer.margins.size(); ++k) {
      if (!(std::fabs(answer.margins[k]) < result_.noise_nats)) continue;
      const Prefix prefix(answer.tokens.begin(),
                          answer.tokens.begin() + static_cast<std::ptrdiff_t>(k));
      if (!near_ties_.insert(prefix).second) continue;
      for (size_t s = 0; s < settings_.size(); ++s) {
        open_.emplace(std::fabs(answer.margins[k]), Branch{index, k, s});
      }
    }
  }

  // The closest of those that are left.
  Branch Take() {
    const Branch branch = open_.begin()->second;
    open_.erase(open_.begin());
    return branch;
  }

  absl::Status Follow(const Branch& branch) {
    // Token k is picked where the one before it was computed.
    const int32_t position = options_.prompt_tokens - 1 + static_cast<int32_t>(branch.token);
    const size_t known = result_.answers.size();
    const absl::StatusOr<size_t> index =
        Visit(ChangedAt(result_.answers[branch.answer].schedule, position, end_,
                        settings_[branch.settings].settings));
    if (!index.ok()) return index.status();
    if (*index >= known) Open(*index, branch.token + 1);
    return absl::OkStatus();
  }

  void Compare() {
    for (size_t i = 1; i < result_.answers.size(); ++i) {
      const ScheduledAnswer& first = result_.answers.front().answer;
      ReachedAnswer& other = result_.answers[i];
      const size_t at = *PartingOf(first.tokens, other.answer.tokens);
      other.leaves_at = static_cast<int64_t>(at);
      if (at < first.margins.size()) other.margin_nats = first.margins[at];
    }
  }

  const std::vector<NamedSettings>& settings_;
  const EnvelopeOptions& options_;
  const ScheduledModel& model_;
  const int32_t end_;
  std::set<Prefix> near_ties_;
  std::multimap<double, Branch> open_;  // By margin, equal ones in the order of discovery.
  Envelope result_;
};

}  // namespace

std::vector<NamedSettings> SettingsOfLoads(const std::vector<int32_t>& cached_keys) {
  std::vector<NamedSettings> all;
  std::set<std::array<int32_t, 4>> seen;
  for (const int32_t cached : cached_keys) {
    for (int32_t rows = 1; rows <= 256; rows *= 2) {
      for (int32_t sequences = 1; sequences <= std::min(rows, 64); sequences *= 2) {
        for (const int32_t more : {rows, rows + rows / 2}) {
          if (more > 256) continue;
          const StockSettings settings = local_engine::ChooseStockSettings(
              {.step_rows = more, .step_sequences = sequences, .cached_keys = cached});
          // The number of rows itself enters no sum.
          if (!seen.insert({settings.split_k, settings.norm_block, settings.kv_splits, cached})
                   .second) {
            continue;
          }
          std::string name = std::to_string(more) + (more == 1 ? " row, " : " rows, ") +
                             std::to_string(sequences) +
                             (sequences == 1 ? " sequence" : " sequences");
          if (cached > 0) name += ", " + std::to_string(cached) + " keys cached";
          all.push_back({std::move(name), settings});
        }
      }
    }
  }
  return all;
}

absl::StatusOr<Envelope> FindEnvelope(const std::vector<NamedSettings>& settings,
                                      const EnvelopeOptions& options, const ScheduledModel& model) {
  return Search(settings, options, model).Run();
}

}  // namespace reenact::explain
