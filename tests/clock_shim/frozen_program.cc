// A program for tests of the clock shim: reads the wall clock, waits, starts threads and processes,
// as its first argument says. Prints what it read; says "late", "early" or nothing of its waits.

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;
using namespace std::chrono_literals;

int64_t Nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

timespec Now(clockid_t clock = CLOCK_REALTIME) {
  timespec now{};
  clock_gettime(clock, &now);
  return now;
}

// One reading by each function there is.
std::string ReadAll() {
  std::string out;
  const auto add = [&](int64_t value) { out += std::to_string(value) + ' '; };
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_TAI}) {
    add(Nanoseconds(Now(clock)));
  }
  timeval micro{};
  gettimeofday(&micro, nullptr);
  add(micro.tv_sec * 1'000'000 + micro.tv_usec);
  add(time(nullptr));
  timespec standard{};
  timespec_get(&standard, TIME_UTC);
  add(Nanoseconds(standard));
  timespec raw{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &raw);
  add(Nanoseconds(raw));
  add(system_clock::now().time_since_epoch().count());
  return out;
}

void Threads() {
  std::vector<std::string> lines(7);
  const auto read = [&](size_t line, int count) {
    for (int i = 0; i < count; ++i) lines[line] += ReadAll();
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      read(2 * i, 20);
      std::thread nested([&] { read(2 * i + 1, 10 * static_cast<int>(i + 1)); });
      read(2 * i, 5);
      nested.join();
    });
  }
  read(6, 30);
  for (std::thread& thread : threads) thread.join();
  for (const std::string& line : lines) puts(line.c_str());
}

void Run(const char* program, const char* mode) {
  const char* arguments[] = {program, mode, nullptr};
  pid_t child = 0;
  fflush(stdout);
  posix_spawn(&child, program, nullptr, nullptr, const_cast<char**>(arguments), environ);
  waitpid(child, nullptr, 0);
}

void Processes(const char* self) {
  puts(ReadAll().c_str());
  fflush(stdout);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int k = 0; k <= i; ++k) puts(ReadAll().c_str());
      fflush(stdout);
      if (i == 1) execl(self, self, "read", nullptr);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  Run(self, "read");
  if (system((std::string(self) + " read").c_str()) != 0) puts("system failed");
  Run(self, "read");
  puts(ReadAll().c_str());
}

constexpr auto kWait = 150ms;

// How a wait that should end kWait after `begin` went.
void Judge(const char* name, const std::function<void()>& wait,
           steady_clock::time_point begin = steady_clock::now()) {
  wait();
  const auto took = steady_clock::now() - begin;
  if (took < kWait - 2ms) printf("%s early: %ld us\n", name, static_cast<long>(took / 1us));
  if (took > kWait + 2s) printf("%s late: %ld us\n", name, static_cast<long>(took / 1us));
}

timespec Deadline() {
  const int64_t at = Nanoseconds(Now()) + std::chrono::nanoseconds(kWait).count();
  return {at / 1'000'000'000, at % 1'000'000'000};
}

void StandardWaits() {
  std::mutex mutex;
  std::condition_variable changed;
  Judge("condition_variable", [&] {
    std::unique_lock<std::mutex> lock(mutex);
    while (changed.wait_until(lock, system_clock::now() + kWait) != std::cv_status::timeout) {
    }
  });
  Judge("condition_variable, predicate", [&] {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_until(lock, system_clock::now() + kWait, [] { return false; });
  });
  Judge("condition_variable, steady", [&] {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_until(lock, steady_clock::now() + kWait, [] { return false; });
  });
  Judge("future", [] {
    std::promise<int> promise;
    promise.get_future().wait_until(system_clock::now() + kWait);
  });
  Judge("semaphore", [] {
    std::counting_semaphore<> semaphore(0);
    (void)semaphore.try_acquire_until(system_clock::now() + kWait);
  });
  Judge("sleep_until", [] { std::this_thread::sleep_until(system_clock::now() + kWait); });
  Judge("timed_mutex", [] {
    std::timed_mutex held;
    held.lock();
    std::thread([&] { (void)held.try_lock_until(system_clock::now() + kWait); }).join();
    held.unlock();
  });
}

