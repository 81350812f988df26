/* A host with a SQLite, a zstd and a zlib of its own: none of them may be called by the library.
 * argv[1]: the store. */
#include <stdlib.h>
#include <string.h>

#include "reenact/reenact.h"

#define NOT_OURS(name) \
  int name(void);      \
  int name(void) {     \
    abort();           \
  }

NOT_OURS(sqlite3_open)
NOT_OURS(sqlite3_open_v2)
NOT_OURS(sqlite3_prepare_v2)
NOT_OURS(sqlite3_prepare_v3)
NOT_OURS(sqlite3_step)
NOT_OURS(sqlite3_exec)
NOT_OURS(sqlite3_initialize)
NOT_OURS(sqlite3_close_v2)
NOT_OURS(ZSTD_compress)
NOT_OURS(ZSTD_compressCCtx)
NOT_OURS(ZSTD_compress2)
NOT_OURS(inflate)
NOT_OURS(crc32)

static reenact_bytes text(const char* s) {
  reenact_bytes bytes;
  bytes.data = s;
  bytes.size = strlen(s);
  return bytes;
}

int main(int argc, char** argv) {
  reenact_options options;
  reenact_run_info info;
  reenact_recorder* recorder = NULL;
  reenact_scope* run = NULL;

  if (argc < 2) return 2;
  memset(&options, 0, sizeof options);
  memset(&info, 0, sizeof info);
  options.struct_size = sizeof options;
  options.store = text(argv[1]);
  info.struct_size = sizeof info;
  info.entry = text("main");
  info.input = text("an input long enough that it is worth compressing, is worth compressing");
  if (reenact_open(&options, &recorder) != REENACT_OK) return 3;
  if (reenact_run_begin(recorder, &info, &run) != REENACT_OK) return 4;
  reenact_run_end(run, REENACT_END_COMPLETE, text(""), text("done"));
  return reenact_close(recorder, 30000) == REENACT_OK ? 0 : 5;
}
