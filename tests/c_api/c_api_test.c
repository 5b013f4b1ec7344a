/* The C interface, from a C program. Usage: c_api_test DEMONSTRATION_MODEL; the model's input is "image" f32
 * [batch, 3, 32, 32], its output "scores" f32 [batch, 10]. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/axrun_c.h"

#define CHECK(condition)                                                                                    \
  do {                                                                                                      \
    if (!(condition)) {                                                                                     \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, axrun_last_error()); \
      exit(1);                                                                                              \
    }                                                                                                       \
  } while (0)

enum { channels = 3, side = 32, classes = 10, image_size = channels * side * side };

static const char* model_path;

static void fill(float* image, size_t count, int variant) {
  for (size_t k = 0; k < count; ++k) image[k] = sinf((float)(k % 977) * 0.37f + (float)variant);
}

static axrun_tensor tensor(const int64_t* dims, size_t rank, void* data, size_t bytes) {
  axrun_tensor made = {AXRUN_F32, rank, dims, data, bytes};
  return made;
}

/* Scores of one image, through a request that allocates its output. */
static void scores_of(axrun_session* session, int variant, float* scores) {
  static const int64_t dims[4] = {1, channels, side, side};
  float image[image_size];
  fill(image, image_size, variant);
  axrun_request* request;
  CHECK(axrun_request_create(session, &request) == AXRUN_OK);
  const axrun_tensor input = tensor(dims, 4, image, sizeof image);
  CHECK(axrun_bind_input(request, 0, &input) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_OK);
  axrun_tensor output;
  CHECK(axrun_get_output(request, 0, &output) == AXRUN_OK);
  CHECK(output.type == AXRUN_F32 && output.rank == 2 && output.dims[0] == 1 && output.dims[1] == classes);
  CHECK(output.bytes == classes * sizeof(float));
  memcpy(scores, output.data, output.bytes);
  axrun_request_free(request);
}

/* What cannot be handed on is refused; the tests of the C++ and Python interfaces run with states. */
static void check_states(axrun_session* session) {
  const char* const outputs[2] = {"scores", "scores"};
  const char* const inputs[2] = {"image", "picture"};
  axrun_state* state = NULL;
  int64_t length = 0;
  CHECK(axrun_state_create(session, outputs, inputs, 1, 8, &state) == AXRUN_USER_ERROR);
  CHECK(strstr(axrun_last_error(), "'scores'") != NULL);
  CHECK(strcmp(axrun_last_error_input(), "image") == 0);
  CHECK(axrun_state_create(session, outputs, inputs + 1, 1, 8, &state) == AXRUN_USER_ERROR);
  CHECK(axrun_state_create(session, outputs, inputs, 2, 8, &state) == AXRUN_USER_ERROR);
  CHECK(axrun_state_create(session, NULL, NULL, 0, 8, &state) == AXRUN_USER_ERROR);
  CHECK(axrun_state_create(NULL, outputs, inputs, 1, 8, &state) == AXRUN_USER_ERROR);
  CHECK(axrun_state_length(NULL, &length) == AXRUN_USER_ERROR);
  CHECK(axrun_state_reset(NULL) == AXRUN_USER_ERROR);
  CHECK(axrun_state_fork(NULL, &state) == AXRUN_USER_ERROR);
  CHECK(axrun_use_state(NULL, NULL) == AXRUN_USER_ERROR);
  axrun_state_free(NULL);
}

static void check_description(axrun_session* session) {
  CHECK(axrun_input_count(session) == 1 && axrun_output_count(session) == 1);
  axrun_port port;
  CHECK(axrun_input_info(session, 0, &port) == AXRUN_OK);
  CHECK(strcmp(port.name, "image") == 0 && port.kind == AXRUN_KIND_TENSOR && port.type == AXRUN_F32);
  CHECK(port.rank == 4 && port.dims[0] == -1 && port.dims[1] == 3 && port.dims[2] == 32);
  CHECK(strcmp(port.dim_names[0], "batch") == 0 && strcmp(port.dim_names[1], "") == 0);
  CHECK(axrun_output_info(session, 0, &port) == AXRUN_OK);
  CHECK(strcmp(port.name, "scores") == 0);
}

