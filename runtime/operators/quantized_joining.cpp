// com.microsoft QLinearConcat: bytes of several inputs, each read through a table of what its 256 bytes
// become.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "ir/evaluate.h"
#include "ir/operator.h"
#include "runtime/operators/quantized_parts.h"

namespace axrun::runtime {
namespace {

constexpr size_t bytes = 256;

struct Joined {
  size_t input = 0;
  int64_t row = 0;  ///< bytes of it that follow one another in the result
  std::array<uint8_t, bytes> table = {};
  bool unchanged = false;
};

void look_up(int64_t count, const uint8_t* __restrict table, const uint8_t* __restrict from,
             uint8_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
}

class ByteConcatKernel final : public Kernel {
 public:
  ByteConcatKernel(int64_t rows, std::vector<Joined> parts) : rows_(rows), parts_(std::move(parts)) {
    for (const Joined& part : parts_) row_ += part.row;
  }

  void run(const KernelCall& call) const override {
    call.pool.parallel_for(rows_, std::max<int64_t>(1, 65536 / row_), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        auto* to = static_cast<uint8_t*>(call.outputs[0]) + row * row_;
        for (const Joined& part : parts_) {
          if (part.row == 0) continue;
          const auto* const from = static_cast<const uint8_t*>(call.inputs[part.input]) + row * part.row;
          if (part.unchanged)
            std::copy_n(from, part.row, to);
          else
            look_up(part.row, part.table.data(), from, to);
          to += part.row;
        }
      }
    });
  }
  std::string describe() const override { return "concatenate bytes"; }

 private:
  int64_t rows_, row_ = 0;
  std::vector<Joined> parts_;
};

/// The definition itself, evaluated on inputs of all 256 bytes; its parameters must be constant.
std::unique_ptr<Kernel> make(const StepContext& context) {
  if (context.fused() || context.outputs[0].count() == 0) return nullptr;
  ir::Node node = context.node;
  const auto axis_given = node.attributes.find("axis");
  if (axis_given == node.attributes.end()) return nullptr;
  const int rank = context.outputs[0].rank();
  const auto axis =
      static_cast<size_t>(axis_given->second.integer + (axis_given->second.integer < 0 ? rank : 0));
  axis_given->second.integer = 0;

  std::vector<Joined> parts;
  std::vector<ir::OperandInfo> operands;
  std::vector<ir::Tensor> values;
  for (size_t k = 0; k < context.inputs.size(); ++k) {
    const StepPort& port = context.inputs[k];
    const bool is_part = k >= 2 && k % 3 == 2;
    ir::OperandInfo info;
    info.present = port.present;
    info.type = port.type;
    if (is_part) {
      if (!byte_input(context, k) || port.type != context.outputs[0].type) return nullptr;
      const ir::Shape inside(port.shape.begin() + static_cast<std::ptrdiff_t>(axis), port.shape.end());
      parts.push_back({k, ir::element_count(inside), {}, false});
      info.dims = {ir::Dim(int64_t{bytes})};
      values.push_back(ir::Tensor::allocate(port.type, {int64_t{bytes}}));
      std::iota(values.back().as<uint8_t>(), values.back().as<uint8_t>() + bytes, uint8_t{0});
    } else {
      if (port.present && port.constant == nullptr) return nullptr;
      if (port.present) info.dims = ir::to_dims(port.shape);
      info.constant = port.constant;
      values.push_back(port.present ? *port.constant : ir::Tensor());
    }
    operands.push_back(info);
  }
  const ir::Program program = ir::define_node(node, operands);
  values.resize(program.operands.size());
  const ir::Tensor tables = ir::evaluate(program, values)[0];
  int64_t row = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    std::copy_n(tables.as<uint8_t>() + p * bytes, bytes, parts[p].table.begin());
    for (size_t k = 0; k < bytes; ++k) {
      if (parts[p].table[k] != k) break;
      parts[p].unchanged = k + 1 == bytes;
    }
    row += parts[p].row;
  }
  return std::make_unique<ByteConcatKernel>(context.outputs[0].count() / row, std::move(parts));
}

}  // namespace

void quantized_joining_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"com.microsoft", "QLinearConcat", make});
}

}  // namespace axrun::runtime
