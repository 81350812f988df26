// The scope of a run that is not recorded: everything is live, nothing is kept.

#ifndef REENACT_RECORDER_LIVE_SCOPE_H_
#define REENACT_RECORDER_LIVE_SCOPE_H_

#include <string_view>

#include "recorder/handles.h"

namespace reenact::recorder {

class LiveScope : public reenact_scope {
 public:
  constexpr LiveScope() = default;

  bool replaying() const noexcept override { return false; }

  reenact_disposition BeginCall(const reenact_call_info& info,
                                reenact_call** out) noexcept override;
  reenact_code Now(std::string_view name, int64_t* unix_ns) noexcept override;
  void Sleep(int64_t duration_ns) noexcept override;
  reenact_code RandomSeed(std::string_view name, uint64_t* seed) noexcept override;
  reenact_code WantLogprobs(std::string_view name, int32_t* want) noexcept override;
  reenact_code AddComponent(const reenact_component& component) noexcept override;
  reenact_code ComponentContent(const reenact_component& own,
                                reenact_bytes* content) noexcept override;
  reenact_code Tag(std::string_view name, std::string_view value) noexcept override;
  reenact_code MarkIncident(const reenact_incident_info& info) noexcept override;
  reenact_code BeginChild(std::string_view key, reenact_scope** out) noexcept override;
  void RunId(char out[27]) noexcept override;
  void EndScope() noexcept override;
  reenact_code EndRun(int32_t end_state, std::string_view detail,
                      std::string_view output) noexcept override;
};

// The one that stands behind a null handle.
LiveScope* OffScope() noexcept;

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_LIVE_SCOPE_H_
