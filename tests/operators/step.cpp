#include "tests/operators/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "ir/evaluate.h"
#include "ir/operator.h"

namespace axrun::runtime {
namespace {

constexpr size_t guard_bytes = 64;
constexpr unsigned char guard_value = 0xA5;

/// Memory of an exact size between two guards; the end is aligned as the start is.
class GuardedBuffer {
 public:
  GuardedBuffer(size_t bytes, unsigned char fill) : bytes_(bytes), memory_(bytes + 2 * guard_bytes) {
    auto* start = static_cast<unsigned char*>(memory_.data());
    std::fill_n(start, guard_bytes, guard_value);
    std::fill_n(start + guard_bytes, bytes, fill);
    std::fill_n(start + guard_bytes + bytes, guard_bytes, guard_value);
  }
  void* data() { return static_cast<unsigned char*>(memory_.data()) + guard_bytes; }
  void check(const std::string& what) const {
    const auto* start = static_cast<const unsigned char*>(memory_.data());
    const auto* end = start + guard_bytes + bytes_;
    const auto whole = [](const unsigned char* at) {
      return std::all_of(at, at + guard_bytes, [](unsigned char c) { return c == guard_value; });
    };
    if (!whole(start) || !whole(end)) throw std::runtime_error("the kernel wrote outside of " + what);
  }

 private:
  size_t bytes_;
  AlignedBuffer memory_;
};

}  // namespace

StepUnderTest::StepUnderTest(const Case& test_case, int threads)
    : case_(test_case), facts_(test_case.values.size()) {
  for (size_t id = 0; id < facts_.size(); ++id) {
    const ir::Tensor& tensor = case_.values[id];
    if (!tensor.defined()) continue;
    facts_[id].type = tensor.type();
    facts_[id].dims = ir::to_dims(tensor.shape());
    if (case_.constant[id]) facts_[id].constant = tensor;
  }
  for (const ir::Node& node : case_.nodes) {
    std::vector<ir::OperandInfo> operands;
    for (ir::ValueId id : node.inputs) {
      ir::OperandInfo info;
      if (id != ir::absent) {
        const ir::ValueFact& fact = facts_[static_cast<size_t>(id)];
        info.present = true;
        info.type = fact.type;
        info.dims = fact.dims;
        if (fact.constant.defined()) info.constant = &fact.constant;
      }
      operands.push_back(info);
    }
    programs_.push_back(ir::define_node(node, operands));
    const std::vector<ir::ValueFact> results = ir::output_facts(programs_.back());
    for (size_t k = 0; k < node.outputs.size() && k < results.size(); ++k) {
      if (node.outputs[k] != ir::absent) facts_[static_cast<size_t>(node.outputs[k])] = results[k];
    }
  }
  // As PlanBuilder presents a group.
  const auto port_of = [&](ir::ValueId id) {
    StepPort port;
    if (id == ir::absent) return port;
    const ir::ValueFact& fact = facts_[static_cast<size_t>(id)];
    port.present = true;
    port.type = fact.type;
    port.shape = *ir::constant_dims(*fact.dims);
    if (fact.constant.defined()) port.constant = &fact.constant;
    return port;
  };
  context_ =
      std::unique_ptr<StepContext>(new StepContext{case_.nodes[0], {}, {}, {}, {}, {}, {}, threads, packs_});
  std::vector<ir::ValueId> inside;
  for (size_t n = 0; n < case_.nodes.size(); ++n) {
    const ir::Node& node = case_.nodes[n];
    context_->group.push_back(&node);
    context_->programs.push_back(&programs_[n]);
    for (ir::ValueId id : node.inputs) {
      const auto has = [&](const std::vector<ir::ValueId>& list) {
        return std::find(list.begin(), list.end(), id) != list.end();
      };
      if (n > 0 && (id == ir::absent || has(inside) || has(context_->input_ids))) continue;
      context_->input_ids.push_back(id);
      context_->inputs.push_back(port_of(id));
    }
    inside.insert(inside.end(), node.outputs.begin(), node.outputs.end());
  }
  context_->output_ids = case_.nodes.back().outputs;
  for (ir::ValueId id : context_->output_ids) context_->outputs.push_back(port_of(id));
}

std::vector<ir::Tensor> StepUnderTest::evaluate(const Programs& programs) const {
  std::vector<ir::Tensor> values = case_.values;
  ir::EvaluateOptions options;
  options.wide = true;
  std::vector<ir::Tensor> last;
  for (size_t n = 0; n < programs.size(); ++n) {
    const ir::Node& node = case_.nodes[n];
    std::vector<ir::Tensor> operands(programs[n].operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      if (programs[n].operands[k] != ir::none) operands[k] = values[static_cast<size_t>(node.inputs[k])];
    }
    last = ir::evaluate(programs[n], operands, options);
    last.resize(node.outputs.size());
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == ir::absent) {
        last[k] = {};
      } else {
        values[static_cast<size_t>(node.outputs[k])] = last[k];
      }
    }
  }
  return last;
}

