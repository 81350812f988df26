#include "tools/reenact/io/measure_text.h"

#include <cstdio>

namespace reenact::tools {
namespace {

void StatusField(std::string_view name, analysis::Status status, JsonWriter* json) {
  json->NullField(name);
  json->TextField(std::string(name) + "_status", analysis::StatusName(status));
}

analysis::Status StatusOf(const analysis::Interval& interval) {
  if (!interval.lo.ok()) return interval.lo.status();
  return interval.hi.ok() ? interval.status : interval.hi.status();
}

}  // namespace

std::string MeasureText(const analysis::Measure& measure) {
  if (!measure.ok()) return std::string(analysis::StatusName(measure.status()));
  char text[48];
  std::snprintf(text, sizeof text, "%.3g", measure.value());
  return text;
}

std::string IntervalText(const analysis::Interval& interval) {
  const analysis::Status status = StatusOf(interval);
  if (status != analysis::Status::kOk) return std::string(analysis::StatusName(status));
  return "[" + MeasureText(interval.lo) + ", " + MeasureText(interval.hi) + "]";
}

void MeasureField(std::string_view name, const analysis::Measure& measure, JsonWriter* json) {
  if (measure.ok())
    json->RealField(name, measure.value());
  else
    StatusField(name, measure.status(), json);
}

void IntervalField(std::string_view name, const analysis::Interval& interval, JsonWriter* json) {
  const analysis::Status status = StatusOf(interval);
  if (status != analysis::Status::kOk) return StatusField(name, status, json);
  json->Key(name);
  json->BeginArray();
  json->Real(interval.lo.value());
  json->Real(interval.hi.value());
  json->EndArray();
}

}  // namespace reenact::tools
