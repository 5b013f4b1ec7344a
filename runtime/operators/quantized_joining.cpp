// com.microsoft QLinearConcat: bytes of several inputs, each read through a table of what its 256 bytes
// become.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "ir/evaluate.h"
#include "ir/operator.h"
#include "runtime/operators/quantized_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

constexpr size_t bytes = 256;

/// What is made of an input's bytes.
struct Joined {
  size_t input = 0;
  std::array<uint8_t, bytes> table = {};
  bool unchanged = false;
};

void look_up(int64_t count, const uint8_t* __restrict table, const uint8_t* __restrict from,
             uint8_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
}

/// What stays the same at other sizes.
struct JoinedParts {
  size_t axis;
  std::vector<Joined> all;
};

/// Of a part or of the result: bytes that follow one another.
template <typename Dims>
int64_t row_of(const Dims& shape, size_t axis) {
  int64_t row = 1;
  for (size_t d = axis; d < shape.size(); ++d) row *= shape[d];
  return row;
}

class ByteConcatKernel final : public Kernel {
 public:
  ByteConcatKernel(std::shared_ptr<const JoinedParts> parts, int64_t results, std::vector<int64_t> rows)
      : parts_(std::move(parts)), part_rows_(std::move(rows)) {
    for (const int64_t row : part_rows_) row_ += row;
    rows_ = results / row_;
  }

  void run(const KernelCall& call) const override {
    call.pool.parallel_for(rows_, std::max<int64_t>(1, 65536 / row_), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        auto* to = static_cast<uint8_t*>(call.outputs[0]) + row * row_;
        for (size_t p = 0; p < part_rows_.size(); ++p) {
          const int64_t count = part_rows_[p];
          if (count == 0) continue;
          const Joined& part = parts_->all[p];
          const auto* const from = static_cast<const uint8_t*>(call.inputs[part.input]) + row * count;
          if (part.unchanged)
            std::copy_n(from, count, to);
          else
            look_up(count, part.table.data(), from, to);
          to += count;
        }
      }
    });
  }
  std::string describe() const override { return "concatenate bytes"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const int64_t results = ports.output(0).count();
    if (results == 0) return nullptr;
    std::vector<int64_t> rows;
    rows.reserve(part_rows_.size());
    for (const Joined& part : parts_->all) rows.push_back(row_of(ports.input(part.input), parts_->axis));
    return make_in_block<ByteConcatKernel>(parts_, results, std::move(rows));
  }

 private:
  std::shared_ptr<const JoinedParts> parts_;
  std::vector<int64_t> part_rows_;
  int64_t rows_ = 0, row_ = 0;
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
  std::vector<int64_t> rows;
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
      parts.push_back({k, {}, false});
      rows.push_back(row_of(port.shape, axis));
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
  for (size_t p = 0; p < parts.size(); ++p) {
    std::copy_n(tables.as<uint8_t>() + p * bytes, bytes, parts[p].table.begin());
    for (size_t k = 0; k < bytes; ++k) {
      if (parts[p].table[k] != k) break;
      parts[p].unchanged = k + 1 == bytes;
    }
  }
  return std::make_unique<ByteConcatKernel>(
      std::make_shared<const JoinedParts>(JoinedParts{axis, std::move(parts)}), context.outputs[0].count(),
      std::move(rows));
}

}  // namespace

void quantized_joining_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"com.microsoft", "QLinearConcat", make});
}

}  // namespace axrun::runtime