static void check_scores(const float* scores) {
  float sum = 0;
  for (int k = 0; k < classes; ++k) {
    CHECK(scores[k] >= 0 && scores[k] <= 1);
    sum += scores[k];
  }
  CHECK(fabsf(sum - 1) < 1e-4f);
}

/* Bound outputs hold what allocated ones hold, run after run. */
static void check_bound(axrun_session* session) {
  static const int64_t image_dims[4] = {2, channels, side, side};
  static const int64_t score_dims[2] = {2, classes};
  static float images[2 * image_size];
  float scores[2 * classes], first[classes], second[classes];
  axrun_request* request;
  CHECK(axrun_request_create(session, &request) == AXRUN_OK);
  const axrun_tensor input = tensor(image_dims, 4, images, sizeof images);
  const axrun_tensor output = tensor(score_dims, 2, scores, sizeof scores);
  CHECK(axrun_bind_input(request, 0, &input) == AXRUN_OK);
  CHECK(axrun_bind_output(request, 0, &output) == AXRUN_OK);
  for (int variant = 0; variant < 3; ++variant) {
    fill(images, image_size, variant);
    fill(images + image_size, image_size, variant + 7);
    memset(scores, 0, sizeof scores);
    CHECK(axrun_run(request) == AXRUN_OK);
    scores_of(session, variant, first);
    scores_of(session, variant + 7, second);
    for (int k = 0; k < classes; ++k) {
      CHECK(fabsf(scores[k] - first[k]) < 1e-5f);
      CHECK(fabsf(scores[classes + k] - second[k]) < 1e-5f);
    }
  }
  axrun_request_free(request);
}

static void check_failures(axrun_session* session) {
  axrun_session* none = NULL;
  CHECK(axrun_session_load("no such file.onnx", NULL, &none) == AXRUN_USER_ERROR && none == NULL);
  CHECK(strstr(axrun_last_error(), "no such file.onnx") != NULL);
  CHECK(axrun_session_load_memory("garbage", 7, NULL, NULL, &none) == AXRUN_MODEL_ERROR);
  CHECK(axrun_session_load(NULL, NULL, &none) == AXRUN_USER_ERROR);
  CHECK(strcmp(axrun_last_error_input(), "") == 0);
  axrun_port port;
  CHECK(axrun_input_info(session, 1, &port) == AXRUN_USER_ERROR);

  static const int64_t wrong_dims[3] = {3, side, side};
  static const int64_t dims[4] = {1, channels, side, side};
  static const int64_t too_many[4] = {1 << 20, 1 << 20, 1 << 20, 1 << 20};
  static float image[image_size];
  axrun_request* request;
  CHECK(axrun_request_create(session, &request) == AXRUN_OK);
  axrun_tensor given;
  CHECK(axrun_get_output(request, 0, &given) == AXRUN_USER_ERROR);
  CHECK(axrun_run(request) == AXRUN_USER_ERROR);
  CHECK(strstr(axrun_last_error(), "image") != NULL);
  CHECK(strcmp(axrun_last_error_input(), "image") == 0);
  CHECK(strcmp(axrun_last_error_node(), "") == 0 && strcmp(axrun_last_error_op(), "") == 0);
  given = tensor(dims, 4, image, sizeof image - 1);
  CHECK(axrun_bind_input(request, 0, &given) == AXRUN_USER_ERROR);
  given = tensor(too_many, 4, image, sizeof image);
  CHECK(axrun_bind_input(request, 0, &given) == AXRUN_USER_ERROR);
  given = tensor(dims, 4, image, sizeof image);
  given.type = 99;
  CHECK(axrun_bind_input(request, 0, &given) == AXRUN_USER_ERROR);
  given = tensor(wrong_dims, 3, image, sizeof image);
  CHECK(axrun_bind_input(request, 0, &given) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_USER_ERROR);
  CHECK(strstr(axrun_last_error(), "image") != NULL);
  /* A failed run leaves no answer behind, and the request works on. */
  CHECK(axrun_get_output(request, 0, &given) == AXRUN_USER_ERROR);
  given = tensor(dims, 4, image, sizeof image);
  CHECK(axrun_bind_input(request, 0, &given) == AXRUN_OK);
  static const int64_t small[1] = {3};
  float three[3];
  given = tensor(small, 1, three, sizeof three);
  CHECK(axrun_bind_output(request, 0, &given) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_USER_ERROR);
  CHECK(axrun_bind_output(request, 0, NULL) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_OK);
  axrun_request_free(request);
  axrun_request_free(NULL);
  axrun_session_free(NULL);
  axrun_options_free(NULL);
}

