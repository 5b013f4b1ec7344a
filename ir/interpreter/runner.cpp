#include "ir/interpreter/runner.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "ir/error.h"
#include "ir/opaque.h"

namespace axrun::ir::interpreter {
namespace {

/// Tensors that an expression tree loads.
void collect_loads(const Program& program, const std::vector<ExprId>& roots, std::set<TensorId>& loads) {
  std::vector<ExprId> open = roots;
  std::vector<bool> seen(program.exprs.size());
  while (!open.empty()) {
    ExprId id = open.back();
    open.pop_back();
    if (id == none || seen[static_cast<size_t>(id)]) continue;
    seen[static_cast<size_t>(id)] = true;
    const Expr& expr = program.exprs[static_cast<size_t>(id)];
    if (expr.op == ScalarOp::load) loads.insert(static_cast<TensorId>(expr.integer));
    open.insert(open.end(), expr.args.begin(), expr.args.end());
    open.insert(open.end(), expr.indices.begin(), expr.indices.end());
  }
}

std::set<TensorId> reads_of(const Program& program, const Stage& stage) {
  std::set<TensorId> reads;
  std::vector<ExprId> roots = stage.body;
  roots.insert(roots.end(), stage.target.begin(), stage.target.end());
  roots.push_back(stage.guard);
  collect_loads(program, roots, reads);
  for (const auto* list : {&stage.captures, &stage.initial, &stage.arguments}) {
    reads.insert(list->begin(), list->end());
  }
  reads.insert(stage.base);
  reads.erase(none);
  return reads;
}

/// The tensor itself where it has the type already.
Tensor in_type(const Tensor& tensor, ElementType type) {
  return tensor.type() == type ? tensor : tensor.converted(type);
}

/// Copies `slice` to row `row` of `stacked`.
void stack(Tensor& stacked, int64_t row, const Tensor& slice) {
  if (stacked.type() == ElementType::string) {
    std::copy_n(slice.strings(), slice.size(), stacked.strings() + row * slice.size());
  } else if (slice.bytes() != 0) {
    std::memcpy(stacked.as<std::byte>() + static_cast<size_t>(row) * slice.bytes(), slice.data(),
                slice.bytes());
  }
}

}  // namespace

ProgramRunner::ProgramRunner(const Program& program, const EvaluateOptions& options, Bindings outer,
                             int64_t scan_length)
    : program_(program),
      options_(options),
      outer_(std::move(outer)),
      scan_length_(std::max<int64_t>(scan_length, 1)),
      tensors_(program.tensors.size()),
      compiled_(program.stages.size()) {
  find_last_uses();
}

void ProgramRunner::find_last_uses() {
  last_uses_.resize(program_.stages.size());
  std::set<TensorId> later(program_.outputs.begin(), program_.outputs.end());
  for (size_t k = program_.stages.size(); k-- > 0;) {
    for (TensorId id : reads_of(program_, program_.stages[k])) {
      if (later.insert(id).second) last_uses_[k].push_back(id);
    }
    for (TensorId id : program_.stages[k].results) {
      if (later.insert(id).second) last_uses_[k].push_back(id);
    }
  }
}

std::vector<Tensor> ProgramRunner::run(const std::vector<Tensor>& operands, int64_t time) {
  bindings_ = outer_;
  take_operands(operands);
  for (size_t k = 0; k < program_.stages.size(); ++k) {
    run_stage(k, time);
    for (TensorId id : last_uses_[k]) tensors_[static_cast<size_t>(id)] = Tensor();
  }
  std::vector<Tensor> outputs;
  for (TensorId id : program_.outputs) {
    const Tensor& tensor = tensors_[static_cast<size_t>(id)];
    AXRUN_ASSERT(tensor.defined());
    const ElementType type = stored_type(declared(id).type, options_);
    outputs.push_back(in_type(tensor, type));
  }
  std::fill(tensors_.begin(), tensors_.end(), Tensor());
  return outputs;
}

void ProgramRunner::take_operands(const std::vector<Tensor>& operands) {
  for (size_t k = 0; k < program_.operands.size(); ++k) {
    const TensorId id = program_.operands[k];
    if (id == none) continue;
    const TensorDecl& expected = declared(id);
    const std::string what = "'" + program_.name + "': operand '" + expected.name + "'";
    if (k >= operands.size() || !operands[k].defined()) throw Error(Fault::user, what + " is missing");
    const Tensor& given = operands[k];
    const bool wide = expected.type == ElementType::f32 && given.type() == ElementType::f64;
    if (given.type() != expected.type && !wide) {
      throw Error(Fault::user, what + " has type " + std::string(name_of(given.type())) + " where " +
                                   std::string(name_of(expected.type)) + " is expected");
    }
    if (given.shape().size() != expected.dims.size()) {
      throw Error(Fault::user, what + " has shape " + to_string(given.shape()) + " where " +
                                   to_string(expected.dims) + " is expected");
    }
    for (size_t d = 0; d < expected.dims.size(); ++d) {
      bindings_.bind(expected.dims[d], given.shape()[d], what + " (dimension " + std::to_string(d) + ")");
    }
    tensors_[static_cast<size_t>(id)] = given;
  }
}

void ProgramRunner::run_stage(size_t number, int64_t time) {
  const Stage& stage = program_.stages[number];
  Compiled& compiled = compiled_[number];
  const std::string where = "'" + program_.name + "', stage '" + stage.name + "'";
  std::vector<Tensor> results;
  if (stage.kind == StageKind::opaque) {
    results = run_opaque(stage, where);
  } else if (stage.kind == StageKind::scan) {
    results = run_scan(stage, compiled, where);
  } else {
    StageContext context{program_, stage, bindings_, tensors_, options_, scan_length_, where};
    if (!compiled.code || compiled.bindings != bindings_) {
      compiled.code = std::make_unique<StageCode>(context);
      compiled.bindings = bindings_;
    }
    results = compiled.code->run(context, time);
  }
  for (size_t k = 0; k < stage.results.size(); ++k) {
    tensors_[static_cast<size_t>(stage.results[k])] = std::move(results[k]);
  }
}

std::vector<Tensor> ProgramRunner::run_scan(const Stage& stage, Compiled& compiled,
                                            const std::string& where) {
  const int64_t length = bindings_.extent(stage.length, where);
  if (!compiled.step || compiled.bindings != bindings_) {
    compiled.step = std::make_unique<ProgramRunner>(*stage.step, options_, bindings_, length);
    compiled.bindings = bindings_;
  }
  std::vector<Tensor> operands;
  for (TensorId id : stage.captures) operands.push_back(tensors_[static_cast<size_t>(id)]);
  const size_t captures = operands.size();
  const size_t states = stage.initial.size();
  for (TensorId id : stage.initial) {
    // The stages of the step are compiled for one stored type.
    operands.push_back(in_type(tensors_[static_cast<size_t>(id)], stored_type(declared(id).type, options_)));
  }
  std::vector<Tensor> results(stage.results.size());
  for (size_t k = states; k < results.size(); ++k) {
    const TensorDecl& expected = declared(stage.results[k]);
    Shape shape;
    for (const Dim& dim : expected.dims) shape.push_back(bindings_.extent(dim, where));
    results[k] = Tensor::allocate(stored_type(expected.type, options_), shape);
  }
  for (int64_t time = 0; time < length; ++time) {
    std::vector<Tensor> outputs = compiled.step->run(operands, time);
    AXRUN_ASSERT(outputs.size() == results.size());
    for (size_t k = 0; k < states; ++k) {
      if (outputs[k].shape() != operands[captures + k].shape()) {
        throw Error(Fault::user, where + ": a state of shape " + to_string(operands[captures + k].shape()) +
                                     " becomes " + to_string(outputs[k].shape()) + " after one step");
      }
      operands[captures + k] = std::move(outputs[k]);
    }
    for (size_t k = states; k < results.size(); ++k) {
      const Shape& shape = results[k].shape();
      if (!std::equal(shape.begin() + 1, shape.end(), outputs[k].shape().begin(), outputs[k].shape().end())) {
        throw Error(Fault::user, where + ": one step gives shape " + to_string(outputs[k].shape()) +
                                     " for a stack of shape " + to_string(shape));
      }
      stack(results[k], time, outputs[k]);
    }
  }
  for (size_t k = 0; k < states; ++k) results[k] = operands[captures + k];
  return results;
}

std::vector<Tensor> ProgramRunner::run_opaque(const Stage& stage, const std::string& where) {
  const OpaqueEntry* entry = find_opaque(stage.function);
  if (!entry)
    throw Error(Fault::unsupported, where + ": there is no opaque function '" + stage.function + "'");
  std::vector<Tensor> arguments;
  for (TensorId id : stage.arguments) {
    arguments.push_back(id == none ? Tensor()
                                   : in_type(tensors_[static_cast<size_t>(id)], declared(id).type));
  }
  std::vector<Tensor> results = entry->function(stage, arguments);
  AXRUN_ASSERT(results.size() == stage.results.size());
  for (size_t k = 0; k < results.size(); ++k) {
    const TensorDecl& expected = declared(stage.results[k]);
    AXRUN_ASSERT(results[k].type() == expected.type);
    if (results[k].shape().size() != expected.dims.size()) {
      throw Error(Fault::user, where + ": '" + expected.name + "' has shape " +
                                   to_string(results[k].shape()) + " where " + to_string(expected.dims) +
                                   " is expected");
    }
    for (size_t d = 0; d < expected.dims.size(); ++d) {
      bindings_.bind(expected.dims[d], results[k].shape()[d],
                     where + ": '" + expected.name + "' (dimension " + std::to_string(d) + ")");
    }
    results[k] = in_type(results[k], stored_type(expected.type, options_));
  }
  return results;
}

}  // namespace axrun::ir::interpreter
