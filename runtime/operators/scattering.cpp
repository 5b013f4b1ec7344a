// ScatterElements and ScatterND.
#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/kernels/kernels.h"
#include "runtime/operators/indexing_parts.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

enum class Combine { assign, add, multiply, minimum, maximum };

std::optional<Combine> combine_of(const StepContext& context) {
  const std::string name = context.string("reduction", "none");
  const ElementType type = context.inputs[0].type;
  if (name == "none") return is_movable(type) ? std::optional(Combine::assign) : std::nullopt;
  if (type != ElementType::f32 && type != ElementType::f64 && type != ElementType::i32 &&
      type != ElementType::i64)
    return std::nullopt;
  if (name == "add") return Combine::add;
  if (name == "mul") return Combine::multiply;
  if (name == "min") return Combine::minimum;
  return Combine::maximum;
}

/// y = combined(y, update); integers wrap around, minimum and maximum are NaN if either is.
template <typename T>
T combined(Combine combine, T old, T update) {
  switch (combine) {
    case Combine::assign:
      return update;
    case Combine::add:
    case Combine::multiply:
      if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        const U a = static_cast<U>(old), b = static_cast<U>(update);
        return static_cast<T>(combine == Combine::add ? a + b : a * b);
      } else {
        return combine == Combine::add ? old + update : old * update;
      }
    case Combine::minimum:
      return old != old ? old : update < old || update != update ? update : old;
    case Combine::maximum:
      return old != old ? old : update > old || update != update ? update : old;
  }
  return update;
}

/// Calls function(T{}) with the type that the combination works on.
template <typename Function>
void with_type(Combine combine, ElementType type, const Function& function) {
  if (combine == Combine::assign) return with_element(ir::size_of(type), function);
  switch (type) {
    case ElementType::f64:
      return function(double{});
    case ElementType::i32:
      return function(int32_t{});
    case ElementType::i64:
      return function(int64_t{});
    default:
      return function(float{});
  }
}

void copy_base(const KernelCall& call, size_t bytes) {
  if (call.outputs[0] != call.inputs[0]) std::memcpy(call.outputs[0], call.inputs[0], bytes);
}

/// y[i... with indices[i...] on the axis] = updates[i...], in row-major order.
class ScatterElementsKernel final : public Kernel {
 public:
  ScatterElementsKernel(const StepContext& context, Combine combine, size_t axis)
      : type_(context.inputs[0].type),
        combine_(combine),
        axis_(axis),
        narrow_(context.inputs[1].type == ElementType::i32),
        place_(std::make_shared<const std::string>(place_of(context))) {
    // A definition may take what is constant into its expression: then there is no operand.
    if (context.inputs[1].constant != nullptr) constant_ = *context.inputs[1].constant;
  }

  /// False: there are more indices than the expression writes, which reports it, or none.
  bool size(const Extents& x, const Extents& indices) {
    if (indices.count() == 0) return false;
    for (size_t d = 0; d < x.size(); ++d)
      if (d != axis_ && indices[d] > x[d]) return false;
    bytes_ = static_cast<size_t>(x.count()) * ir::size_of(type_);
    indices_ = indices;
    size_ = x[axis_];
    columns_ = indices.back();
    rows_ = indices.count() / columns_;
    strides_ = x.strides();
    axis_stride_ = strides_[axis_];
    strides_[axis_] = 0;
    return true;
  }

  void run(const KernelCall& call) const override {
    copy_base(call, bytes_);
    const IndexReader reader{constant_.defined() ? constant_.data() : call.inputs[1], narrow_};
    with_type(combine_, type_, [&](auto sample) {
      using T = decltype(sample);
      const auto* updates = static_cast<const T*>(call.inputs[2]);
      auto* y = static_cast<T*>(call.outputs[0]);
      for (int64_t row = 0; row < rows_; ++row) {
        int64_t offset = 0, rest = row;
        for (size_t d = indices_.size() - 1; d-- > 0;) {
          offset += rest % indices_[d] * strides_[d];
          rest /= indices_[d];
        }
        for (int64_t j = 0; j < columns_; ++j) {
          const int64_t position = row * columns_ + j;
          const int64_t index = reader.at(position, size_);
          if (index < 0) fail_index(*place_);
          T& to = y[offset + j * strides_.back() + index * axis_stride_];
          to = combined(combine_, to, updates[position]);
        }
      }
    });
  }
  std::string describe() const override { return "scatter elements"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    if (constant_.defined() && ports.is_told(1)) return nullptr;
    auto other = make_in_block<ScatterElementsKernel>(*this);
    return other->size(ports.input(0), ports.input(1)) ? other : nullptr;
  }
  std::vector<int> in_place() const override { return {0}; }

 private:
  ElementType type_;
  Combine combine_;
  size_t axis_;
  bool narrow_;
  ir::Tensor constant_;  ///< the indices, where they are
  std::shared_ptr<const std::string> place_;
  size_t bytes_ = 0;
  Extents indices_, strides_;
  int64_t size_ = 0, rows_ = 0, columns_ = 0, axis_stride_ = 0;
};