static void check_options(void) {
  axrun_options* options;
  CHECK(axrun_options_create(&options) == AXRUN_OK);
  CHECK(axrun_options_set_threads(options, 1) == AXRUN_OK);
  CHECK(axrun_options_set_threads(options, -1) == AXRUN_USER_ERROR);
  CHECK(axrun_options_set_tier(options, AXRUN_TIER_REFERENCE) == AXRUN_OK);
  CHECK(axrun_options_set_tier(options, 17) == AXRUN_USER_ERROR);
  CHECK(axrun_options_set_dim(options, "batch", 1) == AXRUN_OK);
  CHECK(axrun_options_set_memory_limit(options, -1) == AXRUN_USER_ERROR);
  CHECK(axrun_options_set_memory_limit(options, (int64_t)1 << 30) == AXRUN_OK);
  CHECK(axrun_options_set_cache(options, NULL) == AXRUN_OK);
  axrun_session* reference;
  CHECK(axrun_session_load(model_path, options, &reference) == AXRUN_OK);
  axrun_port port;
  CHECK(axrun_input_info(reference, 0, &port) == AXRUN_OK && port.dims[0] == 1);
  float exact[classes], fast[classes];
  scores_of(reference, 1, exact);
  axrun_session_free(reference);
  CHECK(axrun_options_set_dim(options, "nothing", 1) == AXRUN_OK);
  CHECK(axrun_session_load(model_path, options, &reference) == AXRUN_USER_ERROR);
  axrun_options_free(options);

  axrun_session* session;
  CHECK(axrun_session_load(model_path, NULL, &session) == AXRUN_OK);
  scores_of(session, 1, fast);
  for (int k = 0; k < classes; ++k) CHECK(fabsf(exact[k] - fast[k]) < 1e-4f);
  axrun_session_free(session);
}

