#include "tests/support/fault_vfs.h"

#include <sqlite3.h>

#include <cstddef>

namespace reenact::testing {
namespace {

struct State {
  sqlite3_vfs* real = nullptr;
  Fault fault = Fault::kNone;
  int64_t number = 0;
  int64_t calls = 0;
  bool persistent = false;
  bool struck = false;
};

State& TheState() {
  static State state;
  return state;
}

// Counts a call and says whether it goes wrong.
bool Strikes(Fault kind) {
  State& state = TheState();
  if (state.fault == Fault::kNone) return false;
  const bool concerned = state.fault == Fault::kAnyCall || state.fault == kind;
  if (!concerned) return false;
  ++state.calls;
  const bool strikes =
      state.calls == state.number || (state.persistent && state.calls > state.number);
  state.struck = state.struck || strikes;
  return strikes;
}

// The real file lies behind this one, in the same allocation.
struct FaultFile {
  sqlite3_file base;

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* Real(sqlite3_file* file) {
  return reinterpret_cast<FaultFile*>(file)->real();
}

int Close(sqlite3_file* file) {
  return Real(file)->pMethods->xClose(Real(file));
}

int Read(sqlite3_file* file, void* to, int size, sqlite3_int64 at) {
  if (Strikes(Fault::kAnyCall)) return SQLITE_IOERR_READ;
  return Real(file)->pMethods->xRead(Real(file), to, size, at);
}

int Write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  const sqlite3_io_methods* methods = Real(file)->pMethods;
  switch (TheState().fault) {
    case Fault::kShortWrite:
      if (!Strikes(Fault::kShortWrite)) break;
      (void)methods->xWrite(Real(file), from, size / 2, at);
      return SQLITE_IOERR_WRITE;
    case Fault::kNoSpace:
      if (Strikes(Fault::kNoSpace)) return SQLITE_FULL;
      break;
    default:
      if (Strikes(Fault::kAnyCall)) return SQLITE_IOERR_WRITE;
      break;
  }
  return methods->xWrite(Real(file), from, size, at);
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (Strikes(Fault::kAnyCall)) return SQLITE_IOERR_TRUNCATE;
  return Real(file)->pMethods->xTruncate(Real(file), size);
}

int Sync(sqlite3_file* file, int flags) {
  if (Strikes(Fault::kSync)) return SQLITE_IOERR_FSYNC;
  return Real(file)->pMethods->xSync(Real(file), flags);
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  if (Strikes(Fault::kAnyCall)) return SQLITE_IOERR_FSTAT;
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
  if (Strikes(Fault::kAnyCall)) return SQLITE_IOERR_SHMMAP;
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
  if (Strikes(Fault::kAnyCall)) return SQLITE_CANTOPEN;
  State& state = TheState();
  const int code = state.real->xOpen(state.real, name, fault_file->real(), flags, out_flags);
  if (fault_file->real()->pMethods != nullptr) fault_file->base.pMethods = &kMethods;
  return code;
}

int Delete(sqlite3_vfs*, const char* name, int sync_folder) {
  if (Strikes(Fault::kAnyCall)) return SQLITE_IOERR_DELETE;
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
  state.fault = fault;
  state.number = number;
  state.calls = 0;
  state.persistent = persistent;
  state.struck = false;
}

void FaultVfs::Disarm() {
  TheState().fault = Fault::kNone;
}

bool FaultVfs::Struck() {
  return TheState().struck;
}

}  // namespace reenact::testing
