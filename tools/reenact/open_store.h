// Which store a command speaks of, and opening it. The one place that reads the environment for it.

#ifndef REENACT_TOOLS_REENACT_OPEN_STORE_H_
#define REENACT_TOOLS_REENACT_OPEN_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/reader/incidents.h"
#include "store/reader/store_reader.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {

// How long a verb waits at its end for what it recorded to be on disk.
// Of a long stream, which is searched for secrets piece by piece, that can be a quarter of a
// minute.
inline constexpr int64_t kStoreDeadlineMs = 60'000;

struct StorePlace {
  std::string path;
  std::string chosen_by;  // "--store", "REENACT_STORE", "XDG_DATA_HOME", "the default".
};

// --store, else $REENACT_STORE, else $XDG_DATA_HOME/reenact, else ~/.local/share/reenact.
// Errors: InvalidArgument for a store on another machine; FailedPrecondition without a home.
absl::StatusOr<StorePlace> FindStore(const Context& context);

// The same failure, saying how the place was chosen.
absl::Status WithPlace(const absl::Status& status, const StorePlace& place);

// Opens it for reading. Errors: as StoreReader::Open; messages say how the place was chosen.
absl::StatusOr<std::unique_ptr<store::StoreReader>> OpenStore(const Context& context);

// Opens what marks runs as incidents. Errors: as Incidents::Open; messages say how the place was
// chosen.
absl::StatusOr<std::unique_ptr<store::Incidents>> OpenIncidentsOfStore(const Context& context);

// Finds a run by "last", id or unique prefix, and loads all of it: for `damaged` see LoadOptions.
absl::StatusOr<schema::RecordedRun> LoadRun(store::StoreReader* reader, const std::string& text,
                                            std::vector<store::DamagedBody>* damaged = nullptr);

// Notes the files of a store that could not be read: what is printed may lack what they hold.
void NoteProblems(const Context& context, const std::vector<std::string>& problems);
// Fail of a verb that looked for something in a store: it may lie where nothing could be read.
int FailReading(const Context& context, const store::StoreReader& reader,
                const absl::Status& status);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_OPEN_STORE_H_
