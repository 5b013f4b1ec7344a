// Resize and Upsample. The nearest modes are read off the expression: each dimension of the input is indexed
// by a function of one dimension of the result, tabulated once.
#include <algorithm>
#include <cstring>

#include "ir/evaluate.h"
#include "runtime/kernels/kernels.h"
#include "runtime/operators/resize_parts.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;
using ir::ExprId;
using ir::ScalarOp;

/// y[i0][i1]... = x[offset + tables[0][i0] + tables[1][i1] + ...].
struct TableGather {
  int input = 0;
  int64_t offset = 0;
  size_t element_bytes = 0;
  ir::Shape extents;
  std::vector<std::vector<int64_t>> tables;  ///< per dimension of the result
};

/// Marks the axes an index expression reads; false when it reads data.
bool mark_axes(const ir::Program& program, ExprId id, std::vector<bool>& axes) {
  const ir::Expr& expr = program.exprs[static_cast<size_t>(id)];
  if (expr.op == ScalarOp::load) return false;
  if (expr.op == ScalarOp::axis) axes[static_cast<size_t>(expr.integer)] = true;
  for (ExprId argument : expr.args) {
    if (argument != ir::none && !mark_axes(program, argument, axes)) return false;
  }
  return true;
}

/// The values of an index expression over dimension `group` of the stage, whose axes are all it reads.
std::vector<int64_t> tabulate(const ir::Program& program, const ir::Stage& stage, ExprId index,
                              size_t group) {
  ir::Program small;
  small.exprs = program.exprs;
  ir::Stage values = stage;
  int64_t count = 1;
  std::vector<int> all;
  for (size_t a = 0; a < values.axes.size(); ++a) {
    const auto& mine = stage.groups[group];
    const bool inside = std::find(mine.begin(), mine.end(), static_cast<int>(a)) != mine.end();
    if (inside) {
      count *= values.axes[a].extent.value();
    } else {
      values.axes[a].extent = ir::Dim(1);
    }
    all.push_back(static_cast<int>(a));
  }
  values.groups = {all};
  values.body = {index};
  values.results = {0};
  small.tensors = {{"index", ElementType::i64, {ir::Dim(count)}}};
  small.outputs = {0};
  small.stages = {values};
  return ir::evaluate(small, {})[0].to_ints();
}

std::optional<TableGather> read_gather(const StepContext& context) {
  const ir::Program& program = *context.programs[0];
  if (program.stages.size() != 1 || program.outputs.size() != 1) return std::nullopt;
  const ir::Stage& stage = program.stages[0];
  if (stage.kind != ir::StageKind::map || stage.results[0] != program.outputs[0]) return std::nullopt;
  const ir::Expr& body = program.exprs[static_cast<size_t>(stage.body[0])];
  if (body.op != ScalarOp::load || body.args[0] != ir::none || ir::size_of(body.type) == 0)
    return std::nullopt;
  TableGather gather;
  const auto operand = std::find(program.operands.begin(), program.operands.end(), body.integer);
  if (operand == program.operands.end()) return std::nullopt;
  gather.input = static_cast<int>(operand - program.operands.begin());
  gather.element_bytes = ir::size_of(body.type);
  gather.extents = context.outputs[0].shape;
  for (int64_t extent : gather.extents) gather.tables.emplace_back(static_cast<size_t>(extent), 0);
  const ir::Shape& x = context.inputs[static_cast<size_t>(gather.input)].shape;
  const ir::Shape strides = ir::row_major_strides(x);
  for (size_t d = 0; d < x.size(); ++d) {
    std::vector<bool> axes(stage.axes.size(), false);
    if (!mark_axes(program, body.indices[d], axes)) return std::nullopt;
    size_t reader = stage.groups.size();
    for (size_t g = 0; g < stage.groups.size(); ++g) {
      const bool reads = std::any_of(stage.groups[g].begin(), stage.groups[g].end(),
                                     [&](int a) { return axes[static_cast<size_t>(a)]; });
      if (reads && reader != stage.groups.size()) return std::nullopt;  // two dimensions of the result
      if (reads) reader = g;
    }
    const size_t group = reader == stage.groups.size() ? 0 : reader;
    if (stage.groups.empty()) return std::nullopt;
    const std::vector<int64_t> indices = tabulate(program, stage, body.indices[d], group);
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= x[d]) return std::nullopt;  // reported by the expression
      gather.tables[group][i] += indices[i] * strides[d];
    }
  }
  return gather;
}

