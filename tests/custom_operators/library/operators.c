/* A shared library with an operator, as a user writes it: MyClip(x; low = 0, high = 6) of com.example. */
#include <stdio.h>

#include "runtime/axrun_operators.h"

static axrun_status define_clip(void* context, axrun_node* node) {
  (void)context;
  double low = 0, high = 6;
  size_t rank = 0;
  axrun_status status = axrun_node_real(node, "low", &low);
  if (status == AXRUN_OK) status = axrun_node_real(node, "high", &high);
  if (status == AXRUN_OK) status = axrun_node_input_rank(node, 0, &rank);
  if (status != AXRUN_OK) return status;
  if (low > high) return axrun_node_fail(node, "low is above high");
  if (rank > 8) return axrun_node_fail(node, "it clips tensors of at most 8 dimensions");
  /* A text that suits the node: of its rank, with its attributes. */
  static const char* const sizes[] = {"",
                                      "a",
                                      "a, b",
                                      "a, b, c",
                                      "a, b, c, d",
                                      "a, b, c, d, e",
                                      "a, b, c, d, e, f",
                                      "a, b, c, d, e, f, g",
                                      "a, b, c, d, e, f, g, h"};
  static const char* const axes[] = {"",
                                     "i: a",
                                     "i: a, j: b",
                                     "i: a, j: b, k: c",
                                     "i: a, j: b, k: c, l: d",
                                     "i: a, j: b, k: c, l: d, m: e",
                                     "i: a, j: b, k: c, l: d, m: e, n: f",
                                     "i: a, j: b, k: c, l: d, m: e, n: f, o: g",
                                     "i: a, j: b, k: c, l: d, m: e, n: f, o: g, p: h"};
  static const char* const indices[] = {"",
                                        "i",
                                        "i, j",
                                        "i, j, k",
                                        "i, j, k, l",
                                        "i, j, k, l, m",
                                        "i, j, k, l, m, n",
                                        "i, j, k, l, m, n, o",
                                        "i, j, k, l, m, n, o, p"};
  char text[1024];
  snprintf(
      text, sizeof text,
      "program Clip(x: f32[%s]) -> (y) { y: f32[%s] = map (%s) { min(max(x[%s], %.9g:f32), %.9g:f32) } }",
      sizes[rank], sizes[rank], axes[rank], indices[rank], low, high);
  return axrun_node_set_text(node, text);
}

AXRUN_API axrun_status axrun_add_operators(axrun_operators* operators) {
  axrun_operator clip = {0};
  clip.domain = "com.example";
  clip.name = "MyClip";
  clip.since = 1;
  clip.revision = "1";
  clip.define = define_clip;
  return axrun_operators_add(operators, &clip);
}