static void check_optimizer(axrun_session* session) {
  axrun_options* options;
  CHECK(axrun_options_create(&options) == AXRUN_OK);
  CHECK(axrun_options_set_optimizer_threads(options, -1) == AXRUN_USER_ERROR);
  CHECK(axrun_options_set_optimizer_threads(options, 1) == AXRUN_OK);
  CHECK(axrun_options_set_optimizer_priority(options, AXRUN_PRIORITY_NORMAL + 1) == AXRUN_USER_ERROR);
  CHECK(axrun_options_set_optimizer_priority(options, AXRUN_PRIORITY_IDLE) == AXRUN_OK);
  CHECK(axrun_options_set_optimizer_share(options, 0) == AXRUN_USER_ERROR);
  CHECK(axrun_options_set_optimizer_share(options, 1.5) == AXRUN_USER_ERROR);
  CHECK(axrun_options_set_optimizer_share(options, 0.25) == AXRUN_OK);
  CHECK(axrun_options_set_fp(options, 3) == AXRUN_USER_ERROR);
  CHECK(axrun_options_set_fp(options, AXRUN_FP_BILINEAR) == AXRUN_OK);
  CHECK(axrun_options_set_deterministic(options, 1) == AXRUN_OK);
  CHECK(axrun_options_set_optimize(options, 0) == AXRUN_OK);
  axrun_session* plain;
  CHECK(axrun_session_load(model_path, options, &plain) == AXRUN_OK);
  axrun_options_free(options);
  axrun_optimizer_info info;
  CHECK(axrun_optimizer_status(plain, &info) == AXRUN_OK);
  CHECK(strcmp(info.state, "off") == 0 && strlen(info.reason) > 0);
  int done = 0;
  CHECK(axrun_optimizer_wait(plain, 1, &done) == AXRUN_OK && done == 1);
  axrun_session_free(plain);

  /* However far it has come: from now on answers are the same to the bit. */
  CHECK(axrun_optimizer_wait(session, 1, &done) == AXRUN_OK);
  CHECK(axrun_optimizer_freeze(session) == AXRUN_OK);
  CHECK(axrun_optimizer_status(session, &info) == AXRUN_OK);
  CHECK(strcmp(info.state, "frozen") == 0 || strcmp(info.state, "stopped") == 0 ||
        strcmp(info.state, "off") == 0);
  CHECK(axrun_optimizer_status(NULL, &info) == AXRUN_USER_ERROR);
}

static int end_at_once(void* asked) {
  ++*(int*)asked;
  return 1;
}

static void check_ends(axrun_session* session) {
  axrun_request* request;
  CHECK(axrun_request_create(session, &request) == AXRUN_OK);
  static const int64_t dims[4] = {1, channels, side, side};
  float image[image_size];
  fill(image, image_size, 1);
  const axrun_tensor input = tensor(dims, 4, image, sizeof image);
  CHECK(axrun_bind_input(request, 0, &input) == AXRUN_OK);
  axrun_cancel(request);
  CHECK(axrun_run(request) == AXRUN_CANCELLED);
  CHECK(strstr(axrun_last_error(), "cancelled") != NULL);
  axrun_tensor scores;
  CHECK(axrun_get_output(request, 0, &scores) == AXRUN_USER_ERROR);
  CHECK(axrun_run(request) == AXRUN_OK);
  CHECK(axrun_set_timeout(request, 1e-9) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_DEADLINE);
  CHECK(axrun_set_timeout(request, 1e300) == AXRUN_USER_ERROR);
  CHECK(axrun_set_timeout(request, 0) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_OK);
  /* Runs this short ask nobody; explanations of many ask, and end. */
  int asked = 0;
  CHECK(axrun_set_poll(end_at_once, &asked) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_OK);
  CHECK(asked == 0);
  char* json = NULL;
  CHECK(axrun_explain(request, 1 << 30, &json) == AXRUN_CANCELLED);
  CHECK(asked == 1);
  CHECK(axrun_set_poll(NULL, NULL) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_OK);
  axrun_cancel(NULL);
  axrun_request_free(request);
}

/* A model of one Identity, by hand: protobuf's wire format. */
static axrun_session* identity_of_strings(void) {
  static const unsigned char model[] = {
      0x08, 0x08, /* IR version 8 */
      0x3a, 0x2f, /* graph */
      0x0a, 0x10, 0x0a, 0x01, 'a', 0x12, 0x01, 'y',  0x22, 0x08, 'I',  'd',  'e',
      'n',  't',  'i',  't',  'y', 0x12, 0x01, 'g',                                /* its name */
      0x5a, 0x0b, 0x0a, 0x01, 'a', 0x12, 0x06, 0x0a, 0x04, 0x08, 0x08, 0x12, 0x00, /* a: string, no dims */
      0x62, 0x0b, 0x0a, 0x01, 'y', 0x12, 0x06, 0x0a, 0x04, 0x08, 0x08, 0x12, 0x00, /* y */
      0x42, 0x02, 0x10, 0x11};                                                     /* opset 17 */
  axrun_session* session;
  CHECK(axrun_session_load_memory(model, sizeof model, NULL, NULL, &session) == AXRUN_OK);
  return session;
}

