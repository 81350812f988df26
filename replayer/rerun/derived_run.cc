#include "replayer/rerun/derived_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schema/sha256.h"

namespace reenact::rerun {
namespace {

schema::Ulid DerivedId(const schema::Ulid& parent, schema::Moment now, size_t index) {
  schema::Sha256 hash;
  hash.Update(parent.AsBytes());
  hash.Update(std::to_string(now.wall_ns) + ":" + std::to_string(now.monotonic_ns) + ":" +
              std::to_string(index));
  const schema::Digest digest = hash.Finish();
  std::array<uint8_t, 10> entropy{};
  std::copy_n(digest.begin(), entropy.size(), entropy.begin());
  return schema::MakeUlid(now.wall_ns / 1'000'000, entropy);
}

}  // namespace

schema::RecordedRun DeriveRun(const schema::RecordedRun& tape, std::vector<schema::Event> events,
                              const Derivation& derivation) {
  const schema::Moment now = derivation.now;
  schema::RecordedRun derived;
  derived.run = tape.run;
  derived.run.id = DerivedId(tape.run.id, now, derivation.repetition);
  derived.run.parent = tape.run.id;
  derived.run.origin = schema::RunOrigin::kReplay;
  derived.run.input.salt.reset();
  derived.run.started = now;
  std::erase_if(derived.run.tags,
                [](const auto& tag) { return tag.first.starts_with("reenact."); });
  derived.run.tags.insert(derived.run.tags.end(), derivation.tags.begin(), derivation.tags.end());
  derived.events = std::move(events);
  for (schema::Event& event : derived.events) {
    event.run = derived.run.id;
    event.started = now;
    event.request.salt.reset();
    event.response.salt.reset();
  }
  derived.components = tape.components;
  for (schema::Component& component : derived.components) {
    component.at = now;
    component.content.salt.reset();
  }
  // What the run came to is the recorded program's doing; nobody ran it on these answers.
  derived.end = schema::RunEnd{.run = derived.run.id, .at = now};
  derived.state = schema::EndState::kComplete;
  return derived;
}

}  // namespace reenact::rerun
