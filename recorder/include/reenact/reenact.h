/*
 * reenact: record what a program asked a model and everything else that it could not have known by
 * itself, so that the same program can be run again on the same answers.
 *
 * This is the whole public surface, in C99. What a host may rely on:
 *   - Nothing runs before reenact_open(): no thread, no file, no static constructor with an effect.
 *   - No function throws, exits, aborts, prints, or touches a signal handler. Every function may
 *     be called from any thread. A handle is used by one thread at a time, except recorders and
 *     scopes, which any number may use at once.
 *   - Record mode: reenact_call_begin() answers REENACT_LIVE whatever fails. Nothing blocks on the
 *     disk; what cannot be kept is dropped, counted, and leaves a gap record.
 *   - Replay mode: nothing is ever live. Whatever fails (socket, memory, a forked child), the
 *     handles that come back are valid and every call on them answers REENACT_DIVERGED.
 *   - A NULL handle is a recorder that is off: every function accepts it, does nothing, and answers
 *     REENACT_OK or REENACT_LIVE.
 *   - After fork() a child that uses the recorder gets a ring and a segment of its own. A run begun
 *     before the fork becomes, when the child uses it, a run of the child's with an id of its own,
 *     tagged "forked_from_run"; calls begun before the fork are counted and ignored there.
 *   - Strings are (pointer, length), need no terminator, may hold any bytes, and are copied.
 *   - Credentials in headers, URLs and bodies are removed before anything is stored.
 *
 * One code path serves both modes:
 *
 *   switch (reenact_call_begin(scope, &info, &call)) {
 *     case REENACT_LIVE:     // make the call; reenact_call_head/chunk as it arrives
 *     case REENACT_ON_TAPE:  // reenact_call_next(call, &item) until REENACT_END
 *     case REENACT_DIVERGED: // fail; reenact_call_error(call, ...) says where and how
 *   }
 *   reenact_call_end(call, REENACT_END_COMPLETE, NULL);
 *
 * Names that start with reenact_ or REENACT_ belong to this library.
 */
#ifndef REENACT_REENACT_H_
#define REENACT_REENACT_H_

#include <stddef.h>
#include <stdint.h>

#if defined(REENACT_BUILDING)
#define REENACT_API __attribute__((visibility("default")))
#else
#define REENACT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define REENACT_VERSION_MAJOR 0
#define REENACT_VERSION_MINOR 1

/* Integer codes never change their meaning and are never reused; expect new ones. */
typedef int32_t reenact_code;
#define REENACT_OK 0
#define REENACT_INVALID_ARGUMENT 1 /* a null pointer, a short struct, an unknown value */
#define REENACT_DROPPED 2          /* not recorded; counted, and a gap tells */
#define REENACT_UNAVAILABLE 3      /* the store or the replayer cannot be reached */
#define REENACT_DIVERGED_CODE 4    /* replay: not on the tape */
#define REENACT_INTERNAL 5
#define REENACT_END 6      /* reenact_call_next: no further item */
#define REENACT_DEADLINE 7 /* reenact_flush, reenact_close: not all of it in time */

/* What reenact_call_begin answers. */
typedef int32_t reenact_disposition;
#define REENACT_LIVE 0
#define REENACT_ON_TAPE 1
#define REENACT_DIVERGED 2

/* Where nondeterminism enters. */
#define REENACT_MODEL 1
#define REENACT_TOOL 2
#define REENACT_RETRIEVAL 3
#define REENACT_CLOCK 4
#define REENACT_RANDOM 5
#define REENACT_ENV 6

/* How a call or a run ended. */
#define REENACT_END_COMPLETE 1
#define REENACT_END_TRUNCATED 2
#define REENACT_END_RESET 3
#define REENACT_END_ABANDONED_BY_CALLER 4
#define REENACT_END_PROVIDER_ERROR 5
#define REENACT_END_ERROR 6
#define REENACT_END_TRUNCATED_BY_LIMIT 7
#define REENACT_END_INCOMPLETE 8

