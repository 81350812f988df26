/* A shared object that links the library: two of them share one process in two_libraries_host. */
#include <string.h>

#include "reenact/reenact.h"

int PLUGIN_ENTRY(const char* store, const char* entry);

int PLUGIN_ENTRY(const char* store, const char* entry) {
  reenact_options options;
  reenact_run_info info;
  reenact_recorder* recorder = NULL;
  reenact_scope* run = NULL;

  memset(&options, 0, sizeof options);
  memset(&info, 0, sizeof info);
  options.struct_size = sizeof options;
  options.store.data = store;
  options.store.size = strlen(store);
  info.struct_size = sizeof info;
  info.entry.data = entry;
  info.entry.size = strlen(entry);
  if (reenact_open(&options, &recorder) != REENACT_OK) return 1;
  if (reenact_run_begin(recorder, &info, &run) != REENACT_OK) return 2;
  reenact_run_end(run, REENACT_END_COMPLETE, options.service, options.service);
  return reenact_close(recorder, 30000) == REENACT_OK ? 0 : 3;
}