std::unique_ptr<Kernel> make_scatter_elements(const StepContext& context) {
  if (context.fused() || !is_index(context, 1) || !context.has_input(2)) return nullptr;
  const auto combine = combine_of(context);
  if (!combine || !has_extents(context)) return nullptr;
  auto kernel = std::make_unique<ScatterElementsKernel>(context, *combine,
                                                        axis_of(context, 0, context.inputs[0].rank()));
  if (!kernel->size(extents_of(context.inputs[0].shape), extents_of(context.inputs[1].shape))) return nullptr;
  return kernel;
}

/// Slices of the updates written where tuples of indices say.
class ScatterNdKernel final : public Kernel {
 public:
  ScatterNdKernel(const StepContext& context, Combine combine)
      : type_(context.inputs[0].type),
        combine_(combine),
        narrow_(context.inputs[1].type == ElementType::i32),
        place_(std::make_shared<const std::string>(place_of(context))) {
    if (context.inputs[1].constant != nullptr) constant_ = *context.inputs[1].constant;
  }

  /// updates: how many elements. False: none.
  bool size(const Extents& x, const Extents& indices, int64_t updates) {
    if (updates == 0) return false;
    bytes_ = static_cast<size_t>(x.count()) * ir::size_of(type_);
    length_ = indices.back();
    sizes_ = x;
    strides_ = x.strides();
    tuples_ = indices.count(0, indices.size() - 1);
    slice_ = updates / tuples_;
    runs_.clear();
    if (constant_.defined() && length_ > 0) find_runs(constant_);
    return true;
  }

  void run(const KernelCall& call) const override {
    copy_base(call, bytes_);
    const IndexReader reader{call.inputs[1], narrow_};
    with_type(combine_, type_, [&](auto sample) {
      using T = decltype(sample);
      const auto* updates = static_cast<const T*>(call.inputs[2]);
      auto* y = static_cast<T*>(call.outputs[0]);
      for (const Run& run : runs_) write(y + run.target, updates + run.source, run.count);
      if (!runs_.empty()) return;
      for (int64_t t = 0; t < tuples_; ++t) {
        write(y + offset_of(reader, t), updates + t * slice_, slice_);
      }
    });
  }
  std::string describe() const override {
    return runs_.empty() ? "scatter slices" : "scatter " + std::to_string(runs_.size()) + " runs";
  }
  std::vector<int> in_place() const override { return {0}; }
  bool ignores_input(int k) const override { return k == 1 && !runs_.empty(); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    if (constant_.defined() && ports.is_told(1)) return nullptr;
    auto other = make_in_block<ScatterNdKernel>(*this);
    return other->size(ports.input(0), ports.input(1), ports.input(2).count()) ? other : nullptr;
  }

 private:
  /// Neighbouring updates that go to neighbouring elements, in elements.
  struct Run {
    int64_t target, source, count;
  };

  int64_t offset_of(const IndexReader& reader, int64_t tuple) const {
    int64_t offset = 0;
    for (int64_t k = 0; k < length_; ++k) {
      const int64_t index = reader.at(tuple * length_ + k, sizes_[static_cast<size_t>(k)]);
      if (index < 0) fail_index(*place_);
      offset += index * strides_[static_cast<size_t>(k)];
    }
    return offset;
  }

  /// Constant indices become runs; those out of range are left for the run to report.
  void find_runs(const ir::Tensor& indices) {
    const IndexReader reader{indices.data(), narrow_};
    for (int64_t i = 0; i < indices.size(); ++i) {
      if (reader.at(i, sizes_[static_cast<size_t>(i % length_)]) < 0) return;
    }
    for (int64_t t = 0; t < tuples_; ++t) {
      const int64_t target = offset_of(reader, t);
      if (!runs_.empty() && runs_.back().target + runs_.back().count == target) {
        runs_.back().count += slice_;
      } else {
        runs_.push_back({target, t * slice_, slice_});
      }
    }
  }

  template <typename T>
  void write(T* to, const T* from, int64_t count) const {
    if (combine_ == Combine::assign) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = combined(combine_, to[i], from[i]);
    }
  }

  ElementType type_;
  Combine combine_;
  bool narrow_;
  ir::Tensor constant_;  ///< the indices, where they are
  std::shared_ptr<const std::string> place_;
  size_t bytes_ = 0;
  Extents sizes_, strides_;  ///< of which a tuple addresses the first ones
  int64_t length_ = 0, tuples_ = 0, slice_ = 0;
  std::vector<Run> runs_;
};

std::unique_ptr<Kernel> make_scatter_nd(const StepContext& context) {
  if (context.fused() || !is_index(context, 1) || !context.has_input(2)) return nullptr;
  const auto combine = combine_of(context);
  if (!combine || !has_extents(context)) return nullptr;
  auto kernel = std::make_unique<ScatterNdKernel>(context, *combine);
  if (!kernel->size(extents_of(context.inputs[0].shape), extents_of(context.inputs[1].shape),
                    context.inputs[2].count()))
    return nullptr;
  return kernel;
}

}  // namespace

void scatter_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "Scatter", make_scatter_elements});
  table.push_back({"", "ScatterElements", make_scatter_elements});
  table.push_back({"", "ScatterND", make_scatter_nd});
}

}  // namespace axrun::runtime
