/* A host in strict C99: everything before open and on null handles, then a recorded run.
 * argv[1]: the store; argv[2], when "leave": exits without closing. */
#include <stdlib.h>
#include <string.h>

#include "reenact/reenact.h"

static reenact_bytes text(const char* s) {
  reenact_bytes bytes;
  bytes.data = s;
  bytes.size = strlen(s);
  return bytes;
}

#define CHECK(condition)                        \
  do {                                          \
    if (!(condition)) exit(__LINE__ % 250 + 1); \
  } while (0)

/* A recorder that is off: live, and REENACT_OK. */
static void use_nothing(void) {
  reenact_recorder* recorder = NULL;
  reenact_scope* scope = NULL;
  reenact_scope* child = NULL;
  reenact_call* call = NULL;
  reenact_run_info run_info;
  reenact_call_info call_info;
  reenact_item item;
  reenact_metrics metrics;
  int64_t now = 0;
  uint64_t seed = 0;
  int32_t want = 7;
  char id[27];
  char buffer[64];

  memset(&run_info, 0, sizeof run_info);
  memset(&call_info, 0, sizeof call_info);
  memset(&item, 0, sizeof item);
  memset(&metrics, 0, sizeof metrics);
  run_info.struct_size = sizeof run_info;
  call_info.struct_size = sizeof call_info;
  item.struct_size = sizeof item;
  metrics.struct_size = sizeof metrics;
  CHECK(reenact_run_begin(recorder, &run_info, &scope) == REENACT_OK && scope == NULL);
  CHECK(reenact_scope_begin(scope, text("child"), &child) == REENACT_OK && child == NULL);
  CHECK(reenact_call_begin(scope, &call_info, &call) == REENACT_LIVE && call == NULL);
  CHECK(reenact_call_head(call, 200, NULL, 0) == REENACT_OK);
  CHECK(reenact_call_chunk(call, text("x")) == REENACT_OK);
  CHECK(reenact_call_attempt_failed(call, text("x")) == REENACT_OK);
  CHECK(reenact_call_next(call, &item) == REENACT_END);
  CHECK(reenact_call_error(call, buffer, sizeof buffer) == 0);
  CHECK(reenact_call_end(call, REENACT_END_COMPLETE, NULL) == REENACT_OK);
  CHECK(reenact_now(scope, text("t"), &now) == REENACT_OK && now > 0);
  CHECK(reenact_random_seed(scope, text("r"), &seed) == REENACT_OK);
  CHECK(reenact_want_logprobs(scope, text("l"), &want) == REENACT_OK && want == 0);
  CHECK(reenact_tag(scope, text("a"), text("b")) == REENACT_OK);
  CHECK(reenact_add_component(scope, NULL) == REENACT_OK);
  reenact_component own = {0};
  own.struct_size = sizeof(own);
  own.content.data = "own";
  own.content.size = 3;
  reenact_bytes content = {NULL, 0};
  CHECK(reenact_component_content(scope, &own, &content) == REENACT_OK);
  CHECK(content.data == own.content.data && content.size == 3);
  CHECK(reenact_incident(scope, NULL) == REENACT_OK);
  reenact_run_id(scope, id);
  CHECK(id[0] == '\0');
  reenact_sleep(scope, 1);
  reenact_scope_end(child);
  CHECK(reenact_run_end(scope, REENACT_END_COMPLETE, text(""), text("")) == REENACT_OK);
  CHECK(reenact_on_replay(recorder, text("e"), NULL, NULL) == REENACT_OK);
  reenact_set_enabled(recorder, 0);
  CHECK(reenact_get_metrics(recorder, &metrics) == REENACT_OK && metrics.mode == REENACT_MODE_OFF);
  CHECK(reenact_error(recorder, buffer, sizeof buffer) == 0);
  CHECK(reenact_flush(recorder, 0) == REENACT_OK);
  CHECK(reenact_close(recorder, 0) == REENACT_OK);
}

static void record(const char* store, int leave) {
  reenact_options options;
  reenact_recorder* recorder = NULL;
  reenact_run_info run_info;
  reenact_call_info call_info;
  reenact_scope* run = NULL;
  reenact_call* call = NULL;

  memset(&options, 0, sizeof options);
  memset(&run_info, 0, sizeof run_info);
  memset(&call_info, 0, sizeof call_info);
  options.struct_size = sizeof options;
  options.store = text(store);
  run_info.struct_size = sizeof run_info;
  run_info.entry = text("main");
  call_info.struct_size = sizeof call_info;
  call_info.boundary = REENACT_TOOL;
  call_info.name = text("echo");
  call_info.request = text("ping");
  CHECK(reenact_open(&options, &recorder) == REENACT_OK);
  CHECK(reenact_run_begin(recorder, &run_info, &run) == REENACT_OK);
  CHECK(reenact_call_begin(run, &call_info, &call) == REENACT_LIVE);
  CHECK(reenact_call_chunk(call, text("pong")) == REENACT_OK);
  CHECK(reenact_call_end(call, REENACT_END_COMPLETE, NULL) == REENACT_OK);
  CHECK(reenact_run_end(run, REENACT_END_COMPLETE, text(""), text("done")) == REENACT_OK);
  if (!leave) CHECK(reenact_close(recorder, 30000) == REENACT_OK);
}

int main(int argc, char** argv) {
  CHECK(reenact_version_major() == REENACT_VERSION_MAJOR);
  use_nothing();
  if (argc > 1) record(argv[1], argc > 2 && strcmp(argv[2], "leave") == 0);
  return 0;
}