void PosixWaits() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  Judge("pthread_cond_timedwait", [&] {
    const timespec until = Deadline();
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&cond, &mutex, &until) == 0) {
    }
    pthread_mutex_unlock(&mutex);
  });
  Judge("pthread_mutex_timedlock", [&] {
    pthread_mutex_lock(&mutex);
    std::thread([&] {
      const timespec until = Deadline();
      pthread_mutex_timedlock(&mutex, &until);
    }).join();
    pthread_mutex_unlock(&mutex);
  });
  Judge("sem_timedwait", [] {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    const timespec until = Deadline();
    sem_timedwait(&semaphore, &until);
  });
  Judge("clock_nanosleep", [] {
    const timespec until = Deadline();
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr);
  });
  Judge("futex", [] {
    uint32_t word = 0;
    const timespec until = Deadline();
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 0, &until, nullptr,
            FUTEX_BITSET_MATCH_ANY);
  });
  Judge("timerfd", [] {
    const int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
    itimerspec wanted{};
    wanted.it_value = Deadline();
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &wanted, nullptr);
    pollfd ready = {fd, POLLIN, 0};
    poll(&ready, 1, 10'000);
    close(fd);
  });
  Judge("timer_settime", [] {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_t timer{};
    timer_create(CLOCK_REALTIME, &event, &timer);
    itimerspec wanted{};
    wanted.it_value = Deadline();
    timer_settime(timer, TIMER_ABSTIME, &wanted, nullptr);
    const timespec at_most = {10, 0};
    sigtimedwait(&alarm, nullptr, &at_most);
    timer_delete(timer);
  });
  Judge("C11 condition", [] {
    mtx_t c11_mutex;
    cnd_t c11_cond;
    mtx_init(&c11_mutex, mtx_plain);
    cnd_init(&c11_cond);
    mtx_lock(&c11_mutex);
    const timespec until = Deadline();
    while (cnd_timedwait(&c11_cond, &c11_mutex, &until) == thrd_success) {
    }
    mtx_unlock(&c11_mutex);
  });
}

// A deadline that one thread makes and another waits for, long after its own last reading.
void HandedOver() {
  std::promise<timespec> handed;
  steady_clock::time_point begin;
  std::thread waiter([&] {
    (void)Now();
    const timespec until = handed.get_future().get();
    Judge(
        "handed over",
        [&] {
          sem_t semaphore;
          sem_init(&semaphore, 0, 0);
          sem_timedwait(&semaphore, &until);
        },
        begin);
  });
  std::this_thread::sleep_for(20ms);
  begin = steady_clock::now();
  handed.set_value(Deadline());
  waiter.join();
}

volatile sig_atomic_t alarms = 0;

void Signals() {
  struct sigaction action {};

  action.sa_handler = [](int) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    alarms = alarms + 1;
  };
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &every, nullptr);
  while (alarms < 500) (void)Now();
  const itimerval off{};
  setitimer(ITIMER_REAL, &off, nullptr);
  puts("done");
}

void Many(const char* count) {
  uint64_t sum = 0;
  for (long i = strtol(count, nullptr, 10); i > 0; --i) {
    sum = sum * 31 + static_cast<uint64_t>(Nanoseconds(Now()));
  }
  printf("%lu\n", static_cast<unsigned long>(sum));
}

// Polls until a moment has come.
void Poll() {
  const auto until = system_clock::now() + 100ms;
  while (system_clock::now() < until) std::this_thread::sleep_for(1ms);
  puts("done");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  if (mode == "read") puts(ReadAll().c_str());
  if (mode == "threads") Threads();
  if (mode == "processes") Processes(argv[0]);
  if (mode == "waits") {
    StandardWaits();
    PosixWaits();
  }
  if (mode == "handed") HandedOver();
  if (mode == "signals") Signals();
  if (mode == "many") Many(argv[2]);
  if (mode == "poll") Poll();
  if (mode == "run") Run(argv[2], "read");
  if (mode == "die") {
    for (int i = 0; i < 1000; ++i) (void)Now();
    raise(SIGKILL);
  }
  if (mode == "hours") {  // Reads more often where the environment says so.
    const char* more = getenv("MORE_READS");
    for (int i = 0; i < (more == nullptr ? 3 : 5); ++i) puts(ReadAll().c_str());
  }
  return 0;
}