/* Strings with null characters in them, and values as parts of others. */
static void check_values(axrun_session* session) {
  axrun_session* strings = identity_of_strings();
  axrun_request* request;
  CHECK(axrun_request_create(strings, &request) == AXRUN_OK);
  axrun_value value;
  CHECK(axrun_get_output_value(request, 0, NULL, 0, &value) == AXRUN_USER_ERROR);
  const char* text = "nu\0l";
  const size_t size = 4;
  CHECK(axrun_bind_input_strings(request, 0, NULL, 0, &text, NULL) == AXRUN_USER_ERROR);
  CHECK(axrun_bind_input_strings(request, 1, NULL, 0, &text, &size) == AXRUN_USER_ERROR);
  CHECK(axrun_bind_input_strings(request, 0, NULL, 0, &text, &size) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_OK);
  CHECK(axrun_get_output_value(request, 0, NULL, 0, &value) == AXRUN_OK);
  CHECK(value.kind == AXRUN_KIND_TENSOR && value.tensor.type == AXRUN_STRING && value.tensor.rank == 0);
  CHECK(value.string_sizes[0] == 4 && memcmp(*(const char**)value.tensor.data, text, 5) == 0);
  const size_t part = 0;
  CHECK(axrun_get_output_value(request, 0, &part, 1, &value) == AXRUN_USER_ERROR);
  CHECK(strstr(axrun_last_error(), "0 parts") != NULL);
  axrun_request_free(request);
  axrun_session_free(strings);

  CHECK(axrun_request_create(session, &request) == AXRUN_OK);
  static const int64_t dims[4] = {1, channels, side, side};
  float image[image_size], scores[classes];
  fill(image, image_size, 1);
  const axrun_tensor input = tensor(dims, 4, image, sizeof image);
  CHECK(axrun_bind_input_parts(request, 0, AXRUN_KIND_MAP, &input, 1) == AXRUN_USER_ERROR);
  CHECK(axrun_bind_input_parts(request, 0, AXRUN_KIND_OPTIONAL, &input, 2) == AXRUN_USER_ERROR);
  /* Bound, but not what the model takes; what is bound last counts. */
  CHECK(axrun_bind_input_parts(request, 0, AXRUN_KIND_SEQUENCE, &input, 1) == AXRUN_OK);
  CHECK(axrun_run(request) == AXRUN_USER_ERROR);
  CHECK(axrun_bind_input(request, 0, &input) == AXRUN_OK);
  static const int64_t score_dims[2] = {1, classes};
  const axrun_tensor output = tensor(score_dims, 2, scores, sizeof scores);
  for (int bound = 0; bound < 2; ++bound) {
    if (bound) CHECK(axrun_bind_output(request, 0, &output) == AXRUN_OK);
    CHECK(axrun_run(request) == AXRUN_OK);
    CHECK(axrun_get_output_value(request, 0, NULL, 0, &value) == AXRUN_OK);
    CHECK(value.kind == AXRUN_KIND_TENSOR && value.count == 0 && value.tensor.bytes == sizeof scores);
    CHECK(!bound || value.tensor.data == scores);
    CHECK(axrun_get_output_value(request, 0, &part, 1, &value) == AXRUN_USER_ERROR);
  }
  axrun_request_free(request);
}

static void count_runs(void* context, const axrun_metric* metric) {
  CHECK(strlen(metric->help) > 0);
  if (strcmp(metric->name, "axrun_runs_total") != 0) return;
  CHECK(metric->counter == 1 && metric->label_count == 1 && strcmp(metric->label_names[0], "result") == 0);
  *(double*)context += metric->value;
}

