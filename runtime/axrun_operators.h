/* Operators of your own, for models that use more than axrun's.
 *
 * An operator is told by its text, a tensor expression that axrun fuses and optimises like its own:
 *
 *     axrun_operator swish = {0};
 *     swish.domain = "com.example";
 *     swish.name = "Swish";
 *     swish.since = 1;
 *     swish.text = "program Swish(x: f32[n, c]) -> (y) {"
 *                  "  y: f32[n, c] = map (i: n, j: c) { x[i, j] / (1:f32 + exp(-1:f32 * x[i, j])) }"
 *                  "}";
 *     axrun_operators* operators;
 *     axrun_operators_create(&operators);
 *     axrun_operators_add(operators, &swish);
 *     axrun_options_set_operators(options, operators);
 *
 * or by functions: `define` says what types and shapes the outputs of a node have (or gives a text that suits
 * the node), `compute` computes them. Both are called from any thread, several at once. `compute` must be a
 * function of its inputs: it runs as often as somebody needs its outputs, while a model is loaded or
 * measured, too, and not where nobody reads them.
 *
 * A text is a tensor expression: runtime/README.md, "Operators of the user's own", has its rules. Its sizes
 * (n, c) are those of the node's inputs, and must agree; inputs have the types and ranks that it states. With
 * `compute`, a text may have a stage
 *
 *     y: f32[n, m] = opaque custom(x)
 *
 * which calls it with these arguments; sizes that no input has (m) are then told by the call. Where a text
 * has no such stage, the text is what the operator means, and `compute` is run in its place until a faster
 * kernel has been made.
 *
 * Functions that can fail return a status; in a callback it should be passed on, together with what
 * axrun_node_fail and axrun_call_fail say.
 */
#ifndef AXRUN_OPERATORS_H
#define AXRUN_OPERATORS_H

#include "runtime/axrun_c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct axrun_operators axrun_operators; /* a set of operators */
typedef struct axrun_node axrun_node;           /* a node of a model; valid during a callback */
typedef struct axrun_call axrun_call;           /* one execution of a node; valid during a callback */

typedef struct axrun_operator {
  const char* domain;
  const char* name;
  int since; /* the lowest version of the domain that has it; at least 1 */
  /* Changes whenever an operator of this name changes its meaning: what is kept in the cache is kept for this
   * revision. NULL: sessions whose models use it keep nothing, except where `text` tells all. */
  const char* revision;
  const char* text;                                         /* or NULL */
  axrun_status (*define)(void* context, axrun_node* node);  /* or NULL: needed where there is no text */
  axrun_status (*compute)(void* context, axrun_call* call); /* or NULL: needed where a text does not do */
  void* context;                                            /* for the functions */
  void (*release)(void* context); /* or NULL: called once, when neither set nor session needs it any more */
} axrun_operator;

AXRUN_API axrun_status axrun_operators_create(axrun_operators** operators);
/* Sessions keep what they use. */
AXRUN_API void axrun_operators_free(axrun_operators* operators);
/* Fails for operators that axrun or the set has, and for texts that are no program; `release` is then not
 * called. */
AXRUN_API axrun_status axrun_operators_add(axrun_operators* operators, const axrun_operator* made);
/* Of a shared library that exports axrun_status axrun_add_operators(axrun_operators*): calls it. The library
 * stays loaded. */
AXRUN_API axrun_status axrun_operators_load(axrun_operators* operators, const char* path);
/* What the set has now; later additions are not seen. NULL: none. */
AXRUN_API axrun_status axrun_options_set_operators(axrun_options* options, const axrun_operators* operators);

/* --- A node, in `define`; its names and attributes in `compute`, too
 * ---------------------------------------- */

AXRUN_API const char* axrun_node_name(const axrun_node* node);
AXRUN_API const char* axrun_node_operator(const axrun_node* node);
AXRUN_API int axrun_node_version(const axrun_node* node);
/* Trailing ones that are left out do not count. */
AXRUN_API size_t axrun_node_input_count(const axrun_node* node);
AXRUN_API size_t axrun_node_output_count(const axrun_node* node);
AXRUN_API int axrun_node_has_input(const axrun_node* node, size_t index);
AXRUN_API int axrun_node_wants_output(const axrun_node* node, size_t index);

/* What follows may be unknown when a model is loaded. It then answers AXRUN_NOT_YET: return it, `define` is
 * called again when more is known, at the latest before the node is run. */
