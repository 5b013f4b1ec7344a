// The program around an engine: everything that is measured is measured here, in the same way for every
// engine.
//
//   int main(int argc, char** argv) { return host_main(argc, argv, {"ort_host", flags, load}); }
//
// Order of events: main starts, `load` returns a session that is ready (load_ms), inputs are read or made up,
// `bind` takes them, the first `run` answers (start_to_first_ms). Then either `settle` and the timed runs, or
// the `--serve` loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "perf/host/options.h"
#include "perf/host/tensor.h"

namespace axrun::perf {

/// One output of the last run. Values that are no tensors (sequences, maps) are named, not saved.
struct Output {
  std::string name;
  std::string kind;  // "tensor", "sequence", "map", ...
  Tensor tensor;     // when kind is "tensor"
};

/// A loaded model. Failures are thrown as HostError.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// How long creating the session itself took, out of the time of `load`.
  virtual double session_ms() const = 0;
  /// Inputs that must be given, in the model's order (initializers left out).
  virtual std::vector<InputDeclaration> inputs() const = 0;
  /// Called once, before the first run; the tensors (in the order of inputs()) outlive the engine.
  virtual void bind(const std::vector<Tensor>& inputs) = 0;
  /// One inference on the bound inputs. Everything in it is timed, so outputs are not copied out here.
  virtual void run() = 0;
  /// Called once, after the first run and outside all timing: the place to fix the memory of outputs.
  virtual void after_first_run() {}
  /// Waits for what the engine does in the background, ends it, and says what came of it, as a JSON object.
  virtual std::string settle() { return "{}"; }
  /// Outputs of the last run, in the model's order.
  virtual std::vector<Output> outputs() = 0;
};

struct Program {
  std::string name;
  std::vector<EngineFlag> flags;
  /// Loads the model and makes it ready to run.
  std::function<std::unique_ptr<Engine>(const Options& options)> load;
};

/// Runs the whole program and returns its exit code; failures go to stderr as one line.
int host_main(int argc, char** argv, const Program& program);

}  // namespace axrun::perf
