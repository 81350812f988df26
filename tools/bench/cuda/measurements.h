// What a benchmark measured, as one table and as JSON, and the time that it may take.

#ifndef REENACT_TOOLS_BENCH_CUDA_MEASUREMENTS_H_
#define REENACT_TOOLS_BENCH_CUDA_MEASUREMENTS_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reenact::bench {

struct Measured {
  double value = 0;
  double other = 0;  // What `beside` had in the same run; 0 where there is none.
};

struct Measurement {
  std::string section;
  std::string what;
  std::string unit;
  std::string beside;                // What the value is compared with; may be empty.
  std::optional<Measured> measured;  // Else `why_not`.
  std::string why_not;
};

// Of a steady clock.
double SecondsNow();

// Runs what is measured, section by section, each in its own time.
class Measurements {
 public:
  // `seconds_now` is a steady clock; no section goes on beyond `limit_s` from now. A dry run
  // measures nothing, and lists all.
  Measurements(bool dry_run, double limit_s, std::function<double()> seconds_now)
      : dry_run_(dry_run), seconds_now_(std::move(seconds_now)), end_(seconds_now_() + limit_s) {}

  void BeginSection(const std::string& name, double budget_s);

  // Whether the section still has time. What takes long to make ready is left out without.
  bool HasTime() const;

  // The name of a measurement says its sizes. `run` gives nothing when it failed.
  void Measure(const Measurement& what, const std::function<std::optional<Measured>()>& run);

  const std::vector<Measurement>& all() const { return all_; }

  bool any_failed() const { return any_failed_; }

 private:
  bool dry_run_;
  std::function<double()> seconds_now_;
  double end_;
  std::string section_;
  double section_end_ = 0;
  std::vector<Measurement> all_;
  bool any_failed_ = false;
};

// What the measurements are of: a device, and what was checked on it before.
struct Subject {
  std::string device;
  std::vector<std::string> checks;  // In words, "operations: equal".
};

// One line each, with the share of what stands beside it.
std::string TableOf(const Subject& subject, const std::vector<Measurement>& measurements);

std::string JsonOf(const Subject& subject, const std::vector<Measurement>& measurements);

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_CUDA_MEASUREMENTS_H_
