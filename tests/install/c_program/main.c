/* A program against the installed C interface: runs the demonstration model on zeros. */
#include <runtime/axrun_c.h>
#include <stdio.h>

int main(int argc, char** argv) {
  axrun_session* session;
  axrun_request* request;
  axrun_tensor output;
  static float image[3 * 32 * 32];
  static const int64_t dims[4] = {1, 3, 32, 32};
  const axrun_tensor input = {AXRUN_F32, 4, dims, image, sizeof image};
  float sum = 0;
  if (argc != 2 || axrun_session_load(argv[1], NULL, &session) != AXRUN_OK ||
      axrun_request_create(session, &request) != AXRUN_OK ||
      axrun_bind_input(request, 0, &input) != AXRUN_OK || axrun_run(request) != AXRUN_OK ||
      axrun_get_output(request, 0, &output) != AXRUN_OK) {
    puts(axrun_last_error());
    return 1;
  }
  for (size_t k = 0; k < output.bytes / sizeof(float); ++k) sum += ((const float*)output.data)[k];
  printf("axrun %s, sum of scores %.3f\n", axrun_version(), (double)sum);
  axrun_request_free(request);
  axrun_session_free(session);
  return sum > 0.999F && sum < 1.001F ? 0 : 1;
}
