// Resize and Upsample. The nearest modes are read off the expression: each dimension of the input is indexed
// by a function of one dimension of the result, tabulated once.
#include <algorithm>
#include <cstring>

#include "ir/evaluate.h"
#include "ir/view.h"
#include "runtime/kernels/kernels.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/operators/resize_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;
using ir::ExprId;
using ir::ScalarOp;

/// How a dimension of the input is read.
struct ReadDimension {
  size_t reader = 0;                                  ///< the dimension of the result
  std::shared_ptr<const std::vector<int64_t>> index;  ///< per point of that: what is read
  int64_t extent = 0;                                 ///< of the dimension itself
  int64_t repeats =
      0;  ///< points, one after the other, that read the same element, at all sizes; 0: no such rule
};

/// y[i0][i1]... = x[tables[0][i0] + tables[1][i1] + ...].
struct TableGather {
  int input = 0;
  size_t element_bytes = 0;
  std::vector<ReadDimension> dimensions;  ///< of the input
  Extents extents;
  std::vector<std::vector<int64_t>> tables;  ///< per dimension of the result

  /// Extents and tables, of what the dimensions say.
  void tabulate(const Extents& x, const Extents& y) {
    extents = y;
    tables.assign(y.size(), {});
    for (size_t d = 0; d < y.size(); ++d) tables[d].assign(static_cast<size_t>(y[d]), 0);
    const Extents strides = x.strides();
    for (size_t d = 0; d < x.size(); ++d) {
      std::vector<int64_t>& table = tables[dimensions[d].reader];
      const std::vector<int64_t>& index = *dimensions[d].index;
      for (size_t i = 0; i < index.size(); ++i) table[i] += index[i] * strides[d];
    }
  }
  /// False where what is read is not known for these sizes.
  bool resize(const Extents& x, const Extents& y) {
    for (size_t d = 0; d < x.size(); ++d) {
      ReadDimension& dimension = dimensions[d];
      const int64_t points = y[dimension.reader];
      const bool same = x[d] == dimension.extent && points == static_cast<int64_t>(dimension.index->size());
      if (same) continue;
      if (dimension.repeats == 0 || points != dimension.repeats * x[d]) return false;
      std::vector<int64_t> index(static_cast<size_t>(points));
      for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int64_t>(i) / dimension.repeats;
      dimension.index = std::make_shared<const std::vector<int64_t>>(std::move(index));
      dimension.extent = x[d];
    }
    tabulate(x, y);
    return true;
  }
};

/// ReadDimension::repeats of a dimension, by the program over named sizes.
int64_t repeats_of(const ir::Program& open, size_t dimension, size_t group) {
  if (open.stages.size() != 1 || open.stages[0].groups.size() <= group) return 0;
  const ir::Stage& stage = open.stages[0];
  const ir::Expr& body = ir::expr_of(open, stage.body[0]);
  if (body.op != ScalarOp::load || body.indices.size() <= dimension) return 0;
  const auto affine = ir::affine_index(open, stage, body.indices[dimension]);
  if (!affine || affine->constant != 0) return 0;
  const std::vector<int>& axes = stage.groups[group];
  int64_t repeats = 1;
  for (size_t k = 1; k < axes.size(); ++k) {
    const ir::Dim& extent = stage.axes[static_cast<size_t>(axes[k])].extent;
    if (!extent.is_constant()) return 0;
    repeats *= extent.value();
  }
  for (size_t a = 0; a < stage.axes.size(); ++a) {
    const bool is_outer = !axes.empty() && static_cast<int>(a) == axes[0];
    if (affine->coefficients[a] != (is_outer ? 1 : 0)) return 0;
  }
  return repeats;
}

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
  const ir::Program* const open = context.open_programs.empty() ? nullptr : context.open_programs[0];
  const ir::Shape& x = context.inputs[static_cast<size_t>(gather.input)].shape;
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
    std::vector<int64_t> indices = tabulate(program, stage, body.indices[d], group);
    const bool is_inside = std::all_of(indices.begin(), indices.end(),
                                       [&](int64_t index) { return index >= 0 && index < x[d]; });
    if (!is_inside) return std::nullopt;  // reported by the expression
    ReadDimension& dimension = gather.dimensions.emplace_back();
    dimension.reader = group;
    dimension.index = std::make_shared<const std::vector<int64_t>>(std::move(indices));
    dimension.extent = x[d];
    if (open != nullptr) dimension.repeats = repeats_of(*open, d, group);
  }
  gather.tabulate(extents_of(x), extents_of(context.outputs[0].shape));
  return gather;
}

class TableGatherKernel final : public Kernel {
 public:
  explicit TableGatherKernel(TableGather gather) : g_(std::move(gather)) {
    const std::vector<int64_t>& last = g_.tables.back();
    columns_ = g_.extents.back();
    contiguous_ = true;
    for (size_t i = 1; i < last.size(); ++i) contiguous_ = contiguous_ && last[i] == last[i - 1] + 1;
    rows_ = g_.extents.count() / columns_;
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
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents y = ports.output(0);
    for (size_t k = 0; k < ports.inputs(); ++k)
      if (ports.is_told(k)) return nullptr;
    if (y.count() == 0) return nullptr;
    TableGather gather{g_.input, g_.element_bytes, g_.dimensions, {}, {}};
    if (!gather.resize(ports.input(static_cast<size_t>(g_.input)), y)) return nullptr;
    return make_in_block<TableGatherKernel>(std::move(gather));
  }

 private:
  int64_t row_offset(int64_t row) const {
    int64_t offset = 0;
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
  if (context.inputs[0].shape.size() > Extents::most || context.outputs[0].shape.size() > Extents::most)
    return nullptr;
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