std::vector<ir::Tensor> StepUnderTest::run(const Kernel& kernel, ThreadPool& pool, int in_place) const {
  const StepContext& context = *context_;
  std::vector<GuardedBuffer> buffers;
  buffers.reserve(context.inputs.size() + context.outputs.size() + 1);
  std::vector<const void*> inputs(context.inputs.size(), nullptr);
  std::vector<void*> outputs(context.outputs.size(), nullptr);
  std::vector<std::string> names;
  void* shared = nullptr;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const bool alone = context.group.size() == 1;
    const bool read = !alone || (k < programs_[0].operands.size() && programs_[0].operands[k] != ir::none);
    if (!context.inputs[k].present || !read || kernel.ignores_input(static_cast<int>(k))) continue;
    const ir::Tensor& tensor = case_.values[static_cast<size_t>(context.input_ids[k])];
    buffers.emplace_back(tensor.bytes(), 0);
    names.push_back(fmt::format("input {}", k));
    if (tensor.bytes() > 0) std::memcpy(buffers.back().data(), tensor.data(), tensor.bytes());
    inputs[k] = buffers.back().data();
    if (static_cast<int>(k) == in_place) shared = buffers.back().data();
  }
  std::vector<ir::Tensor> results(outputs.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    const StepPort& port = context.outputs[k];
    if (!port.present) continue;
    const size_t bytes = static_cast<size_t>(port.count()) * ir::size_of(port.type);
    if (k == 0 && shared != nullptr) {
      outputs[k] = shared;
    } else {
      buffers.emplace_back(bytes, 0xFF);
      names.push_back(fmt::format("output {}", k));
      outputs[k] = buffers.back().data();
    }
    results[k] = ir::Tensor::borrow(port.type, port.shape, outputs[k]);
  }
  buffers.emplace_back(kernel.scratch_bytes(), 0xFF);
  names.push_back("scratch");
  kernel.run({inputs.data(), outputs.data(), buffers.back().data(), pool});
  for (size_t k = 0; k < buffers.size(); ++k) buffers[k].check(names[k]);
  for (ir::Tensor& result : results) {
    if (result.defined()) result = result.clone();
  }
  return results;
}

std::string difference(const std::vector<ir::Tensor>& got, const std::vector<ir::Tensor>& wanted,
                       double tolerance) {
  for (size_t k = 0; k < got.size(); ++k) {
    if (!got[k].defined()) continue;
    if (k >= wanted.size() || !wanted[k].defined()) return fmt::format("the expression has no output {}", k);
    const ir::Tensor& g = got[k];
    const ir::Tensor& w = wanted[k];
    if (g.shape() != w.shape()) return fmt::format("output {} has another shape", k);
    double largest = 0.25;  // of inputs around 1; below it, cancellation counts for more than the result
    for (int64_t i = 0; i < w.size() && ir::is_float(w.type()); ++i) {
      const double value = std::fabs(w.get_real(i));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
    for (int64_t i = 0; i < g.size(); ++i) {
      if (!ir::is_float(g.type())) {
        if (g.get_int(i) == w.get_int(i)) continue;
        return fmt::format("output {} at {}: {}, not {}", k, i, g.get_int(i), w.get_int(i));
      }
      const double a = g.get_real(i), b = w.get_real(i);
      const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= tolerance * largest;
      if (!same) return fmt::format("output {} at {}: {}, not {} (largest {})", k, i, a, b, largest);
    }
  }
  return {};
}

}  // namespace axrun::runtime
