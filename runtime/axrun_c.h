/* axrun's C interface. It is stable: functions keep their meaning and structures their layout; what is new
 * comes as new functions.
 *
 *     axrun_session* session;
 *     if (axrun_session_load("model.onnx", NULL, &session) != AXRUN_OK) puts(axrun_last_error());
 *     axrun_request* request;
 *     axrun_request_create(session, &request);
 *     axrun_bind_input(request, 0, &image);      image.data stays yours
 *     axrun_run(request);
 *     axrun_tensor scores;
 *     axrun_get_output(request, 0, &scores);
 *
 * A session may be used from many threads at once, each with a request of its own. Functions that can fail
 * return a status; what went wrong is then axrun_last_error(), in the calling thread. Pointers given to axrun
 * are read during the call only, but for the data of bound tensors. Handles may be NULL where they are freed.
 */
#ifndef AXRUN_C_H
#define AXRUN_C_H

#include <stddef.h>
#include <stdint.h>

#include "ir/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum axrun_status {
  AXRUN_OK = 0,
  AXRUN_USER_ERROR = 1,  /* bad arguments, missing file, inputs that do not fit the model */
  AXRUN_MODEL_ERROR = 2, /* the model is damaged or invalid */
  AXRUN_UNSUPPORTED = 3, /* the model needs something that axrun lacks */
  AXRUN_CANCELLED = 4,   /* axrun_cancel ended the run */
  AXRUN_DEADLINE = 5,    /* the run's time was over */
  AXRUN_NOT_YET = 6,     /* only while operators of your own are defined (axrun_operators.h) */
  AXRUN_INTERNAL_ERROR = 70
} axrun_status;

/* Element types. Those narrower than a byte take one byte each; booleans are bytes 0 or 1; a string is a
 * const char*, ended by a null character. */
typedef enum axrun_type {
  AXRUN_UNDEFINED = 0,
  AXRUN_F16 = 1,
  AXRUN_BF16 = 2,
  AXRUN_F32 = 3,
  AXRUN_F64 = 4,
  AXRUN_F8E4M3FN = 5,
  AXRUN_F8E4M3FNUZ = 6,
  AXRUN_F8E5M2 = 7,
  AXRUN_F8E5M2FNUZ = 8,
  AXRUN_I4 = 9,
  AXRUN_I8 = 10,
  AXRUN_I16 = 11,
  AXRUN_I32 = 12,
  AXRUN_I64 = 13,
  AXRUN_U4 = 14,
  AXRUN_U8 = 15,
  AXRUN_U16 = 16,
  AXRUN_U32 = 17,
  AXRUN_U64 = 18,
  AXRUN_BOOL = 19,
  AXRUN_STRING = 20,
  AXRUN_F8E8M0 = 21,
  AXRUN_F4E2M1 = 22,
  AXRUN_F6E2M3 = 23,
  AXRUN_F6E3M2 = 24,
  AXRUN_I2 = 25,
  AXRUN_U2 = 26
} axrun_type;

typedef enum axrun_tier { AXRUN_TIER_REFERENCE = 0, AXRUN_TIER_FALLBACK = 1, AXRUN_TIER_AUTO = 2 } axrun_tier;

/* What an input or output is. */
typedef enum axrun_kind {
  AXRUN_KIND_TENSOR = 0,
  AXRUN_KIND_SEQUENCE = 1,
  AXRUN_KIND_OPTIONAL = 2,
  AXRUN_KIND_MAP = 3
} axrun_kind;

/* A dense row-major tensor in the caller's memory. */
typedef struct axrun_tensor {
  int type; /* axrun_type */
  size_t rank;
  const int64_t* dims; /* rank of them; may be NULL for rank 0 */
  void* data;          /* the elements; not written through where it is an input */
  size_t bytes;        /* size of data; for strings, of the array of pointers */
} axrun_tensor;

/* An input or output of a model. The pointers live as long as the session. */
typedef struct axrun_port {
  const char* name;
  int kind;                     /* axrun_kind */
  int type;                     /* axrun_type, AXRUN_UNDEFINED while unknown */
  int rank;                     /* -1 while unknown */
  const int64_t* dims;          /* -1 for a size that is open */
  const char* const* dim_names; /* the name or expression of an open size, "" for a fixed one */
} axrun_port;

typedef struct axrun_options axrun_options;
typedef struct axrun_session axrun_session;
typedef struct axrun_request axrun_request;

