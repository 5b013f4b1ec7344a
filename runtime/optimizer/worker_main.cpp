#include "runtime/optimizer/worker_server.h"

int main(int argument_count, char** arguments) {
  return axrun::runtime::serve_requests(argument_count, arguments, axrun::runtime::judge_candidate);
}
