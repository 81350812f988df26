#include "tools/reenact/open_store.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "store/store_layout.h"

namespace reenact::tools {
namespace {

const char* NonEmpty(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

absl::Status Annotated(const absl::Status& status, const std::string& more) {
  return absl::Status(status.code(), absl::StrCat(status.message(), more));
}

}  // namespace

absl::Status WithPlace(const absl::Status& status, const StorePlace& place) {
  if (place.chosen_by == "--store") return status;
  return Annotated(
      status, absl::StrCat(" (the place comes from ", place.chosen_by, "; --store names another)"));
}

absl::StatusOr<StorePlace> FindStore(const Context& context) {
  const char* from_environment = NonEmpty("REENACT_STORE");
  const char* xdg_data_home = NonEmpty("XDG_DATA_HOME");
  const char* home = NonEmpty("HOME");
  StorePlace place;
  if (!context.store.empty()) {
    place = {context.store, "--store"};
  } else if (from_environment != nullptr) {
    place = {from_environment, "REENACT_STORE"};
  } else if (xdg_data_home == nullptr && home == nullptr) {
    return absl::FailedPreconditionError(
        "no store: neither REENACT_STORE nor XDG_DATA_HOME nor HOME is set; name one with --store");
  } else {
    place = {store::DefaultStorePath(nullptr, xdg_data_home, home),
             xdg_data_home != nullptr ? "XDG_DATA_HOME" : "the default"};
  }
  const size_t scheme = place.path.find("://");
  if (scheme != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("store \"", place.path.substr(0, scheme), "://…\" (from ", place.chosen_by,
                     ") is not supported: name a folder or a bundle file with --store"));
  }
  return place;
}

absl::StatusOr<std::unique_ptr<store::StoreReader>> OpenStore(const Context& context) {
  absl::StatusOr<StorePlace> place = FindStore(context);
  if (!place.ok()) return place.status();
  auto reader = store::StoreReader::Open(place->path);
  if (!reader.ok()) return WithPlace(reader.status(), *place);
  return reader;
}

absl::StatusOr<std::unique_ptr<store::Incidents>> OpenIncidentsOfStore(const Context& context) {
  absl::StatusOr<StorePlace> place = FindStore(context);
  if (!place.ok()) return place.status();
  auto incidents = store::Incidents::Open(place->path);
  if (!incidents.ok()) return WithPlace(incidents.status(), *place);
  return incidents;
}

absl::StatusOr<schema::RecordedRun> LoadRun(store::StoreReader* reader, const std::string& text,
                                            std::vector<store::DamagedBody>* damaged) {
  absl::StatusOr<schema::Ulid> run = reader->ResolveRun(text);
  if (absl::IsNotFound(run.status())) {
    return Annotated(run.status(), "; `reenact list` shows the runs that there are");
  }
  if (!run.ok()) return run.status();
  return reader->LoadRun(*run, {.bodies = true, .damaged = damaged});
}

void NoteProblems(const Context& context, const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) Note(context, problem);
  if (!problems.empty()) {
    Note(context, "what these files hold may be missing here; `reenact verify` says more");
  }
}

int FailReading(const Context& context, const store::StoreReader& reader,
                const absl::Status& status) {
  NoteProblems(context, reader.problems());
  if (absl::IsDataLoss(status)) {
    // Where `show` is what fails, it has nothing to show.
    const char* const elsewhere =
        context.verb == "show" ? "" : ", `reenact show` shows what is whole";
    return Fail(context,
                Annotated(status, absl::StrCat("; `reenact verify` says more", elsewhere)));
  }
  if (!absl::IsNotFound(status) || reader.problems().empty()) return Fail(context, status);
  return Fail(context, Annotated(status, "; it may lie in what could not be read: " +
                                             reader.problems().front()));
}

}  // namespace reenact::tools
