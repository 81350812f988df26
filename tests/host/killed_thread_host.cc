// Threads that are cancelled at any point of a call, among others that go on. argv[1]: the store.

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <string>

#include "reenact/reenact.h"

namespace {

reenact_scope* g_run = nullptr;
std::atomic<bool> g_stop{false};
std::atomic<int> g_survivor_calls{0};

bool CallOnce(const char* name, const std::string& body) {
  reenact_call_info info{};
  info.struct_size = sizeof(info);
  info.boundary = REENACT_TOOL;
  info.name = {name, 6};
  info.request = {body.data(), body.size()};
  reenact_call* call = nullptr;
  if (reenact_call_begin(g_run, &info, &call) != REENACT_LIVE) _Exit(9);
  // Above the size from where on bodies go to files: cancellation points.
  for (int i = 0; i < 4; ++i) reenact_call_chunk(call, {body.data(), body.size()});
  pthread_testcancel();
  reenact_sleep(g_run, 1000);
  return reenact_call_end(call, REENACT_END_COMPLETE, nullptr) == REENACT_OK;
}

void* Victim(void*) {
  const std::string body(40'000, 'v');
  for (;;) CallOnce("victim", body);
}

void* Survivor(void*) {
  const std::string body(100, 's');
  while (!g_stop) {
    if (CallOnce("surviv", body)) ++g_survivor_calls;
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string store = argv[1];
  reenact_options options{};
  options.struct_size = sizeof(options);
  options.store = {store.data(), store.size()};
  reenact_recorder* recorder = nullptr;
  if (reenact_open(&options, &recorder) != REENACT_OK) return 3;
  reenact_run_info info{};
  info.struct_size = sizeof(info);
  info.entry = {"main", 4};
  if (reenact_run_begin(recorder, &info, &g_run) != REENACT_OK) return 4;
  pthread_t survivor;
  pthread_create(&survivor, nullptr, Survivor, nullptr);
  for (int i = 0; i < 50; ++i) {
    pthread_t victim;
    pthread_create(&victim, nullptr, Victim, nullptr);
    const timespec pause = {0, 1000 * (i % 7) * (i % 5 + 1)};
    nanosleep(&pause, nullptr);
    pthread_cancel(victim);
    pthread_join(victim, nullptr);
  }
  const int before = g_survivor_calls;
  while (g_survivor_calls < before + 10) sched_yield();
  g_stop = true;
  pthread_join(survivor, nullptr);
  reenact_run_end(g_run, REENACT_END_COMPLETE, {}, {});
  return reenact_close(recorder, 30'000) == REENACT_OK ? 0 : 5;
}
