#include "tests/support/fault_vfs.h"

#include <sqlite3.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>

namespace reenact::testing {
namespace {

struct State {
  sqlite3_vfs* real = nullptr;
  std::mutex mutex;
  std::condition_variable released;
  // Guarded by `mutex`.
  Fault fault = Fault::kNone;
  int64_t number = 0;
  int64_t calls = 0;
  bool persistent = false;
  bool struck = false;
  UnsyncedWrites unsynced;
};

State& TheState() {
  static State state;
  return state;
}

bool CutsPower(Fault fault) {
  return fault == Fault::kPowerCut || fault == Fault::kUntruePowerSync;
}

// What a call does to a file.
enum class Access : uint8_t { kRead, kWrite, kSync, kChange };

bool Concerns(Fault fault, Access access) {
  switch (fault) {
    case Fault::kNone:
      return false;
    case Fault::kAnyCall:
      return true;
    case Fault::kShortWrite:
    case Fault::kNoSpace:
    case Fault::kLostWrite:
      return access == Access::kWrite;
    case Fault::kSync:
      return access == Access::kSync;
    case Fault::kStall:
      return access == Access::kWrite || access == Access::kSync;
    case Fault::kPowerCut:
    case Fault::kUntruePowerSync:
      return access != Access::kRead;
  }
  return false;
}

// Counts a call and says what goes wrong with it; kNone: nothing.
Fault Strike(Access access) {
  State& state = TheState();
  std::unique_lock<std::mutex> lock(state.mutex);
  const Fault fault = state.fault;
  const bool is_dark = CutsPower(fault) && state.struck;
  if (is_dark) return fault;
  if (!Concerns(fault, access)) return Fault::kNone;
  ++state.calls;
  const bool strikes =
      state.calls == state.number || (state.persistent && state.calls > state.number);
  if (!strikes) return Fault::kNone;
  state.struck = true;
  if (fault != Fault::kStall) return fault;
  state.released.wait(lock, [&] { return state.fault != Fault::kStall; });
  return Fault::kNone;
}

// Calls `note` with the record of what a power cut would take, when one is armed.
template <typename Note>
void NoteChange(Note note) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (CutsPower(state.fault)) note(&state.unsynced);
}

// The real file lies behind this one, in the same allocation.
struct FaultFile {
  sqlite3_file base;
  const char* path;  // SQLite keeps it until the file is closed; null for a temporary file.

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* Real(sqlite3_file* file) {
  return reinterpret_cast<FaultFile*>(file)->real();
}

std::string PathOf(sqlite3_file* file) {
  const char* path = reinterpret_cast<FaultFile*>(file)->path;
  return path != nullptr ? path : "";
}

int Close(sqlite3_file* file) {
  return Real(file)->pMethods->xClose(Real(file));
}

int Read(sqlite3_file* file, void* to, int size, sqlite3_int64 at) {
  if (Strike(Access::kRead) != Fault::kNone) return SQLITE_IOERR_READ;
  return Real(file)->pMethods->xRead(Real(file), to, size, at);
}

int Write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  const sqlite3_io_methods* methods = Real(file)->pMethods;
  switch (Strike(Access::kWrite)) {
    case Fault::kNone:
      break;
    case Fault::kNoSpace:
      return SQLITE_FULL;
    case Fault::kLostWrite:
      return SQLITE_OK;
    case Fault::kShortWrite:
      (void)methods->xWrite(Real(file), from, size / 2, at);
      return SQLITE_IOERR_WRITE;
    default:
      return SQLITE_IOERR_WRITE;
  }
  NoteChange([&](UnsyncedWrites* unsynced) {
    const auto* bytes = static_cast<const char*>(from);
    unsynced->Write(PathOf(file), {bytes, static_cast<size_t>(size)}, at);
  });
  return methods->xWrite(Real(file), from, size, at);
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (Strike(Access::kChange) != Fault::kNone) return SQLITE_IOERR_TRUNCATE;
  NoteChange([&](UnsyncedWrites* unsynced) { unsynced->Truncate(PathOf(file), size); });
  return Real(file)->pMethods->xTruncate(Real(file), size);
}

int Sync(sqlite3_file* file, int flags) {
  if (Strike(Access::kSync) != Fault::kNone) return SQLITE_IOERR_FSYNC;
  NoteChange([&](UnsyncedWrites* unsynced) {
    if (TheState().fault == Fault::kPowerCut) unsynced->Sync(PathOf(file));
  });
  return Real(file)->pMethods->xSync(Real(file), flags);
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  if (Strike(Access::kRead) != Fault::kNone) return SQLITE_IOERR_FSTAT;
  return Real(file)->pMethods->xFileSize(Real(file), size);
}

int Lock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xLock(Real(file), level);
}

