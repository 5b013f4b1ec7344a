// Data movement: whatever the expression shows to be a strided copy, and Concat, Pad and Gather.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "ir/error.h"
#include "ir/view.h"
#include "runtime/kernels/kernels.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/plan/kernel.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

bool copyable(ElementType type) { return type != ElementType::string && type != ElementType::undefined; }

/// One result as a strided copy of one input.
struct StridedCopy {
  int input = 0;
  int output = 0;
  int64_t offset = 0;  ///< of the first element read, in elements
  CopyShape shape;
  size_t element_bytes = 0;
  bool empty = false;
};

/// The same for all sizes: the axes are the result's dims, and dim d of the input is read at offsets[d] plus
/// steps times the axes.
struct OpenCopy {
  struct Term {
    size_t axis, dim;
    int64_t step;
  };
  std::vector<Term> terms;
  std::vector<int64_t> offsets;

  /// Of ports of these sizes.
  void size(StridedCopy& copy, const PortSizes& ports) const;
};

/// The first stage that makes the output; null where none does alone.
const ir::Stage* stage_of(const ir::Program& program, size_t output) {
  const auto stage = std::find_if(program.stages.begin(), program.stages.end(), [&](const ir::Stage& s) {
    return s.results.size() == 1 && s.results[0] == program.outputs[output];
  });
  return stage == program.stages.end() ? nullptr : &*stage;
}

void set_axes(CopyShape& shape, const Extents& axes) {
  int64_t stride = 1;
  shape.rank = static_cast<int>(axes.size());
  for (size_t a = axes.size(); a-- > 0;) {
    shape.extents[a] = axes[a];
    shape.y_strides[a] = stride;
    stride *= axes[a];
  }
}

void OpenCopy::size(StridedCopy& copy, const PortSizes& ports) const {
  const Extents axes = ports.output(static_cast<size_t>(copy.output));
  const Extents strides = ports.input(static_cast<size_t>(copy.input)).strides();
  set_axes(copy.shape, axes);
  copy.empty = axes.count() == 0;
  copy.offset = 0;
  for (size_t d = 0; d < offsets.size(); ++d) copy.offset += offsets[d] * strides[d];
  for (const Term& term : terms) copy.shape.x_strides[term.axis] += term.step * strides[term.dim];
}

std::optional<StridedCopy> read_copy(const StepContext& context, const ir::Program& program, size_t output) {
  const ir::Stage* const stage = stage_of(program, output);
  if (stage == nullptr || stage->kind != ir::StageKind::map) return std::nullopt;
  const ir::Expr& body = program.exprs[static_cast<size_t>(stage->body[0])];
  if (body.op != ir::ScalarOp::load || body.args[0] != ir::none || !copyable(body.type)) return std::nullopt;
  StridedCopy copy;
  copy.output = static_cast<int>(output);
  copy.input = -1;
  for (size_t k = 0; k < program.operands.size(); ++k) {
    if (program.operands[k] == body.integer) copy.input = static_cast<int>(k);
  }
  if (copy.input < 0 || stage->axes.size() > max_copy_rank) return std::nullopt;
  copy.element_bytes = ir::size_of(body.type);
  copy.empty = context.outputs[output].count() == 0;

  const auto& dims = program.tensors[static_cast<size_t>(body.integer)].dims;
  const ir::Shape strides = ir::row_major_strides(*ir::constant_dims(dims));
  Extents axes;
  for (const ir::Axis& axis : stage->axes) axes.push_back(axis.extent.value());
  set_axes(copy.shape, axes);
  for (size_t d = 0; d < strides.size(); ++d) {
    const auto index = ir::affine_index(program, *stage, body.indices[d]);
    if (!index) return std::nullopt;
    copy.offset += index->constant * strides[d];
    for (size_t a = 0; a < stage->axes.size(); ++a)
      copy.shape.x_strides[a] += index->coefficients[a] * strides[d];
  }
  return copy;
}

