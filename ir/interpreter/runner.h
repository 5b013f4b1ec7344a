#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/interpreter/stage.h"

namespace axrun::ir::interpreter {

/// Executes one program, keeping its compiled stages from run to run: a scan runs its step many times.
class ProgramRunner {
 public:
  /// `outer`: sizes known from an enclosing program; scan_length: of the scan whose step this is.
  ProgramRunner(const Program& program, const EvaluateOptions& options, Bindings outer = {},
                int64_t scan_length = 1);

  std::vector<Tensor> run(const std::vector<Tensor>& operands, int64_t time);

 private:
  struct Compiled {
    Bindings bindings;
    std::unique_ptr<StageCode> code;
    std::unique_ptr<ProgramRunner> step;
  };
  void take_operands(const std::vector<Tensor>& operands);
  void run_stage(size_t number, int64_t time);
  std::vector<Tensor> run_scan(const Stage& stage, Compiled& compiled, const std::string& where);
  std::vector<Tensor> run_opaque(const Stage& stage, const std::string& where);
  void find_last_uses();
  const TensorDecl& declared(TensorId id) const { return program_.tensors[static_cast<size_t>(id)]; }

  const Program& program_;
  const EvaluateOptions& options_;
  const Bindings outer_;
  Bindings bindings_;
  int64_t scan_length_;
  std::vector<Tensor> tensors_;
  std::vector<Compiled> compiled_;
  std::vector<std::vector<TensorId>> last_uses_;  ///< tensors that no stage after this one reads
};

}  // namespace axrun::ir::interpreter