/* Modes. AUTO: $REENACT_MODE ("off", "record", "replay") where it is set, else record. Any other
 * value of the variable is REENACT_INVALID_ARGUMENT and a recorder whose every call diverges. Both
 * count over every option: a program that is, or may be, replayed must not go live. */
#define REENACT_MODE_AUTO 0
#define REENACT_MODE_OFF 1
#define REENACT_MODE_RECORD 2
#define REENACT_MODE_REPLAY 3

typedef struct reenact_recorder reenact_recorder;
typedef struct reenact_scope reenact_scope; /* a run, or a part of one */
typedef struct reenact_call reenact_call;

typedef struct reenact_bytes {
  const char* data;
  size_t size;
} reenact_bytes;

typedef struct reenact_pair {
  reenact_bytes name;
  reenact_bytes value;
} reenact_pair;

/* In every struct below: set struct_size to its sizeof and leave the rest zero; zero is the
 * default. Fields added later are then absent rather than read past the end. */

typedef struct reenact_options {
  size_t struct_size;
  reenact_bytes store;   /* folder; empty: $REENACT_STORE, else $XDG_DATA_HOME/reenact */
  reenact_bytes service; /* "refund-agent" */
  reenact_bytes service_version;
  int32_t mode;
  reenact_bytes replay_socket;  /* empty: $REENACT_REPLAY_SOCKET */
  uint64_t ring_bytes;          /* 0: 16 MiB */
  uint64_t body_budget_bytes;   /* memory for bodies above 1 MiB, all together; 0: 96 MiB */
  uint64_t body_limit_bytes;    /* longer bodies are cut and marked; 0: no limit but the budget */
  uint64_t store_cap_bytes;     /* 0: 10 GiB */
  uint64_t free_floor_bytes;    /* 0: 512 MiB or 5 %, whichever is more (at most 5 GiB) */
  double run_sample_rate;       /* share of runs recorded, (0, 1]; 0: 1. Chosen by run id */
  double logprob_rate;          /* share of model calls told to ask for logprobs, [0, 1] */
  uint32_t disabled_boundaries; /* bit 1 << REENACT_TOOL: not recorded. On replay: DIVERGED */
  int32_t require_pinned;       /* non-zero: warn at each call of a floating model name */
  int32_t keep_secrets;         /* non-zero: redaction off, for tests of the host */
  const reenact_bytes* secrets; /* values that must never be stored */
  size_t secret_count;
  void (*warn)(void* user, reenact_bytes message); /* NULL: warnings only count in the metrics */
  int64_t (*wall_clock)(void* user);               /* Unix ns; NULL: the system's */
  void* user;
} reenact_options;

typedef struct reenact_component {
  size_t struct_size;
  reenact_bytes kind; /* "prompt_template", "retrieval_index", "tool_schema", "guardrail", ... */
  reenact_bytes name;
  reenact_bytes version;
  reenact_bytes content;
} reenact_component;

typedef struct reenact_run_info {
  size_t struct_size;
  reenact_bytes entry;    /* what starts it again: "POST /refund" */
  reenact_bytes input;    /* what started it */
  reenact_bytes trace_id; /* 32 hex digits, or a whole W3C traceparent */
  const reenact_component* components;
  size_t component_count;
  const reenact_pair* tags;
  size_t tag_count;
} reenact_run_info;

typedef struct reenact_call_info {
  size_t struct_size;
  int32_t boundary;            /* REENACT_MODEL, REENACT_TOOL, REENACT_RETRIEVAL */
  reenact_bytes name;          /* "chat", "lookup_order", "kb" */
  reenact_bytes provider;      /* model calls: "openai" */
  reenact_bytes endpoint;      /* URL */
  reenact_bytes request;       /* body, exactly as sent */
  const reenact_pair* headers; /* request headers, in order */
  size_t header_count;
  uint32_t attempt; /* the host's own retry number of an equal request, from 0 */
} reenact_call_info;