/// Of what read_copy() has read at some sizes; nothing where steps or offsets depend on these.
std::optional<OpenCopy> open_copy(const ir::Program& program, size_t output) {
  const ir::Stage& stage = *stage_of(program, output);
  const ir::Dims& dims = program.tensors[static_cast<size_t>(program.outputs[output])].dims;
  const bool same_axes =
      std::equal(dims.begin(), dims.end(), stage.axes.begin(), stage.axes.end(),
                 [](const ir::Dim& dim, const ir::Axis& axis) { return dim == axis.extent; });
  const ir::Expr& body = program.exprs[static_cast<size_t>(stage.body[0])];
  if (!same_axes || body.indices.size() > Extents::most) return std::nullopt;
  OpenCopy open;
  for (size_t d = 0; d < body.indices.size(); ++d) {
    const auto index = ir::affine_index(program, stage, body.indices[d]);
    if (!index) return std::nullopt;
    open.offsets.push_back(index->constant);
    for (size_t a = 0; a < stage.axes.size(); ++a) {
      if (index->coefficients[a] != 0) open.terms.push_back({a, d, index->coefficients[a]});
    }
  }
  return open;
}

class CopyKernel final : public Kernel {
 public:
  /// Of at least one copy; open: per copy, or none at all.
  CopyKernel(const std::vector<StridedCopy>& copies, std::string name, std::vector<OpenCopy> open)
      : first_(copies.front()),
        others_(copies.begin() + 1, copies.end()),
        form_(std::make_shared<const Form>(std::move(name), std::move(open))) {}
  CopyKernel(const CopyKernel& like, const PortSizes& ports) : form_(like.form_) {
    resize(like.first_, form_->open[0], ports, first_);
    others_.resize(like.others_.size());
    for (size_t k = 0; k < others_.size(); ++k)
      resize(like.others_[k], form_->open[k + 1], ports, others_[k]);
  }

  void run(const KernelCall& call) const override {
    run(first_, call);
    for (const StridedCopy& copy : others_) run(copy, call);
  }
  std::string describe() const override { return "copy " + form_->name; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    return form_->open.empty() ? nullptr : make_in_block<CopyKernel>(*this, ports);
  }

 private:
  /// What stays the same at other sizes.
  struct Form {
    Form(std::string of, std::vector<OpenCopy> copies) : name(std::move(of)), open(std::move(copies)) {}
    std::string name;
    std::vector<OpenCopy> open;
  };
  static void run(const StridedCopy& copy, const KernelCall& call) {
    void* y = call.outputs[copy.output];
    if (y == nullptr || copy.empty) return;
    const char* x = static_cast<const char*>(call.inputs[copy.input]) +
                    copy.offset * static_cast<int64_t>(copy.element_bytes);
    copy_strided(copy.element_bytes, copy.shape, x, y, call.pool);
  }
  static void resize(const StridedCopy& like, const OpenCopy& open, const PortSizes& ports,
                     StridedCopy& copy) {
    copy.input = like.input;
    copy.output = like.output;
    copy.element_bytes = like.element_bytes;
    open.size(copy, ports);
  }

  StridedCopy first_;
  std::vector<StridedCopy> others_;  ///< of nodes with several results
  std::shared_ptr<const Form> form_;
};

std::unique_ptr<Kernel> make_copy(const StepContext& context) {
  if (context.fused()) return nullptr;
  const ir::Program& program = *context.programs[0];
  if (program.outputs.empty() || program.stages.size() != program.outputs.size()) return nullptr;
  std::vector<StridedCopy> copies;
  std::vector<OpenCopy> open;
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    if (program.outputs[k] == ir::none || !context.has_output(k)) continue;
    auto copy = read_copy(context, program, k);
    if (!copy) return nullptr;
    copies.push_back(*copy);
    auto same = context.open_programs.empty() ? std::nullopt : open_copy(*context.open_programs[0], k);
    if (same) open.push_back(std::move(*same));
  }
  if (copies.empty()) return nullptr;
  if (open.size() < copies.size()) open.clear();
  return std::make_unique<CopyKernel>(copies, context.node.op, std::move(open));
}

/// Concat: every part is a block of rows in the result.
class ConcatKernel final : public Kernel {
 public:
  ConcatKernel(const StepContext& context, size_t axis)
      : axis_(axis), element_(static_cast<int64_t>(ir::size_of(context.outputs[0].type))) {
    add_output(context.outputs[0].shape);
    for (const StepPort& input : context.inputs)
      add_input(input.shape.size(), [&](size_t d) { return input.shape[d]; });
  }
  ConcatKernel(const ConcatKernel& like, const PortSizes& ports)
      : axis_(like.axis_), element_(like.element_) {
    add_output(ports.output(0));
    part_bytes_.reserve(like.part_bytes_.size());
    for (size_t k = 0; k < like.part_bytes_.size(); ++k)
      add_input(ports.rank_of_input(k), [&](size_t d) { return ports.dim_of_input(k, d); });
  }