/* "0.1.0" */
AXRUN_API const char* axrun_version(void);
/* Text of the last failure in this thread, with the model's own names; "" before the first. Valid until the
 * next call in this thread. */
AXRUN_API const char* axrun_last_error(void);
/* What it was about: an input of the model, or a node, by their names, and the node's operator; "" where it
 * is no single one, or not known. Valid as long as the text. */
AXRUN_API const char* axrun_last_error_input(void);
AXRUN_API const char* axrun_last_error_node(void);
AXRUN_API const char* axrun_last_error_op(void);

/* "user", "deadline", ...: as the command and the server name failures. */
AXRUN_API const char* axrun_status_name(axrun_status status);

typedef enum axrun_log_level {
  AXRUN_LOG_OFF = 0,
  AXRUN_LOG_ERROR = 1,
  AXRUN_LOG_WARN = 2,
  AXRUN_LOG_INFO = 3,
  AXRUN_LOG_DEBUG = 4
} axrun_log_level;
/* Gets lines "level=info event=model_loaded ms=12.5 ...", valid during the call. From any thread, several at
 * once; must not call axrun_set_log. */
typedef void (*axrun_log_function)(void* context, int level, const char* line);
/* Of the whole process: what happens up to that level is told. NULL: nothing (the standard). When this
 * returns, the function before is not called any more. */
AXRUN_API axrun_status axrun_set_log(int level, axrun_log_function call, void* context);

/* Options of a session; NULL in their place means the standard ones. */
AXRUN_API axrun_status axrun_options_create(axrun_options** options);
AXRUN_API void axrun_options_free(axrun_options* options);
/* Threads of one run; 0: every processor this process may use. */
AXRUN_API axrun_status axrun_options_set_threads(axrun_options* options, int threads);
AXRUN_API axrun_status axrun_options_set_tier(axrun_options* options, int tier);
/* Fixes the shape of an input, or a size that the model names. */
AXRUN_API axrun_status axrun_options_set_shape(axrun_options* options, const char* input, const int64_t* dims,
                                               size_t rank);
AXRUN_API axrun_status axrun_options_set_dim(axrun_options* options, const char* name, int64_t size);
/* Plans kept for different input shapes. */
AXRUN_API axrun_status axrun_options_set_plan_cache(axrun_options* options, size_t plans);

/* Bytes that one run may take for its tensors; 0: the machine's memory (the standard). */
AXRUN_API axrun_status axrun_options_set_memory_limit(axrun_options* options, int64_t bytes);
/* The folder in which is kept what the optimiser has found; "": the environment's (the standard), NULL:
 * nothing is kept, and nothing used. */
AXRUN_API axrun_status axrun_options_set_cache(axrun_options* options, const char* folder);

/* The background optimiser of sessions in AXRUN_TIER_AUTO: 1 (the standard) or 0. */
AXRUN_API axrun_status axrun_options_set_optimize(axrun_options* options, int optimize);
/* Threads of its own that it may use; 0: the standard. */
AXRUN_API axrun_status axrun_options_set_optimizer_threads(axrun_options* options, int threads);
/* What they get of the processors where others want them, too: next to nothing (IDLE), a tenth at the start
 * besides (ASSURED), as much as anybody (NORMAL). STANDARD: what AXRUN_OPTIMIZER_PRIORITY says, else ASSURED.
 */
typedef enum axrun_priority {
  AXRUN_PRIORITY_STANDARD = 0,
  AXRUN_PRIORITY_ASSURED = 1,
  AXRUN_PRIORITY_IDLE = 2,
  AXRUN_PRIORITY_NORMAL = 3
} axrun_priority;
AXRUN_API axrun_status axrun_options_set_optimizer_priority(axrun_options* options, int priority);
/* Of one processor that it takes at most, with its helper process: above 0, at most 1 (the standard). */
AXRUN_API axrun_status axrun_options_set_optimizer_share(axrun_options* options, double share);
/* 1: it swaps in only kernels whose results equal the precompiled ones' to the bit. */
AXRUN_API axrun_status axrun_options_set_deterministic(axrun_options* options, int deterministic);
/* What its kernels may do to floats. STRICT: the same as deterministic. REASSOC: sums in another order, each
 * result within the bound of its own rounding errors. BILINEAR: besides, convolutions by bilinear algorithms
 * (Winograd's) where that is faster; their errors are bounded next to the largest values that a tile of
 * results is computed of. */
