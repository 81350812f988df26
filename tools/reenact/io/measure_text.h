// Numbers of statistics as they are printed: three significant digits, or the reason why there is
// none.

#ifndef REENACT_TOOLS_REENACT_IO_MEASURE_TEXT_H_
#define REENACT_TOOLS_REENACT_IO_MEASURE_TEXT_H_

#include <string>
#include <string_view>

#include "replayer/analysis/measure.h"
#include "tools/reenact/io/json_output.h"

namespace reenact::tools {

std::string MeasureText(const analysis::Measure& measure);     // "0.104", "insufficient_n"
std::string IntervalText(const analysis::Interval& interval);  // "[0.049, 0.131]"

// A number or, where there is none, null and a second field NAME_status.
void MeasureField(std::string_view name, const analysis::Measure& measure, JsonWriter* json);
// A list of two numbers, in the same way.
void IntervalField(std::string_view name, const analysis::Interval& interval, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_MEASURE_TEXT_H_