static void check_explanation(axrun_session* session) {
  axrun_request* request;
  CHECK(axrun_request_create(session, &request) == AXRUN_OK);
  char* json = NULL;
  CHECK(axrun_explain(request, 1, &json) == AXRUN_USER_ERROR && json == NULL);
  CHECK(strstr(axrun_last_error(), "'image' is not bound") != NULL);
  static const int64_t dims[4] = {1, channels, side, side};
  float image[image_size];
  fill(image, image_size, 1);
  const axrun_tensor input = tensor(dims, 4, image, sizeof image);
  CHECK(axrun_bind_input(request, 0, &input) == AXRUN_OK);
  CHECK(axrun_explain(request, 0, &json) == AXRUN_USER_ERROR && json == NULL);
  CHECK(axrun_explain(request, 3, &json) == AXRUN_OK);
  CHECK(json[0] == '{' && strstr(json, "\"steps\":[{\"node\":") != NULL &&
        strstr(json, "\"runs\":3") != NULL);
  axrun_text_free(json);
  axrun_text_free(NULL);
  axrun_request_free(request);
}

static void check_metrics(axrun_session* session) {
  double before = 0, after = 0;
  float scores[classes];
  CHECK(axrun_session_metrics(session, count_runs, &before) == AXRUN_OK);
  scores_of(session, 1, scores);
  CHECK(axrun_session_metrics(session, count_runs, &after) == AXRUN_OK);
  CHECK(after == before + 1);
  CHECK(axrun_session_metrics(session, NULL, NULL) == AXRUN_USER_ERROR);
}

static void* run_often(void* session) {
  float scores[classes], again[classes];
  scores_of(session, 5, scores);
  for (int k = 0; k < 50; ++k) {
    scores_of(session, 5, again);
    CHECK(memcmp(scores, again, sizeof scores) == 0);
  }
  return NULL;
}

static void remember_line(void* context, int level, const char* line) {
  char* last = context;
  if (level == AXRUN_LOG_INFO && strstr(line, "event=model_loaded") != NULL) {
    strncpy(last, line, 999);
  }
}

static void check_log(void) {
  char last[1000] = "";
  axrun_session* session;
  CHECK(axrun_set_log(7, remember_line, last) == AXRUN_USER_ERROR);
  CHECK(axrun_set_log(AXRUN_LOG_INFO, remember_line, last) == AXRUN_OK);
  CHECK(axrun_session_load(model_path, NULL, &session) == AXRUN_OK);
  CHECK(strncmp(last, "level=info event=model_loaded model=", 36) == 0);
  CHECK(strstr(last, " ms=") != NULL);
  CHECK(axrun_set_log(AXRUN_LOG_OFF, NULL, NULL) == AXRUN_OK);
  last[0] = 0;
  axrun_session_free(session);
  CHECK(axrun_session_load(model_path, NULL, &session) == AXRUN_OK);
  CHECK(last[0] == 0);
  axrun_session_free(session);
  CHECK(strcmp(axrun_status_name(AXRUN_DEADLINE), "deadline") == 0);
  CHECK(strcmp(axrun_status_name(AXRUN_USER_ERROR), "user") == 0);
  CHECK(strcmp(axrun_status_name(AXRUN_INTERNAL_ERROR), "internal") == 0);
}

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  model_path = argv[1];
  CHECK(strchr(axrun_version(), '.') != NULL);
  axrun_session* session;
  CHECK(axrun_session_load(model_path, NULL, &session) == AXRUN_OK);
  check_description(session);
  check_states(session);
  float scores[classes];
  scores_of(session, 0, scores);
  check_scores(scores);
  check_bound(session);
  check_failures(session);
  check_options();
  check_log();
  check_optimizer(session);
  check_ends(session);
  check_values(session);
  check_metrics(session);
  check_explanation(session);
  pthread_t threads[4];
  for (int k = 0; k < 4; ++k) CHECK(pthread_create(&threads[k], NULL, run_often, session) == 0);
  for (int k = 0; k < 4; ++k) CHECK(pthread_join(threads[k], NULL) == 0);
  axrun_session_free(session);
  puts("the C interface works");
  return 0;
}
