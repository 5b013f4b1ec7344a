// A program against the installed C++ interface: runs the demonstration model on made-up inputs.
#include <cmath>
#include <iostream>

#include "ir/error.h"
#include "runtime/metrics.h"
#include "runtime/run_control.h"

// Both ways to name a header lead to one file.
#include <axrun/ir/error.h>
#include <axrun/runtime/session.h>

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  namespace runtime = axrun::runtime;
  runtime::SessionOptions options;
  options.threads = 1;
  options.dims["batch"] = 2;
  const auto session = runtime::Session::load(argv[1], options);
  const auto inputs = runtime::make_inputs(*session, options, 0, 0, nullptr);
  const axrun::ir::Tensor scores = session->run(inputs)[0].tensor;
  if (scores.shape() != axrun::ir::Shape{2, 10}) return 1;
  double sum = 0;
  for (int64_t k = 0; k < scores.size(); ++k) sum += scores.get_real(k);
  if (std::fabs(sum - 2) > 1e-4) return 1;
  std::cout << session->inputs()[0].name << ' ' << axrun::ir::to_string(scores.shape()) << '\n';
  runtime::RunControl control;
  control.cancel();
  try {
    session->run(inputs, &control);
    return 1;
  } catch (const runtime::RunEnded&) {
  }
  double runs = 0;
  session->report_metrics([&](const runtime::Metric& metric) {
    if (metric.name == "axrun_runs_total") runs += metric.value;
  });
  if (runs != 2) return 1;
  try {
    runtime::Session::load("missing.onnx");
  } catch (const axrun::Error& error) {
    return error.fault() == axrun::Fault::user ? 0 : 1;
  }
  return 1;
}
