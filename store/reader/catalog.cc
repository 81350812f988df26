#include "store/reader/catalog.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "store/reader/internal/catalog_db.h"
#include "store/reader/internal/incident_db.h"
#include "store/reader/internal/lock_file.h"

namespace reenact::store {

using internal::CatalogDb;
using internal::CatalogSegment;
using internal::SegmentSet;

namespace {

constexpr int64_t kLockWaitMs = 5000;

ModelCallRow RowOf(const schema::Event& event, const schema::ModelView& view) {
  ModelCallRow row{.run = event.run,
                   .sequence = event.sequence,
                   .started_wall_ns = event.started.wall_ns,
                   .asked_model = view.asked_model,
                   .served_model = view.served_model,
                   .fingerprint = view.system_fingerprint};
  for (const schema::Choice& choice : view.choices) {
    int64_t unknown = 0;
    row.near_ties += static_cast<int64_t>(
        schema::FindNearTies(choice.logprobs, schema::kNearTieNats, &unknown).size());
    row.margins_unknown += unknown;
    for (const schema::TokenLogprob& token : choice.logprobs.tokens) {
      ++row.logprob_tokens;
      if (!token.chosen.censored) row.logprob_sum_nats += token.chosen.logprob;
    }
  }
  return row;
}

// Puts the texts of events and runs into the index, each message of a run once.
class TextScan {
 public:
  TextScan(CatalogDb* db, int64_t segment) : db_(db), segment_(segment) {}

  absl::Status AddEvent(const schema::Event& event, const schema::ModelView& view) {
    internal::SeenMessages* seen = nullptr;
    if (event.boundary == schema::Boundary::kModel) {
      auto loaded = SeenOf(event.run);
      if (!loaded.ok()) return loaded.status();
      seen = *loaded;
    }
    for (const auto& document : internal::DocumentsOf(event, view, seen)) {
      absl::Status added =
          db_->AddDocument({segment_, event.run, event.sequence, event.started.wall_ns}, document);
      if (!added.ok()) return added;
    }
    return absl::OkStatus();
  }

  // Inputs and outputs of runs that begin or end behind `after_ordinal`.
  absl::Status AddRuns(SegmentReader* segment, const std::set<schema::Ulid>& had_input,
                       const std::set<schema::Ulid>& had_output) {
    return segment->ForEachRun(true, [&](RunRow row) {
      absl::Status added;
      const int64_t at_wall_ns = row.run.started.wall_ns;
      if (!had_input.contains(row.run.id))
        added = AddBody(row.run.id, at_wall_ns, internal::TextPlace::kInput, row.run.input);
      if (added.ok() && row.end && !had_output.contains(row.run.id))
        added = AddBody(row.run.id, at_wall_ns, internal::TextPlace::kOutput, row.end->output);
      return added;
    });
  }

  // What was seen now is remembered for the next segment of the same run.
  absl::Status SaveSeen() {
    for (const auto& [run, hashes] : seen_) {
      for (const uint64_t hash : hashes) {
        if (absl::Status added = db_->AddSeen(run, hash); !added.ok()) return added;
      }
    }
    return absl::OkStatus();
  }

  void ForgetEarlierMessages() { load_seen_ = false; }

 private:
  absl::Status AddBody(const schema::Ulid& run, int64_t at_wall_ns, internal::TextPlace place,
                       const schema::Body& body) {
    const std::string text = internal::ReadableText(body.bytes);
    if (text.empty()) return absl::OkStatus();
    return db_->AddDocument({segment_, run, 0, at_wall_ns}, {place, text});
  }

  absl::StatusOr<internal::SeenMessages*> SeenOf(const schema::Ulid& run) {
    const auto [there, is_new] = seen_.try_emplace(run);
    if (is_new && load_seen_) {
      auto loaded = db_->Seen(run);
      if (!loaded.ok()) return loaded.status();
      there->second = *std::move(loaded);
    }
    return &there->second;
  }

  CatalogDb* db_;
  int64_t segment_;
  bool load_seen_ = true;
  std::map<schema::Ulid, internal::SeenMessages> seen_;
};

// Runs whose input or output an earlier scan of this segment put into the index.
struct IndexedRuns {
  std::set<schema::Ulid> inputs;
  std::set<schema::Ulid> outputs;
};

}  // namespace

struct Catalog::Impl {
  // Failures of the catalog itself, told apart from those of segments: they end in another catalog.
  absl::Status db_failure;

  absl::Status Kept(absl::Status status) {
    db_failure.Update(status);
    return status;
  }

  template <typename Value>
  absl::StatusOr<Value> Kept(absl::StatusOr<Value> value) {
    db_failure.Update(value.status());
    return value;
  }