class TableGatherKernel final : public Kernel {
 public:
  explicit TableGatherKernel(TableGather gather) : g_(std::move(gather)) {
    const std::vector<int64_t>& last = g_.tables.back();
    columns_ = g_.extents.back();
    contiguous_ = true;
    for (size_t i = 1; i < last.size(); ++i) contiguous_ = contiguous_ && last[i] == last[i - 1] + 1;
    rows_ = ir::element_count(g_.extents) / columns_;
  }

  void run(const KernelCall& call) const override {
    const char* x = static_cast<const char*>(call.inputs[g_.input]);
    char* y = static_cast<char*>(call.outputs[0]);
    const auto element = static_cast<int64_t>(g_.element_bytes);
    const int64_t grain = std::max<int64_t>(1, 16384 / columns_);
    call.pool.parallel_for(rows_, grain, [&](int64_t begin, int64_t end) {
      int64_t previous = -1;
      for (int64_t row = begin; row < end; ++row) {
        const int64_t offset = row_offset(row);
        char* to = y + row * columns_ * element;
        if (offset == previous) {
          std::memcpy(to, to - columns_ * element, static_cast<size_t>(columns_ * element));
        } else if (contiguous_) {
          std::memcpy(to, x + (offset + g_.tables.back()[0]) * element,
                      static_cast<size_t>(columns_ * element));
        } else {
          gather(x + offset * element, to);
        }
        previous = offset;
      }
    });
  }
  std::string describe() const override { return "gather by tables"; }

 private:
  int64_t row_offset(int64_t row) const {
    int64_t offset = g_.offset;
    for (size_t d = g_.extents.size() - 1; d-- > 0;) {
      offset += g_.tables[d][static_cast<size_t>(row % g_.extents[d])];
      row /= g_.extents[d];
    }
    return offset;
  }

  template <typename T>
  void gather_values(const char* from, char* to) const {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    const int64_t* table = g_.tables.back().data();
    for (int64_t j = 0; j < columns_; ++j) y[j] = x[table[j]];
  }
  void gather(const char* from, char* to) const {
    switch (g_.element_bytes) {
      case 1:
        return gather_values<uint8_t>(from, to);
      case 2:
        return gather_values<uint16_t>(from, to);
      case 4:
        return gather_values<uint32_t>(from, to);
      default:
        return gather_values<uint64_t>(from, to);
    }
  }

  TableGather g_;
  int64_t rows_ = 0, columns_ = 0;
  bool contiguous_ = false;
};

std::unique_ptr<Kernel> make_table_gather(const StepContext& context) {
  if (context.fused() || context.outputs[0].count() == 0 || context.outputs[0].rank() == 0) return nullptr;
  auto gather = read_gather(context);
  return gather ? std::make_unique<TableGatherKernel>(std::move(*gather)) : nullptr;
}

std::unique_ptr<Kernel> make_resize(const StepContext& context) {
  if (context.fused() || context.outputs[0].count() == 0 || context.outputs[0].rank() == 0) return nullptr;
  if (auto kernel = make_table_gather(context)) return kernel;
  return make_filtered_resize(context);
}

}  // namespace

void resize_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "Resize", make_resize});
  table.push_back({"", "Upsample", make_resize});
  table.push_back({"", "GridSample", make_grid_sample});
  // Reflected and repeated edges are tables, too.
  table.push_back({"", "Pad", make_table_gather});
}

}  // namespace axrun::runtime
