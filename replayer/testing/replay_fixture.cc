#include "replayer/testing/replay_fixture.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "replayer/internal/message_text.h"
#include "replayer/replay_server.h"
#include "store/reader/bundle.h"

namespace reenact::testing {
namespace {

using replayer::Divergence;
using replayer::ReplayReport;

// Of the bundle's meta; `reenact fixture add` writes them.
constexpr char kReviewed[] = "fixture.reviewed";
constexpr char kMaxAge[] = "fixture.max_age_s";
constexpr char kFingerprint[] = "fixture.fingerprint";

constexpr char kNoSocket[] = "/nonexistent/reenact-fixture-could-not-be-opened";

int64_t WallNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t MonotonicNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string Value(const schema::Tags& tags, const std::string& name) {
  for (const auto& [key, value] : tags) {
    if (key == name) return value;
  }
  return "";
}

// Why the fixture has outlived its max age, or its dates cannot be read; empty: neither.
std::string WhyStale(const schema::Tags& meta, int64_t now_wall_ns) {
  const std::string max_age = Value(meta, kMaxAge);
  const std::string reviewed = Value(meta, kReviewed);
  if (max_age.empty()) return "";
  int64_t max_age_s = 0;
  absl::Time reviewed_at;
  std::string error;
  if (!absl::SimpleAtoi(max_age, &max_age_s) || max_age_s < 0 ||
      !absl::ParseTime(absl::RFC3339_full, reviewed, &reviewed_at, &error)) {
    return "its dates cannot be read: " + std::string(kReviewed) + " " + replayer::Quote(reviewed) +
           ", " + kMaxAge + " " + replayer::Quote(max_age);
  }
  const absl::Duration age = absl::FromUnixNanos(now_wall_ns) - reviewed_at;
  if (age <= absl::Seconds(max_age_s)) return "";
  return "stale: last reviewed " + reviewed + ", more than its " + max_age + " seconds ago";
}

}  // namespace

struct ReplayFixture::Impl {
  std::string path;
  FixtureOptions options;
  schema::Tags meta;
  std::unique_ptr<replayer::ReplaySession> session;
  std::unique_ptr<replayer::ReplayServer> server;  // After the session: it ends first.
  std::string no_socket = kNoSocket;
  std::string nothing;
  bool verified = false;
  ReplayReport report;

  std::string Named(const std::string& problem) const { return "fixture " + path + ": " + problem; }

  void Open();
  void Judge() const;
};

void ReplayFixture::Impl::Open() {
  absl::StatusOr<store::Bundle> bundle = store::ReadBundle(path);
  if (!bundle.ok()) {
    ADD_FAILURE() << Named(bundle.status().ToString());
    return;
  }
  meta = std::move(bundle->meta);
  if (bundle->runs.empty() || bundle->runs.front().events.empty()) {
    ADD_FAILURE() << Named("empty: it holds no recorded event, so nothing could be compared");
    return;
  }
  const std::string why_stale =
      WhyStale(meta, options.now_wall_ns != 0 ? options.now_wall_ns : WallNow());
  if (!why_stale.empty()) ADD_FAILURE() << Named(why_stale);

  session =
      std::make_unique<replayer::ReplaySession>(std::move(bundle->runs.front()), options.replay);
  auto started = replayer::ReplayServer::Start(session.get());
  if (!started.ok()) {
    ADD_FAILURE() << Named(started.status().ToString());
    return;
  }
  server = *std::move(started);
}

void ReplayFixture::Impl::Judge() const {
  if (!report.bound) {
    ADD_FAILURE() << Named("unused: no run of entry " +
                           replayer::Quote(session->recorded_run().entry) +
                           " with the recorded input began");
  }
  for (const Divergence& divergence : report.divergences) {
    ADD_FAILURE() << Named(std::string(ToString(divergence.kind)) + ": " + MessageOf(divergence));
  }
  if (!report.bound || !report.divergences.empty()) return;
  if (report.verdict != replayer::Verdict::kReproduced) {
    ADD_FAILURE() << Named("inconclusive: " + report.inconclusive_because);
    return;
  }
  const std::string accepted = Value(meta, kFingerprint);
  if (options.replay.overrides.empty() && !accepted.empty() && accepted != report.fingerprint) {
    ADD_FAILURE() << Named("its fingerprint is " + report.fingerprint + ", accepted was " +
                           accepted);
  }
}

ReplayFixture::ReplayFixture(const std::string& path, const FixtureOptions& options)
    : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->options = options;
  impl_->Open();
}

ReplayFixture::~ReplayFixture() {
  Verify();
}

bool ReplayFixture::ok() const {
  return impl_->server != nullptr;
}

const std::string& ReplayFixture::entry() const {
  return ok() ? impl_->session->recorded_run().entry : impl_->nothing;
}

const std::string& ReplayFixture::input() const {
  return ok() ? impl_->session->recorded_run().input.bytes : impl_->nothing;
}

const std::string& ReplayFixture::socket_path() const {
  return ok() ? impl_->server->socket_path() : impl_->no_socket;
}

const ReplayReport& ReplayFixture::Verify() {
  if (impl_->verified || !ok()) return impl_->report;
  impl_->verified = true;
  impl_->session->NoteRelaxed("network not guarded: replayed inside a test process",
                              replayer::FidelityLevel::kR1);
  impl_->report = impl_->session->Finish({WallNow(), MonotonicNow()});
  impl_->Judge();
  return impl_->report;
}

}  // namespace reenact::testing