AXRUN_API axrun_status axrun_node_input_type(axrun_node* node, size_t index, int* type);
AXRUN_API axrun_status axrun_node_input_rank(axrun_node* node, size_t index, size_t* rank);
/* As many as the rank says; valid as long as the node. */
AXRUN_API axrun_status axrun_node_input_dims(axrun_node* node, size_t index, const int64_t** dims);
/* For operators whose outputs' shapes follow from an input's elements. Such a node is defined anew for every
 * value of that input: ask for small ones only. */
AXRUN_API axrun_status axrun_node_input_value(axrun_node* node, size_t index, axrun_tensor* value);

/* Attributes. Where there is none of the name, *value stays what it is: put the default there. One of another
 * kind is an error. Pointers are valid as long as the node. */
AXRUN_API axrun_status axrun_node_integer(axrun_node* node, const char* name, int64_t* value);
AXRUN_API axrun_status axrun_node_real(axrun_node* node, const char* name, double* value);
AXRUN_API axrun_status axrun_node_string(axrun_node* node, const char* name, const char** value);
AXRUN_API axrun_status axrun_node_integers(axrun_node* node, const char* name, const int64_t** values,
                                           size_t* count);
AXRUN_API axrun_status axrun_node_reals(axrun_node* node, const char* name, const double** values,
                                        size_t* count);
AXRUN_API axrun_status axrun_node_strings(axrun_node* node, const char* name, const char* const** values,
                                          size_t* count);
AXRUN_API axrun_status axrun_node_tensor(axrun_node* node, const char* name, axrun_tensor* value);

/* Output `index` is a dense tensor of this type and shape. A negative dim: only the call can tell. */
AXRUN_API axrun_status axrun_node_set_output(axrun_node* node, size_t index, int type, const int64_t* dims,
                                             size_t rank);
/* Instead of outputs: the node is this program; `compute` runs in its stages "custom" only. */
AXRUN_API axrun_status axrun_node_set_text(axrun_node* node, const char* text);
/* What `compute` gets as axrun_call_state: kept with the node's definition, of which there may be several at
 * a time. release may be NULL. */
AXRUN_API axrun_status axrun_node_set_state(axrun_node* node, void* state, void (*release)(void* state));
/* The node is invalid: return what this returns. */
AXRUN_API axrun_status axrun_node_fail(axrun_node* node, const char* text);

/* --- A call, in `compute` ---------------------------------------------------------------------------------
 */

AXRUN_API axrun_node* axrun_call_node(axrun_call* call);
AXRUN_API void* axrun_call_state(const axrun_call* call);
AXRUN_API size_t axrun_call_input_count(const axrun_call* call);
AXRUN_API size_t axrun_call_output_count(const axrun_call* call);
/* Type AXRUN_UNDEFINED where the input is absent. Strings are const char*. */
AXRUN_API axrun_status axrun_call_input(axrun_call* call, size_t index, axrun_tensor* tensor);
/* The bytes of each of an input's strings, which may hold null characters. */
AXRUN_API axrun_status axrun_call_input_string_sizes(axrun_call* call, size_t index, const size_t** sizes);
/* Where to write an output whose dims are known; type AXRUN_UNDEFINED where nobody reads it. Its bytes may
 * hold anything before. */
AXRUN_API axrun_status axrun_call_output(axrun_call* call, size_t index, axrun_tensor* tensor);
/* The same where dims were left open. */
AXRUN_API axrun_status axrun_call_make_output(axrun_call* call, size_t index, const int64_t* dims,
                                              size_t rank, axrun_tensor* tensor);
/* The whole of an output of strings. sizes: NULL for strings that end with a null character. */
AXRUN_API axrun_status axrun_call_set_strings(axrun_call* call, size_t index, const int64_t* dims,
                                              size_t rank, const char* const* strings, const size_t* sizes);
/* Calls body(context, begin, end) for parts of 0..count, perhaps at the same time, on the threads of the run.
 */
AXRUN_API axrun_status axrun_call_parallel_for(axrun_call* call, int64_t count,
                                               void (*body)(void* context, int64_t begin, int64_t end),
                                               void* context);
/* The inputs' data is at fault: return what this returns. */
AXRUN_API axrun_status axrun_call_fail(axrun_call* call, const char* text);

#ifdef __cplusplus
}
#endif
#endif
