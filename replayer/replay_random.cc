// Seeds, and decisions of the sampling policy: by name and position, so that a draw that is new in
// the program shifts no other.

#include "replayer/internal/session_state.h"

namespace reenact::replayer {

schema::Message SessionState::ReadRandom(const Address& address) {
  const Taken taken = TakeReading(address);
  if (taken.record == nullptr) return RefuseReading(address, taken, 0);
  KeepReading(address, taken, taken.record->value);
  return schema::Value{taken.record->value};
}

schema::Message SessionState::ReadEnv(const Address& address) {
  const Taken taken = TakeReading(address);
  if (taken.record == nullptr) return RefuseReading(address, taken, 0);
  KeepReading(address, taken, taken.record->value);
  return schema::Value{taken.record->value};
}

}  // namespace reenact::replayer