  absl::Status UpdateParts(SegmentSet* segments);
  absl::Status UpdateText(SegmentSet* segments);
  absl::Status ScanSegmentParts(SegmentSet* segments, SegmentReader& segment, CatalogSegment entry);
  absl::Status ScanSegmentText(SegmentReader& segment, CatalogSegment entry);
  absl::Status IndexPromoted(SegmentSet* segments);
  absl::Status ForgetGone(const std::vector<std::string>& names);
  absl::StatusOr<IndexedRuns> IndexedIn(const CatalogSegment& entry);
  // Runs `work` on the catalog under the lock; if the catalog itself fails, on a new file, and then
  // in memory.
  absl::Status Update(const std::function<absl::Status()>& work);
  void Replace(bool in_memory);

  std::string path;  // Empty: in memory.
  std::unique_ptr<CatalogDb> db;

  // Of unsealed segments: what changes without a row.
  struct Live {
    bool owner_alive = false;
    internal::RunParts open_calls;
  };

  std::map<std::string, Live> live;
};

void Catalog::Impl::Replace(bool in_memory) {
  db.reset();
  db_failure = absl::OkStatus();
  if (!in_memory && !path.empty()) {
    for (const char* suffix : {"", "-journal"}) unlink(absl::StrCat(path, suffix).c_str());
    if (auto opened = CatalogDb::Open(path); opened.ok()) db = *std::move(opened);
  }
  if (db != nullptr) return;
  path.clear();
  if (auto opened = CatalogDb::Open(""); opened.ok()) db = *std::move(opened);
}

absl::Status Catalog::Impl::Update(const std::function<absl::Status()>& work) {
  std::unique_ptr<internal::LockFile> lock;
  if (!path.empty()) {
    auto locked = internal::LockFile::Lock(absl::StrCat(path, ".lock"), kLockWaitMs);
    if (locked.ok())
      lock = *std::move(locked);
    else
      Replace(/*in_memory=*/true);
  }
  absl::Status done;
  for (const bool in_memory : {false, true}) {
    if (db == nullptr) Replace(in_memory);
    if (db == nullptr) return absl::ResourceExhaustedError("no memory for a catalog");
    done = work();
    if (db_failure.ok()) return done;
    db->Rollback();
    Replace(in_memory);
  }
  done = work();
  db_failure = absl::OkStatus();
  return done;
}

absl::Status Catalog::Impl::ForgetGone(const std::vector<std::string>& names) {
  const auto known = Kept(db->Segments());
  if (!known.ok()) return known.status();
  const std::set<std::string> present(names.begin(), names.end());
  for (const auto& [name, entry] : *known) {
    if (present.contains(name) || absl::StartsWith(name, kPromotedPrefix)) continue;
    if (absl::Status done = Kept(db->Begin()); !done.ok()) return done;
    if (absl::Status done = Kept(db->Forget(entry.id)); !done.ok()) return done;
    if (absl::Status done = Kept(db->Commit()); !done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::Status Catalog::Impl::ScanSegmentParts(SegmentSet* segments, SegmentReader& segment,
                                             CatalogSegment entry) {
  const SegmentInfo& info = segment.info();
  const auto row_count = segment.RowCount();
  if (!row_count.ok()) return row_count.status();
  if (!info.sealed) {
    Live& now = live[info.name];
    now = {.owner_alive = info.owner_alive, .open_calls = {}};
    if (absl::Status added = internal::AddOpenCalls(&segment, &now.open_calls); !added.ok())
      return added;
    if (entry.parts.row_count == *row_count) return absl::OkStatus();
  }
  if (absl::Status done = Kept(db->Begin()); !done.ok()) return done;
  // Fewer rows than were seen: another file took its place.
  if (*row_count < entry.parts.row_count) {
    if (absl::Status done = Kept(db->Forget(entry.id)); !done.ok()) return done;
    entry = CatalogSegment{.name = info.name};
  }
  if (absl::Status done = Kept(db->Put(&entry)); !done.ok()) return done;
  auto parts = Kept(db->Parts(entry.id));
  if (!parts.ok()) return parts.status();
  absl::Status scanned = internal::ScanParts(
      &segment, {.parts = &*parts,
                 .scanned_ordinal = &entry.parts.scanned_ordinal,
                 .on_event =
                     [&](const schema::Event& event, const schema::ModelView& view) {
                       if (event.boundary != schema::Boundary::kModel) return absl::OkStatus();
                       return Kept(db->AddModelCall(entry.id, RowOf(event, view)));
                     },
                 .damage = [&](std::string text) { segments->AddProblem(std::move(text)); }});
  if (scanned.ok() && info.sealed) scanned = internal::AddOpenCalls(&segment, &*parts);
  if (!scanned.ok()) return scanned;
  if (!info.grouped) {
    auto gaps = segment.Gaps(0);
    if (!gaps.ok()) return gaps.status();
    entry.gaps = *std::move(gaps);
  }
  entry.parts.row_count = *row_count;
  entry.parts.final = info.sealed;
  if (absl::Status done = Kept(db->PutParts(entry.id, *parts)); !done.ok()) return done;
  if (absl::Status done = Kept(db->Put(&entry)); !done.ok()) return done;
  return Kept(db->Commit());
}

absl::Status Catalog::Impl::UpdateParts(SegmentSet* segments) {
  live.clear();
  const std::vector<std::string> names = segments->Names();
  if (absl::Status done = ForgetGone(names); !done.ok()) return done;
  auto known = Kept(db->Segments());
  if (!known.ok()) return known.status();
  for (const std::string& name : names) {
    CatalogSegment entry = (*known)[name];
    if (entry.parts.final) continue;
    entry.name = name;
    absl::Status visited = segments->Visit(
        name, [&](SegmentReader& segment) { return ScanSegmentParts(segments, segment, entry); });
    if (visited.ok()) continue;
    if (!db_failure.ok() || !segments->is_folder()) return visited;
    db->Rollback();
    segments->AddProblem(std::string(visited.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<IndexedRuns> Catalog::Impl::IndexedIn(const CatalogSegment& entry) {
  IndexedRuns indexed;
  const auto matches = Kept(db->RunDocuments(entry.id));
  if (!matches.ok()) return matches.status();
  for (const TextMatch& match : *matches) {
    (match.place == internal::TextPlace::kInput ? indexed.inputs : indexed.outputs)
        .insert(match.run);
  }
  return indexed;
}

absl::Status Catalog::Impl::ScanSegmentText(SegmentReader& segment, CatalogSegment entry) {
  const auto row_count = segment.RowCount();
  if (!row_count.ok()) return row_count.status();
  if (entry.text.row_count == *row_count && !segment.info().sealed) return absl::OkStatus();
  if (absl::Status done = Kept(db->Begin()); !done.ok()) return done;
  if (*row_count < entry.text.row_count) {
    if (absl::Status done = Kept(db->ForgetText(entry.id)); !done.ok()) return done;
    entry.text = {};
  }
  if (absl::Status done = Kept(db->Put(&entry)); !done.ok()) return done;
  const auto indexed = IndexedIn(entry);
  if (!indexed.ok()) return indexed.status();
  TextScan text(db.get(), entry.id);
  internal::RunParts ignored;
  absl::Status scanned = internal::ScanParts(
      &segment,
      {.parts = &ignored,
       .scanned_ordinal = &entry.text.scanned_ordinal,
       .on_event = [&](const schema::Event& event,
                       const schema::ModelView& view) { return Kept(text.AddEvent(event, view)); },
       .damage = [](const std::string&) {}});
  if (scanned.ok()) scanned = text.AddRuns(&segment, indexed->inputs, indexed->outputs);
  if (!scanned.ok()) return scanned;
  entry.text.row_count = *row_count;
  entry.text.final = segment.info().sealed;
  if (absl::Status done = Kept(text.SaveSeen()); !done.ok()) return done;
  if (absl::Status done = Kept(db->Put(&entry)); !done.ok()) return done;
  return Kept(db->Commit());
}

// Runs that are only copies in incidents.db any more are found as well.
absl::Status Catalog::Impl::IndexPromoted(SegmentSet* segments) {
  if (!segments->is_folder()) return absl::OkStatus();
  auto incidents = internal::IncidentDb::OpenForReading(segments->layout().incidents());
  if (!incidents.ok()) return absl::OkStatus();  // Told by whoever needs them.
  const auto promoted = (*incidents)->PromotedParts();
  if (!promoted.ok()) return absl::OkStatus();
  const auto known = Kept(db->Segments());
  if (!known.ok()) return known.status();
  for (const auto& [run, part] : *promoted) {
    CatalogSegment entry{.name = absl::StrCat(kPromotedPrefix, ToString(run))};
    if (known->contains(entry.name)) continue;
    const auto bytes = (*incidents)->PromotedRun(run);
    if (!bytes.ok() || !bytes->has_value()) continue;
    auto copy = SegmentReader::OpenBytes(**bytes, "incidents.db");
    if (!copy.ok()) continue;
    if (absl::Status done = Kept(db->Begin()); !done.ok()) return done;
    if (absl::Status done = Kept(db->Put(&entry)); !done.ok()) return done;
    TextScan text(db.get(), entry.id);
    text.ForgetEarlierMessages();
    internal::RunParts ignored;
    int64_t scanned_ordinal = 0;
    absl::Status scanned = internal::ScanParts(
        copy->get(), {.parts = &ignored,
                      .scanned_ordinal = &scanned_ordinal,
                      .on_event =
                          [&](const schema::Event& event, const schema::ModelView& view) {
                            return Kept(text.AddEvent(event, view));
                          },
                      .damage = [](const std::string&) {}});
    if (scanned.ok()) scanned = text.AddRuns(copy->get(), {}, {});
    if (!db_failure.ok()) return scanned;
    if (absl::Status done = Kept(db->Commit()); !done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::Status Catalog::Impl::UpdateText(SegmentSet* segments) {
  const auto mostly_dead = Kept(db->IsMostlyDead());
  if (!mostly_dead.ok()) return mostly_dead.status();
  if (*mostly_dead) {
    Replace(path.empty());
    if (absl::Status done = UpdateParts(segments); !done.ok()) return done;
  }
  auto known = Kept(db->Segments());
  if (!known.ok()) return known.status();
  for (const std::string& name : segments->Names()) {
    CatalogSegment entry = (*known)[name];
    if (entry.text.final) continue;
    entry.name = name;
    absl::Status visited = segments->Visit(
        name, [&](SegmentReader& segment) { return ScanSegmentText(segment, entry); });
    if (visited.ok()) continue;
    if (!db_failure.ok() || !segments->is_folder()) return visited;
    db->Rollback();
    segments->AddProblem(std::string(visited.message()));
  }
  return IndexPromoted(segments);
}

Catalog::Catalog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Catalog::~Catalog() = default;

std::unique_ptr<Catalog> Catalog::Open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  auto db = CatalogDb::Open(path);
  if (db.ok()) {
    impl->db = *std::move(db);
  } else {
    // A newer version is somebody else's; one that may not be written is of no use.
    const bool damaged = absl::IsDataLoss(db.status());
    impl->Replace(/*in_memory=*/!damaged);
  }
  return std::unique_ptr<Catalog>(new Catalog(std::move(impl)));
}

bool Catalog::is_persistent() const {
  return !impl_->path.empty();
}

absl::StatusOr<std::vector<SegmentParts>> Catalog::Parts(SegmentSet* segments) {
  std::vector<SegmentParts> list;
  absl::Status updated = impl_->Update([&] {
    list.clear();
    if (absl::Status done = impl_->UpdateParts(segments); !done.ok()) return done;
    const auto known = impl_->Kept(impl_->db->Segments());
    if (!known.ok()) return known.status();
    for (const std::string& name : segments->Names()) {
      const auto entry = known->find(name);
      SegmentParts& parts = list.emplace_back();
      parts.segment = name;
      if (entry != known->end()) {
        auto kept = impl_->Kept(impl_->db->Parts(entry->second.id));
        if (!kept.ok()) return kept.status();
        parts.parts = *std::move(kept);
        parts.gaps = entry->second.gaps;
      }
      const auto live = impl_->live.find(name);
      if (live == impl_->live.end()) continue;
      parts.owner_alive = live->second.owner_alive;
      for (const auto& [run, open] : live->second.open_calls) {
        auto& unfinished = parts.parts[run].unfinished;
        unfinished.insert(unfinished.end(), open.unfinished.begin(), open.unfinished.end());
      }
    }
    return absl::OkStatus();
  });
  if (!updated.ok()) return updated;
  return list;
}

absl::StatusOr<std::vector<TextMatch>> Catalog::Search(SegmentSet* segments,
                                                       const std::string& words, int64_t limit) {
  const std::string query = internal::QuoteQuery(words);
  std::vector<TextMatch> matches;
  if (query.empty()) return matches;
  absl::Status updated = impl_->Update([&] {
    matches.clear();
    absl::Status done = impl_->UpdateParts(segments);
    if (done.ok()) done = impl_->UpdateText(segments);
    if (!done.ok()) return done;
    // A marked run may be there twice: in its segment, and as a copy.
    const auto found = impl_->Kept(impl_->db->Match(query, 2 * limit));
    if (!found.ok()) return found.status();
    std::set<std::tuple<schema::Ulid, uint64_t, internal::TextPlace>> told;
    for (const TextMatch& match : *found) {
      if (limit > 0 && static_cast<int64_t>(matches.size()) == limit) break;
      if (told.emplace(match.run, match.sequence, match.place).second) matches.push_back(match);
    }
    return absl::OkStatus();
  });
  if (!updated.ok()) return updated;
  return matches;
}

absl::StatusOr<std::vector<ModelCallRow>> Catalog::ModelCalls(SegmentSet* segments,
                                                              int64_t since_wall_ns,
                                                              int64_t until_wall_ns) {
  std::vector<ModelCallRow> calls;
  absl::Status updated = impl_->Update([&] {
    if (absl::Status done = impl_->UpdateParts(segments); !done.ok()) return done;
    auto found = impl_->Kept(impl_->db->ModelCalls(since_wall_ns, until_wall_ns));
    if (found.ok()) calls = *std::move(found);
    return found.status();
  });
  if (!updated.ok()) return updated;
  return calls;
}

}  // namespace reenact::store