  void run(const KernelCall& call) const override {
    char* y = static_cast<char*>(call.outputs[0]);
    if (rows_ == 1) {
      for (size_t k = 0; k < part_bytes_.size(); ++k) {
        if (part_bytes_[k] > 0) std::memcpy(y, call.inputs[k], static_cast<size_t>(part_bytes_[k]));
        y += part_bytes_[k];
      }
      return;
    }
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(row_bytes_, 1));
    call.pool.parallel_for(rows_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        char* to = y + row * row_bytes_;
        for (size_t k = 0; k < part_bytes_.size(); ++k) {
          const int64_t bytes = part_bytes_[k];
          if (bytes > 0)
            std::memcpy(to, static_cast<const char*>(call.inputs[k]) + row * bytes,
                        static_cast<size_t>(bytes));
          to += bytes;
        }
      }
    });
  }
  std::string describe() const override { return "concat"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    if (ports.output(0).count() == 0) return nullptr;
    return make_in_block<ConcatKernel>(*this, ports);
  }

 private:
  template <typename Dims>
  void add_output(const Dims& shape) {
    rows_ = row_bytes_ = 1;
    for (size_t d = 0; d < shape.size(); ++d) (d < axis_ ? rows_ : row_bytes_) *= shape[d];
    row_bytes_ *= element_;
  }
  template <typename Dim>
  void add_input(size_t rank, const Dim& dim) {
    int64_t bytes = element_;
    for (size_t d = axis_; d < rank; ++d) bytes *= dim(d);
    part_bytes_.push_back(bytes);
  }

  size_t axis_;
  int64_t element_;
  int64_t rows_ = 1;
  int64_t row_bytes_ = 1;
  std::vector<int64_t> part_bytes_;
};

std::unique_ptr<Kernel> make_concat(const StepContext& context) {
  if (context.fused() || !copyable(context.outputs[0].type) || context.outputs[0].count() == 0)
    return nullptr;
  for (const StepPort& input : context.inputs) {
    if (!input.present || input.type != context.outputs[0].type) return nullptr;
  }
  const auto rank = static_cast<int64_t>(context.outputs[0].rank());
  const int64_t axis = context.integer("axis", 1);
  return std::make_unique<ConcatKernel>(context, static_cast<size_t>(axis < 0 ? axis + rank : axis));
}

/// Pad with a constant: the frame is filled, the rest copied. Negative pads crop.
class PadKernel final : public Kernel {
 public:
  PadKernel(const StepContext& context, std::vector<int64_t> pads)
      : pads_(std::make_shared<const std::vector<int64_t>>(std::move(pads))),
        element_(ir::size_of(context.outputs[0].type)) {
    size(extents_of(context.inputs[0].shape), extents_of(context.outputs[0].shape));
    value_port_ = context.has_input(2) ? 2 : -1;
    if (value_port_ < 0 && context.outputs[0].type == ElementType::f32) {
      const auto value = static_cast<float>(context.real("value", 0.0));
      std::memcpy(value_, &value, sizeof(value));
    }
  }

  void size(const Extents& x, const Extents& y) {
    count_ = y.count();
    copied_ = 1;
    x_offset_ = y_offset_ = 0;
    const Extents x_strides = x.strides(), y_strides = y.strides();
    shape_.rank = static_cast<int>(x.size());
    for (size_t d = 0; d < x.size(); ++d) {
      const int64_t pad = (*pads_)[d];
      const int64_t before = std::max<int64_t>(pad, 0);
      const int64_t cropped = std::max<int64_t>(-pad, 0);
      shape_.extents[d] = std::max<int64_t>(0, std::min(x[d] - cropped, y[d] - before));
      shape_.x_strides[d] = x_strides[d];
      shape_.y_strides[d] = y_strides[d];
      x_offset_ += cropped * x_strides[d];
      y_offset_ += before * y_strides[d];
      copied_ *= shape_.extents[d];
    }
  }

  void run(const KernelCall& call) const override {
    const auto* value =
        value_port_ >= 0 ? static_cast<const unsigned char*>(call.inputs[value_port_]) : value_;
    char* y = static_cast<char*>(call.outputs[0]);
    // One element broadcast over the result, then the middle on top.
    CopyShape fill;
    fill.rank = 1;
    fill.extents[0] = count_;
    fill.y_strides[0] = 1;
    if (copied_ < count_) copy_strided(element_, fill, value, y, call.pool);
    if (copied_ == 0) return;
    const auto bytes = static_cast<int64_t>(element_);
    copy_strided(element_, shape_, static_cast<const char*>(call.inputs[0]) + x_offset_ * bytes,
                 y + y_offset_ * bytes, call.pool);
  }
  std::string describe() const override { return "pad"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents y = ports.output(0);
    if (y.count() == 0 || (ports.inputs() > 1 && ports.is_told(1))) return nullptr;
    auto other = make_in_block<PadKernel>(*this);
    other->size(ports.input(0), y);
    return other;
  }

