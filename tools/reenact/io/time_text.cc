#include "tools/reenact/io/time_text.h"

#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace reenact::tools {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

std::string FormatUtc(const char* format, int64_t wall_ns) {
  return absl::FormatTime(format, absl::FromUnixNanos(wall_ns), absl::UTCTimeZone());
}

struct Unit {
  std::string_view name;
  int64_t size_ns;
};

constexpr Unit kUnits[] = {{"ms", 1'000'000}, {"s", kSecond}, {"m", kMinute}, {"min", kMinute},
                           {"h", kHour},      {"d", kDay},    {"w", 7 * kDay}};

std::optional<int64_t> ReadDuration(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
  double number = 0;
  if (!absl::SimpleAtod(absl::string_view(text.data(), digits), &number)) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(digits) != unit.name) continue;
    const double value = number * static_cast<double>(unit.size_ns);
    if (!(value < 9.2e18)) return std::nullopt;
    return static_cast<int64_t>(std::llround(value));
  }
  return std::nullopt;
}

absl::StatusOr<TimePoint> FromCivil(const std::string& text, absl::CivilSecond civil,
                                    const absl::TimeZone& zone, bool zone_written) {
  const absl::TimeZone::TimeInfo info = zone.At(civil);
  if (info.kind == absl::TimeZone::TimeInfo::SKIPPED) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the time \"", text, "\" does not exist in ", zone.name(),
        ": the clocks were put forward over it; write an instant, such as ",
        absl::FormatTime(absl::RFC3339_sec, info.trans, zone), " (the moment of the change)"));
  }
  if (info.kind == absl::TimeZone::TimeInfo::REPEATED) {
    return absl::InvalidArgumentError(
        absl::StrCat("the time \"", text, "\" exists twice in ", zone.name(), ": write ",
                     absl::FormatTime(absl::RFC3339_sec, info.pre, zone), " or ",
                     absl::FormatTime(absl::RFC3339_sec, info.post, zone)));
  }
  TimePoint point;
  point.wall_ns = absl::ToUnixNanos(info.pre);
  if (!zone_written) {
    point.note = absl::StrCat("\"", text, "\" was read in the local time zone, ", zone.name(), ": ",
                              absl::FormatTime(absl::RFC3339_sec, info.pre, zone));
  }
  return point;
}

bool ParseCivil(std::string_view text, absl::CivilSecond* civil) {
  const absl::string_view view(text.data(), text.size());
  if (absl::ParseCivilTime(view, civil)) return true;  // "2026-03-01T12:00:00"
  absl::CivilMinute minute;
  std::string with_t(text);
  if (with_t.size() > 10 && with_t[10] == ' ') with_t[10] = 'T';
  if (absl::ParseCivilTime(with_t, civil)) return true;
  if (absl::ParseCivilTime(with_t, &minute)) {
    *civil = absl::CivilSecond(minute);
    return true;
  }
  absl::CivilDay day;
  if (!absl::ParseCivilTime(view, &day)) return false;
  *civil = absl::CivilSecond(day);
  return true;
}

}  // namespace

std::string FormatSeconds(int64_t wall_ns) {
  return FormatUtc("%Y-%m-%dT%H:%M:%SZ", wall_ns);
}

std::string FormatMillis(int64_t wall_ns) {
  return FormatUtc("%Y-%m-%dT%H:%M:%E3SZ", wall_ns);
}

std::string FormatExact(int64_t wall_ns) {
  return FormatUtc("%Y-%m-%dT%H:%M:%E*SZ", wall_ns);
}

std::string FormatDuration(int64_t duration_ns) {
  char text[64];
  const auto value = static_cast<double>(duration_ns);
  if (duration_ns < 0)
    return "-" + FormatDuration(duration_ns == INT64_MIN ? INT64_MAX : -duration_ns);
  if (duration_ns < 1000) {
    std::snprintf(text, sizeof text, "%lld ns", static_cast<long long>(duration_ns));
  } else if (duration_ns < 1'000'000) {
    std::snprintf(text, sizeof text, "%.1f µs", value / 1e3);
  } else if (duration_ns < kSecond) {
    std::snprintf(text, sizeof text, "%.1f ms", value / 1e6);
  } else if (duration_ns < kMinute) {
    std::snprintf(text, sizeof text, "%.3f s", value / 1e9);
  } else if (duration_ns < kHour) {
    std::snprintf(text, sizeof text, "%lld min %02lld s",
                  static_cast<long long>(duration_ns / kMinute),
                  static_cast<long long>(duration_ns % kMinute / kSecond));
  } else if (duration_ns >= 3 * kDay) {
    std::snprintf(text, sizeof text, "%lld days", static_cast<long long>(duration_ns / kDay));
  } else {
    std::snprintf(text, sizeof text, "%lld h %02lld min",
                  static_cast<long long>(duration_ns / kHour),
                  static_cast<long long>(duration_ns % kHour / kMinute));
  }
  return text;
}

std::string FormatOffset(int64_t offset_ns) {
  char text[64];
  const char sign = offset_ns < 0 ? '-' : '+';
  const uint64_t size =
      offset_ns < 0 ? 0 - static_cast<uint64_t>(offset_ns) : static_cast<uint64_t>(offset_ns);
  if (size < static_cast<uint64_t>(kMinute)) {
    std::snprintf(text, sizeof text, "%c%.3f s", sign, static_cast<double>(size) / 1e9);
  } else {
    const uint64_t millis = size / 1'000'000;
    std::snprintf(text, sizeof text, "%c%llu:%02llu.%03llu", sign,
                  static_cast<unsigned long long>(millis / 60'000),
                  static_cast<unsigned long long>(millis / 1000 % 60),
                  static_cast<unsigned long long>(millis % 1000));
  }
  return text;
}

absl::StatusOr<TimePoint> ParseTimePoint(const std::string& text, int64_t now_ns,
                                         const absl::TimeZone& local) {
  if (const std::optional<int64_t> ago = ReadDuration(text)) {
    return TimePoint{.wall_ns = now_ns - *ago, .note = ""};
  }
  absl::Time instant;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &instant, &error)) {
    return TimePoint{.wall_ns = absl::ToUnixNanos(instant), .note = ""};
  }
  absl::CivilSecond civil;
  if (ParseCivil(text, &civil)) return FromCivil(text, civil, local, false);
  const size_t space = text.rfind(' ');
  if (space != std::string::npos && ParseCivil(text.substr(0, space), &civil)) {
    const std::string name = text.substr(space + 1);
    absl::TimeZone zone;
    if (!absl::LoadTimeZone(name, &zone)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is no time zone that this machine knows"));
    }
    return FromCivil(text, civil, zone, true);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is no time: write 2h or 3d (ago), 2026-03-01T12:00:00Z, 2026-03-01 or "
                   "\"2026-03-01 12:00 Europe/Berlin\""));
}

absl::StatusOr<int64_t> ParseDuration(const std::string& text) {
  if (const std::optional<int64_t> duration = ReadDuration(text)) return *duration;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no duration: write a number and one of ms, s, m, h, d, w, such as 90d"));
}

}  // namespace reenact::tools