typedef enum axrun_fp { AXRUN_FP_REASSOC = 0, AXRUN_FP_STRICT = 1, AXRUN_FP_BILINEAR = 2 } axrun_fp;
AXRUN_API axrun_status axrun_options_set_fp(axrun_options* options, int fp);

/* Loads a model. */
AXRUN_API axrun_status axrun_session_load(const char* path, const axrun_options* options,
                                          axrun_session** session);
/* From memory; `directory` is where external data may lie, NULL refuses it. */
AXRUN_API axrun_status axrun_session_load_memory(const void* data, size_t size, const char* directory,
                                                 const axrun_options* options, axrun_session** session);
/* Requests must be freed before their session. */
AXRUN_API void axrun_session_free(axrun_session* session);
AXRUN_API size_t axrun_input_count(const axrun_session* session);
AXRUN_API size_t axrun_output_count(const axrun_session* session);
AXRUN_API axrun_status axrun_input_info(const axrun_session* session, size_t index, axrun_port* port);
AXRUN_API axrun_status axrun_output_info(const axrun_session* session, size_t index, axrun_port* port);

/* What the optimiser is doing. */
typedef struct axrun_optimizer_info {
  const char* state; /* "off", "waiting", "working", "paused", "frozen", "stopped" */
  /* Why it is off, paused or stopped; "" otherwise. Valid until the next call in this thread. */
  const char* reason;
  int64_t tried; /* kernels judged so far */
  int64_t left;  /* known, not judged yet */
  int steps;     /* of the plan looked at last */
  int swapped;   /* of them, those that run generated kernels */
} axrun_optimizer_info;
AXRUN_API axrun_status axrun_optimizer_status(const axrun_session* session, axrun_optimizer_info* info);
/* From now on no kernel is swapped: what is in force stays. */
AXRUN_API axrun_status axrun_optimizer_freeze(axrun_session* session);
/* Waits until it has nothing left to do, or has stopped; *done is 0 when the seconds were over before. Its
   work begins with the second run. */
AXRUN_API axrun_status axrun_optimizer_wait(axrun_session* session, double seconds, int* done);

/* A request holds what one thread needs for runs: bound inputs, bound or allocated outputs. */
AXRUN_API axrun_status axrun_request_create(axrun_session* session, axrun_request** request);
AXRUN_API void axrun_request_free(axrun_request* request);
/* The tensor's data is read by every run until another tensor is bound; strings are copied now. */
AXRUN_API axrun_status axrun_bind_input(axrun_request* request, size_t index, const axrun_tensor* tensor);
/* The same for strings that may hold null characters: sizes in bytes, one for each string. */
AXRUN_API axrun_status axrun_bind_input_strings(axrun_request* request, size_t index, const int64_t* dims,
                                                size_t rank, const char* const* strings, const size_t* sizes);
/* A sequence of so many tensors, or an optional with one or none. */
AXRUN_API axrun_status axrun_bind_input_parts(axrun_request* request, size_t index, int kind,
                                              const axrun_tensor* parts, size_t count);
/* Every run writes its result there; type and shape must be the result's. NULL: allocate. With all outputs
 * bound and sizes fixed, runs allocate nothing once warm. Strings cannot be bound. */
AXRUN_API axrun_status axrun_bind_output(axrun_request* request, size_t index, const axrun_tensor* tensor);
AXRUN_API axrun_status axrun_run(axrun_request* request);
/* From now on every run and explanation of the calling thread that takes longer than a tenth of a second asks
 * `poll`, ten times a second and between steps; an answer other than 0 ends it with AXRUN_CANCELLED. For
 * hosts that handle interrupts only when they are asked, as interpreters do. NULL: nobody is asked (the
 * standard). */
typedef int (*axrun_poll_function)(void* context);
AXRUN_API axrun_status axrun_set_poll(axrun_poll_function poll, void* context);
/* Ends the request's run or explanation under way before its next step, with AXRUN_CANCELLED; without one,
 * the next run. From any thread, and from signal handlers. */
AXRUN_API void axrun_cancel(axrun_request* request);
/* Later runs of the request end with AXRUN_DEADLINE before the step at which they have taken so many seconds.
 * 0 or less: no limit (the standard). */