int Unlock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xUnlock(Real(file), level);
}

int CheckReservedLock(sqlite3_file* file, int* held) {
  return Real(file)->pMethods->xCheckReservedLock(Real(file), held);
}

int FileControl(sqlite3_file* file, int operation, void* argument) {
  return Real(file)->pMethods->xFileControl(Real(file), operation, argument);
}

int SectorSize(sqlite3_file* file) {
  return Real(file)->pMethods->xSectorSize(Real(file));
}

int DeviceCharacteristics(sqlite3_file* file) {
  return Real(file)->pMethods->xDeviceCharacteristics(Real(file));
}

int ShmMap(sqlite3_file* file, int region, int size, int extend, volatile void** to) {
  if (Strike(Access::kRead) != Fault::kNone) return SQLITE_IOERR_SHMMAP;
  return Real(file)->pMethods->xShmMap(Real(file), region, size, extend, to);
}

int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return Real(file)->pMethods->xShmLock(Real(file), offset, count, flags);
}

void ShmBarrier(sqlite3_file* file) {
  Real(file)->pMethods->xShmBarrier(Real(file));
}

int ShmUnmap(sqlite3_file* file, int remove) {
  return Real(file)->pMethods->xShmUnmap(Real(file), remove);
}

constexpr sqlite3_io_methods kMethods = {
    2,
    Close,
    Read,
    Write,
    Truncate,
    Sync,
    FileSize,
    Lock,
    Unlock,
    CheckReservedLock,
    FileControl,
    SectorSize,
    DeviceCharacteristics,
    ShmMap,
    ShmLock,
    ShmBarrier,
    ShmUnmap,
    nullptr,
    nullptr,
};

int Open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  auto* fault_file = reinterpret_cast<FaultFile*>(file);
  fault_file->base.pMethods = nullptr;
  fault_file->path = name;
  if (Strike(Access::kRead) != Fault::kNone) return SQLITE_CANTOPEN;
  constexpr int kJournals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
  const bool syncs_folder = (flags & kJournals) != 0 && (flags & SQLITE_OPEN_CREATE) != 0;
  if (name != nullptr) {
    NoteChange([&](UnsyncedWrites* unsynced) { unsynced->Open(name, syncs_folder); });
  }
  State& state = TheState();
  const int code = state.real->xOpen(state.real, name, fault_file->real(), flags, out_flags);
  if (fault_file->real()->pMethods != nullptr) fault_file->base.pMethods = &kMethods;
  return code;
}

int Delete(sqlite3_vfs*, const char* name, int sync_folder) {
  if (Strike(Access::kChange) != Fault::kNone) return SQLITE_IOERR_DELETE;
  NoteChange([&](UnsyncedWrites* unsynced) {
    unsynced->Delete(name, sync_folder != 0 && TheState().fault == Fault::kPowerCut);
  });
  State& state = TheState();
  return state.real->xDelete(state.real, name, sync_folder);
}

void Install() {
  static sqlite3_vfs vfs;
  State& state = TheState();
  if (state.real != nullptr) return;
  state.real = sqlite3_vfs_find(nullptr);
  vfs = *state.real;
  vfs.zName = "fault";
  vfs.szOsFile += static_cast<int>(sizeof(FaultFile));
  vfs.xOpen = Open;
  vfs.xDelete = Delete;
  sqlite3_vfs_register(&vfs, 1);
}

}  // namespace

void FaultVfs::Arm(Fault fault, int64_t number, bool persistent) {
  Install();
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.fault = fault;
  state.number = number;
  state.calls = 0;
  state.persistent = persistent;
  state.struck = false;
  state.unsynced.Forget();
}

void FaultVfs::Disarm() {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.fault = Fault::kNone;
  state.released.notify_all();
}

bool FaultVfs::Struck() {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return state.struck;
}

int64_t FaultVfs::Calls() {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return state.calls;
}

void FaultVfs::RestorePower(PowerCut cut, uint64_t seed) {
  Disarm();
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.unsynced.Restore(cut, seed);
  state.unsynced.Forget();
}

}  // namespace reenact::testing
