#pragma once

#include <vector>

#include "runtime/session.h"

namespace axrun::cli {

/// Calls a session in the fastest way that its values allow, on inputs that outlive this.
class Runner {
 public:
  Runner(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs)
      : session_(session), inputs_(inputs) {}

  void first() { outputs_ = session_.run(inputs_); }

  /// From now on outputs are written where the first run's are, copied to memory of their own: the first run
  /// may have answered with a constant of the model. Values that are no plain tensors are not bound.
  void bind();

  double timed_ms();

  bool bound() const { return bound_; }

  std::vector<runtime::RuntimeValue> take_outputs();

 private:
  runtime::Session& session_;
  const std::vector<runtime::RuntimeValue>& inputs_;
  std::vector<runtime::RuntimeValue> outputs_;
  std::vector<ir::Tensor> bound_inputs_, bound_outputs_;
  bool bound_ = false;
};

}  // namespace axrun::cli
