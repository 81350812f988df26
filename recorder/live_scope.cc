#include "recorder/live_scope.h"

#include "recorder/system_clock.h"

namespace reenact::recorder {
namespace {

constinit LiveScope g_off_scope;

}  // namespace

LiveScope* OffScope() noexcept {
  return &g_off_scope;
}

reenact_disposition LiveScope::BeginCall(const reenact_call_info&, reenact_call** out) noexcept {
  *out = nullptr;
  return REENACT_LIVE;
}

reenact_code LiveScope::Now(std::string_view, int64_t* unix_ns) noexcept {
  *unix_ns = SystemWallNs();
  return REENACT_OK;
}

void LiveScope::Sleep(int64_t duration_ns) noexcept {
  SleepFor(duration_ns);
}

reenact_code LiveScope::RandomSeed(std::string_view, uint64_t* seed) noexcept {
  *seed = Random64();
  return REENACT_OK;
}

reenact_code LiveScope::WantLogprobs(std::string_view, int32_t* want) noexcept {
  *want = 0;
  return REENACT_OK;
}

reenact_code LiveScope::AddComponent(const reenact_component&) noexcept {
  return REENACT_OK;
}

reenact_code LiveScope::ComponentContent(const reenact_component&, reenact_bytes*) noexcept {
  return REENACT_OK;
}

reenact_code LiveScope::Tag(std::string_view, std::string_view) noexcept {
  return REENACT_OK;
}

reenact_code LiveScope::MarkIncident(const reenact_incident_info&) noexcept {
  return REENACT_OK;
}

reenact_code LiveScope::BeginChild(std::string_view, reenact_scope** out) noexcept {
  *out = this;
  return REENACT_OK;
}

void LiveScope::RunId(char out[27]) noexcept {
  out[0] = '\0';
}

void LiveScope::EndScope() noexcept {}

reenact_code LiveScope::EndRun(int32_t, std::string_view, std::string_view) noexcept {
  return REENACT_OK;
}

}  // namespace reenact::recorder