 private:
  std::shared_ptr<const std::vector<int64_t>> pads_;
  size_t element_;
  CopyShape shape_;
  int64_t count_ = 0;
  int64_t copied_ = 1;
  int64_t x_offset_ = 0, y_offset_ = 0;
  int value_port_ = -1;
  alignas(8) unsigned char value_[8] = {};
};

std::unique_ptr<Kernel> make_pad(const StepContext& context) {
  if (context.fused() || context.string("mode", "constant") != "constant" ||
      !copyable(context.outputs[0].type)) {
    return nullptr;
  }
  if (context.has_input(3) || context.outputs[0].count() == 0) return nullptr;
  std::vector<int64_t> pads =
      context.node.version < 2 ? context.integers("paddings") : context.integers("pads");
  if (context.node.version >= 11) {
    if (!context.has_input(1) || context.inputs[1].constant == nullptr) return nullptr;
    pads = context.inputs[1].constant->to_ints();
  }
  const auto rank = static_cast<size_t>(context.outputs[0].rank());
  if (pads.size() != 2 * rank || rank > max_copy_rank) return nullptr;
  if (!context.has_input(2) && context.outputs[0].type != ElementType::f32 && context.has_attribute("value"))
    return nullptr;
  return std::make_unique<PadKernel>(context, std::move(pads));
}

class GatherKernel final : public Kernel {
 public:
  GatherKernel(const StepContext& context, size_t axis)
      : axis_(axis),
        element_(static_cast<int64_t>(ir::size_of(context.inputs[0].type))),
        narrow_(context.inputs[1].type == ElementType::i32),
        place_(std::make_shared<const std::string>(fmt::format("Gather '{}'", context.node.name))) {
    size(context.inputs[0].shape, context.inputs[1].count());
  }

  void run(const KernelCall& call) const override {
    const auto* indices = static_cast<const int64_t*>(call.inputs[1]);
    if (narrow_) {
      auto* wide = static_cast<int64_t*>(call.scratch);
      for (int64_t i = 0; i < indices_; ++i) wide[i] = static_cast<const int32_t*>(call.inputs[1])[i];
      indices = wide;
    }
    if (!gather_rows(outer_, rows_, row_bytes_, indices_, indices, call.inputs[0], call.outputs[0],
                     call.pool)) {
      throw Error(Fault::user, fmt::format("{}: an index is outside of -{}..{}", *place_, rows_, rows_ - 1));
    }
  }
  std::string describe() const override { return "gather"; }
  size_t scratch_bytes() const override { return narrow_ ? static_cast<size_t>(indices_) * 8 : 0; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    if (ports.output(0).count() == 0) return nullptr;
    auto other = make_in_block<GatherKernel>(*this);
    other->size(ports.input(0), ports.input(1).count());
    return other;
  }

 private:
  template <typename Dims>
  void size(const Dims& x, int64_t indices) {
    outer_ = 1;
    row_bytes_ = element_;
    for (size_t d = 0; d < axis_; ++d) outer_ *= x[d];
    for (size_t d = axis_ + 1; d < x.size(); ++d) row_bytes_ *= x[d];
    rows_ = x[axis_];
    indices_ = indices;
  }

  size_t axis_;
  int64_t element_;
  bool narrow_;
  std::shared_ptr<const std::string> place_;
  int64_t outer_ = 1, rows_ = 0, row_bytes_ = 0, indices_ = 0;
};

std::unique_ptr<Kernel> make_gather(const StepContext& context) {
  if (context.fused() || !copyable(context.inputs[0].type) || context.outputs[0].count() == 0) return nullptr;
  const int rank = context.inputs[0].rank();
  const int64_t axis = context.integer("axis", 0);
  return std::make_unique<GatherKernel>(context, static_cast<size_t>(axis < 0 ? axis + rank : axis));
}

}  // namespace

void movement_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "Concat", make_concat});
  table.push_back({"", "Pad", make_pad});
  table.push_back({"", "Gather", make_gather});
  table.push_back({"*", "*", make_copy});
}

}  // namespace axrun::runtime
