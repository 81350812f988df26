#include "tools/bench/cuda/measurements.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace reenact::bench {
namespace {

constexpr size_t kFirstColumn = 44;

std::string Padded(std::string text, size_t width, bool right) {
  const std::string spaces(width - std::min(width, text.size()), ' ');
  return right ? spaces + text : text + spaces;
}

std::string Decimal(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, number);
  return text;
}

// Names are the program's own and the driver's: quotes and backslashes are all that could be wrong.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) >= ' ') quoted += c;
  }
  return quoted + '"';
}

std::string BesideText(const Measurement& row) {
  if (row.beside.empty()) return "";
  if (row.measured->other <= 0) return row.beside + ": not measured";
  return row.beside + " " + Decimal(row.measured->other, 1) + " (" +
         Decimal(100 * row.measured->value / row.measured->other, 0) + " %)";
}

}  // namespace

double SecondsNow() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

void Measurements::BeginSection(const std::string& name, double budget_s) {
  section_ = name;
  section_end_ = std::min(end_, seconds_now_() + budget_s);
}

bool Measurements::HasTime() const {
  return !dry_run_ && seconds_now_() < section_end_;
}

void Measurements::Measure(const Measurement& what,
                           const std::function<std::optional<Measured>()>& run) {
  Measurement row = what;
  row.section = section_;
  if (dry_run_) {
    row.why_not = "dry run";
  } else if (!HasTime()) {
    row.why_not = "no time was left";
  } else {
    row.measured = run();
    if (!row.measured.has_value()) {
      row.why_not = "failed";
      any_failed_ = true;
    }
  }
  all_.push_back(row);
}

std::string TableOf(const Subject& subject, const std::vector<Measurement>& measurements) {
  std::string table = subject.device + "\n";
  if (!subject.checks.empty()) table += "checks\n";
  for (const std::string& check : subject.checks) table += "  " + check + "\n";
  std::string section;
  for (const Measurement& row : measurements) {
    if (row.section != section) table += row.section + "\n";
    section = row.section;
    table += "  " + Padded(row.what, kFirstColumn, false);
    if (row.measured.has_value()) {
      table += Padded(Decimal(row.measured->value, 1), 10, true) + " " +
               Padded(row.unit, 9, false) + BesideText(row);
    } else {
      table += Padded("-", 10, true) + " " + Padded(row.unit, 9, false) + row.why_not;
    }
    table.erase(table.find_last_not_of(' ') + 1);
    table += '\n';
  }
  return table;
}

std::string JsonOf(const Subject& subject, const std::vector<Measurement>& measurements) {
  std::string json = "{\"device\": " + Quoted(subject.device) + ", \"checks\": [";
  for (size_t i = 0; i < subject.checks.size(); ++i)
    json += (i == 0 ? "" : ", ") + Quoted(subject.checks[i]);
  json += "], \"measurements\": [";
  for (size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& row = measurements[i];
    json += std::string(i == 0 ? "" : ",") + "\n  {\"section\": " + Quoted(row.section) +
            ", \"what\": " + Quoted(row.what) + ", \"unit\": " + Quoted(row.unit);
    if (row.measured.has_value()) {
      json += ", \"value\": " + Decimal(row.measured->value, 6);
      if (!row.beside.empty() && row.measured->other > 0) {
        json += ", \"beside\": " + Quoted(row.beside) +
                ", \"other\": " + Decimal(row.measured->other, 6);
      }
    } else {
      json += ", \"not_measured\": " + Quoted(row.why_not);
    }
    json += "}";
  }
  return json + "\n]}\n";
}

}  // namespace reenact::bench
