#include "search/single_steps.h"

#include <algorithm>

#include "search/rebuild.h"

namespace axrun::search {

using ir::Dims;
using ir::Indices;
using ir::Program;
using ir::Stage;
using ir::TensorId;
using ir::TensorRef;

namespace {

bool is_single(const Stage& stage) { return stage.kind == ir::StageKind::scan && stage.length == ir::Dim(1); }

/// Final states, then what is emitted, stacked.
void copy_single_step(ir::Builder& builder, const Stage& scan, std::map<TensorId, TensorRef>& tensors) {
  std::vector<TensorRef> operands;
  for (const TensorId id : scan.captures) operands.push_back(tensors.at(id));
  for (const TensorId id : scan.initial) operands.push_back(tensors.at(id));
  const std::vector<TensorRef> outputs = copy_step(builder, *scan.step, operands, builder.integer(0));
  for (size_t k = 0; k < outputs.size(); ++k) {
    TensorRef result = outputs[k];
    if (k >= scan.initial.size()) {
      Dims dims = result.dims();
      dims.insert(dims.begin(), ir::Dim(1));
      result = builder.map(dims, [&](const Indices& i) { return outputs[k]({i.begin() + 1, i.end()}); });
    }
    tensors[scan.results[k]] = result;
  }
}

}  // namespace

Program take_single_steps(const Program& program) {
  if (std::none_of(program.stages.begin(), program.stages.end(), is_single)) return program;
  ir::Builder builder(program.name);
  std::map<TensorId, TensorRef> tensors = copy_operands(
      builder, program, [&](TensorId id) { return program.tensors[static_cast<size_t>(id)].dims; });
  for (const Stage& stage : program.stages) {
    if (is_single(stage)) {
      copy_single_step(builder, stage, tensors);
    } else if (stage.kind == ir::StageKind::scan) {
      const std::vector<TensorRef> results = copy_scan(builder, stage, *stage.step, tensors);
      for (size_t k = 0; k < results.size(); ++k) tensors[stage.results[k]] = results[k];
    } else {
      tensors[stage.results[0]] = copy_stage(builder, program, stage, tensors);
    }
  }
  return finish_rebuilding(builder, program, tensors);
}

}  // namespace axrun::search