typedef struct reenact_call_meta {
  size_t struct_size;
  reenact_bytes detail;      /* of the end state: "overloaded_error", the text of an exception */
  const reenact_pair* facts; /* "cache" = "hit", ... */
  size_t fact_count;
} reenact_call_meta;

/* One step of a recorded answer. */
#define REENACT_ITEM_HEAD 1        /* status and headers of an attempt */
#define REENACT_ITEM_BYTES 2       /* one read, exactly as it came */
#define REENACT_ITEM_ATTEMPT_END 3 /* this attempt failed and was tried again */
#define REENACT_ITEM_CALL_END 4    /* end_state and detail of the call; the last item */

typedef struct reenact_item {
  size_t struct_size;
  int32_t kind;
  int32_t status;
  const reenact_pair* headers; /* valid until the next call on this handle, as is bytes */
  size_t header_count;
  reenact_bytes bytes; /* BYTES: the read. ATTEMPT_END, CALL_END: the detail */
  int64_t offset_ns;   /* when it came, from the beginning of the call */
  int32_t end_state;
} reenact_item;

typedef struct reenact_incident_info {
  size_t struct_size;
  reenact_bytes title;
  reenact_bytes notes;
  int32_t severity; /* 1 worst to 4; 0 unstated; another: REENACT_INVALID_ARGUMENT */
} reenact_incident_info;

typedef struct reenact_metrics {
  size_t struct_size;
  uint64_t accepted; /* records; at exit accepted == stored + lost */
  uint64_t stored, lost;
  uint64_t dropped_ring_full, dropped_disk_full, dropped_oversize, dropped_after_close;
  uint64_t dropped_fork_child, dropped_store_error, dropped_memory;
  uint64_t unsampled_runs;
  uint64_t floating_models; /* calls of a floating model name, with require_pinned */
  uint64_t stored_bytes, ring_high_water_bytes;
  uint64_t last_commit_ns, max_commit_ns;
  int32_t durable_ack; /* 1: an acknowledged record survives kill -9 */
  int32_t mode;
} reenact_metrics;

REENACT_API int32_t reenact_version_major(void); /* of the library that is loaded */
REENACT_API int32_t reenact_version_minor(void);

/* --- recorder --- */
/* Opens a recorder. Record mode: on failure *out is NULL (off), the code says why, and
 * reenact_error(NULL, ...) the sentence. Replay mode: *out is never NULL. */
REENACT_API reenact_code reenact_open(const reenact_options* options, reenact_recorder** out);
/* Flushes for at most deadline_ms, seals the segment, frees the handle. What is not on disk by then
 * stays in memory for the next process that opens the store: REENACT_DEADLINE. */
REENACT_API reenact_code reenact_close(reenact_recorder* recorder, int64_t deadline_ms);
REENACT_API reenact_code reenact_flush(reenact_recorder* recorder, int64_t deadline_ms);
/* The kill switch: 0 stops recording of runs that begin from now on. No effect on replay. */
REENACT_API void reenact_set_enabled(reenact_recorder* recorder, int32_t enabled);
REENACT_API reenact_code reenact_get_metrics(reenact_recorder* recorder, reenact_metrics* out);
/* The last error of a recorder; NULL: of the last failed reenact_open of this process. Copies at
 * most capacity bytes (terminated); returns the whole length. */
REENACT_API size_t reenact_error(reenact_recorder* recorder, char* buffer, size_t capacity);
/* Registers what can start a run again. In replay mode, when the tape's run has this entry, handler
 * is called once, on a thread of the library, with the recorded input; register last, when the
 * program is ready. It should do what the real entry does. In other modes: nothing happens. */
REENACT_API reenact_code reenact_on_replay(reenact_recorder* recorder, reenact_bytes entry,
                                           void (*handler)(void* user, reenact_bytes input),
                                           void* user);

/* --- runs and scopes --- */
/* Begins a run. Its scope is ended by reenact_run_end, which frees it. */
REENACT_API reenact_code reenact_run_begin(reenact_recorder* recorder, const reenact_run_info* info,
                                           reenact_scope** out);
