// The mutexes that our copy of SQLite uses: they do not survive a fork.
//
// SQLite guards process-wide state (allocator counters, open files) with mutexes of its own. A
// thread of the parent may hold one at the moment of a fork, and in the child nobody would ever let
// it go. Here a lock is held by a thread of a named process, and a lock of any other process is
// nobody's.

#ifndef REENACT_STORE_FORMAT_SQLITE_MUTEX_H_
#define REENACT_STORE_FORMAT_SQLITE_MUTEX_H_

namespace reenact::store {

// Makes SQLite use them, and stop counting memory (which takes a mutex at every allocation). Must
// come before the first connection of the process; later calls do nothing. Any thread.
void UseForkSafeSqliteMutexes() noexcept;

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_SQLITE_MUTEX_H_
