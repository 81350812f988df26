#include "tools/reenact/evidence/verified_store.h"

#include <cstdint>

#include "tools/reenact/io/progress.h"

namespace reenact::tools {

absl::StatusOr<StorePlace> PlaceToVerify(const std::string& path, const Context& context) {
  if (path.empty()) return FindStore(context);
  return StorePlace{.path = path, .chosen_by = "--store"};
}

absl::StatusOr<store::VerifyReport> VerifyPlace(const StorePlace& place, const Context& context) {
  Progress progress(context.progress, "verifying segments");
  auto report = store::VerifyStore(
      place.path, [&progress](int64_t done, int64_t total) { progress.Show(done, total); });
  if (!report.ok()) return WithPlace(report.status(), place);
  return report;
}

}  // namespace reenact::tools