REENACT_API reenact_code reenact_run_end(reenact_scope* run, int32_t end_state,
                                         reenact_bytes detail, reenact_bytes output);
/* 26 characters and a terminator; empty when nothing is recorded. */
REENACT_API void reenact_run_id(reenact_scope* scope, char out[27]);
REENACT_API reenact_code reenact_tag(reenact_scope* scope, reenact_bytes name, reenact_bytes value);
REENACT_API reenact_code reenact_add_component(reenact_scope* scope,
                                               const reenact_component* component);
/* The content to go on with: that of own, which the run declares, or on replay what it was
 * overridden with. *content is valid until this scope ends, or as long as own's. With any error
 * but INVALID_ARGUMENT it is own's. */
REENACT_API reenact_code reenact_component_content(reenact_scope* scope,
                                                   const reenact_component* own,
                                                   reenact_bytes* content);
/* A part of a run whose calls are addressed apart from its siblings': give concurrent work a scope
 * each, with a key that is the same on replay (a tool_call id, an index). A '/' is escaped. */
REENACT_API reenact_code reenact_scope_begin(reenact_scope* parent, reenact_bytes key,
                                             reenact_scope** out);
REENACT_API void reenact_scope_end(reenact_scope* scope);
/* Marks the run as an incident. On replay: accepted and ignored. */
REENACT_API reenact_code reenact_incident(reenact_scope* scope, const reenact_incident_info* info);

/* --- clock, random, policy --- */
/* The wall clock, Unix ns. Replay: the recorded reading of this scope and name, in order. When
 * REENACT_DIVERGED_CODE, *unix_ns is the last recorded reading. Never fails live. */
REENACT_API reenact_code reenact_now(reenact_scope* scope, reenact_bytes name, int64_t* unix_ns);
/* Sleeps on record and when off; returns at once on replay. For back-off. */
REENACT_API void reenact_sleep(reenact_scope* scope, int64_t duration_ns);
/* A seed for a generator in the host. Replay: the recorded one, by scope and name. */
REENACT_API reenact_code reenact_random_seed(reenact_scope* scope, reenact_bytes name,
                                             uint64_t* seed);
/* 1 when the sampling policy says that this model call should ask for logprobs. The decision is
 * recorded, and the same on replay. */
REENACT_API reenact_code reenact_want_logprobs(reenact_scope* scope, reenact_bytes name,
                                               int32_t* want);

/* --- calls --- */
/* Begins a call. *out may be NULL when LIVE (nothing is recorded); every function takes that. */
REENACT_API reenact_disposition reenact_call_begin(reenact_scope* scope,
                                                   const reenact_call_info* info,
                                                   reenact_call** out);
/* LIVE: what arrives, as it arrives. head: once an attempt, before its bytes; tools need none.
 * REENACT_DROPPED: not recorded (the caller goes on). On other dispositions: INVALID_ARGUMENT. */
REENACT_API reenact_code reenact_call_head(reenact_call* call, int32_t status,
                                           const reenact_pair* headers, size_t header_count);
REENACT_API reenact_code reenact_call_chunk(reenact_call* call, reenact_bytes bytes);
/* The transport gives up on this attempt (detail says why) and makes another. */
REENACT_API reenact_code reenact_call_attempt_failed(reenact_call* call, reenact_bytes detail);
/* ON_TAPE: the next item, REENACT_END past the last. DIVERGED: REENACT_DIVERGED_CODE. */
REENACT_API reenact_code reenact_call_next(reenact_call* call, reenact_item* item);
/* Why it diverged. As reenact_error. */
REENACT_API size_t reenact_call_error(reenact_call* call, char* buffer, size_t capacity);
/* Ends and frees the call; any thread. REENACT_OK: acknowledged, a kill of the process will not
 * lose it. On replay end_state says how far the host consumed it. */
REENACT_API reenact_code reenact_call_end(reenact_call* call, int32_t end_state,
                                          const reenact_call_meta* meta);

#ifdef __cplusplus
}
#endif
#endif /* REENACT_REENACT_H_ */