AXRUN_API axrun_status axrun_set_timeout(axrun_request* request, double seconds);
/* The output of the last run; dims and data are valid until the next run, bind or free. */
AXRUN_API axrun_status axrun_get_output(const axrun_request* request, size_t index, axrun_tensor* tensor);

/* Values that runs hand on to later ones: caches of keys and values, the memory of recurrent models. Where an
 * output joins its input and something new, runs write what is new behind what is there, in place. */
typedef struct axrun_state axrun_state;
/* outputs, inputs: names, `count` of each: what output k is in one run, input k is in the next. capacity:
 * positions that values which grow may have. Empty at first (values that do not grow: zero). */
AXRUN_API axrun_status axrun_state_create(axrun_session* session, const char* const* outputs,
                                          const char* const* inputs, size_t count, int64_t capacity,
                                          axrun_state** state);
/* Not during a run with it. */
AXRUN_API void axrun_state_free(axrun_state* state);
/* Another state with the same values, which goes on by itself; copies only when it is written. */
AXRUN_API axrun_status axrun_state_fork(const axrun_state* state, axrun_state** fork);
AXRUN_API axrun_status axrun_state_reset(axrun_state* state);
/* Positions that its values have. */
AXRUN_API axrun_status axrun_state_length(const axrun_state* state, int64_t* length);
/* Copies the value of an input into the state. */
AXRUN_API axrun_status axrun_state_set(axrun_state* state, const char* input, const axrun_tensor* value);
/* A copy of what the input will be in the next run, valid until the next call or free; of type
 * AXRUN_UNDEFINED where a run has yet to tell its sizes. */
AXRUN_API axrun_status axrun_state_get(axrun_state* state, const char* input, axrun_tensor* value);
/* Later runs of the request take the state's inputs from it, and leave its outputs there: neither has to be
 * bound. One run of a state at a time. A run that fails, as one does that exceeds the capacity, leaves it as
 * it was. NULL: without one. */
AXRUN_API axrun_status axrun_use_state(axrun_request* request, axrun_state* state);

/* Any value, or a part of one. */
typedef struct axrun_value {
  int kind;            /* axrun_kind */
  size_t count;        /* parts: elements of a sequence, 0 or 1 of an optional, 2 of a map: keys and values */
  axrun_tensor tensor; /* of AXRUN_KIND_TENSOR; type AXRUN_UNDEFINED where a value is absent */
  const size_t* string_sizes; /* of a tensor of strings: the bytes of each, which may hold null characters */
} axrun_value;
/* The output of the last run, whatever its kind: with depth 0 the whole of it, otherwise the part that
 * `depth` indices lead to. Valid as for axrun_get_output. */
AXRUN_API axrun_status axrun_get_output_value(axrun_request* request, size_t index, const size_t* path,
                                              size_t depth, axrun_value* value);

/* Where a session keeps what it finds, for later ones with the same model. */
typedef struct axrun_cache_info {
  const char* folder;  /* "": there is none */
  const char* trouble; /* why it cannot be used, or only read, though nobody has turned it off; "": nothing */
  int found;           /* 1: there was something for this very model */
  int writable;
} axrun_cache_info;
/* Texts are valid until the next call in this thread. */
AXRUN_API axrun_status axrun_cache_status(const axrun_session* session, axrun_cache_info* info);

/* A number that says how a session fares, as Prometheus names and labels it. */
typedef struct axrun_metric {
  const char* name; /* "axrun_runs_total" */
  const char* help;
  int counter; /* 1: it only grows while the session lives */
  size_t label_count;
  const char* const* label_names;
  const char* const* label_values;
  double value;
} axrun_metric;
/* Calls `sink` with every metric of the session, those of one name in a row, before it returns. */
AXRUN_API axrun_status axrun_session_metrics(const axrun_session* session,
                                             void (*sink)(void* context, const axrun_metric* metric),
                                             void* context);

/* Why the model runs as it does, with the inputs that are bound: for every step its time, its limit and what
 * sets that, the evidence for its kernel, every schedule tried and why it lost. Runs the model that often.
 * *json is JSON in UTF-8 like that of `axrun explain --json`, whose "schema_version" says when a member
 * changes its meaning; free it with axrun_text_free. */
AXRUN_API axrun_status axrun_explain(axrun_request* request, int runs, char** json);
AXRUN_API void axrun_text_free(char* text);

#ifdef __cplusplus
}
#endif
#endif
