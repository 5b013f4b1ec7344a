// GatherElements, GatherND and OneHot.
#include <algorithm>
#include <cstring>

#include "runtime/kernels/kernels.h"
#include "runtime/operators/indexing_parts.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr int64_t grain_elements = 8192;

/// y[i...] = x[i... with indices[i...] on the axis].
class GatherElementsKernel final : public Kernel {
 public:
  GatherElementsKernel(const StepContext& context, size_t axis)
      : element_(ir::size_of(context.inputs[0].type)),
        axis_(axis),
        narrow_(context.inputs[1].type == ElementType::i32),
        place_(std::make_shared<const std::string>(place_of(context))) {}

  /// False: there are more indices than the expression reads, which reports it, or none.
  bool size(const Extents& x, const Extents& indices) {
    if (indices.count() == 0) return false;
    for (size_t d = 0; d < x.size(); ++d)
      if (d != axis_ && indices[d] > x[d]) return false;
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
    const IndexReader reader{call.inputs[1], narrow_};
    with_element(element_, [&](auto sample) {
      using T = decltype(sample);
      const auto* x = static_cast<const T*>(call.inputs[0]);
      auto* y = static_cast<T*>(call.outputs[0]);
      const int64_t step = strides_.back();
      call.pool.parallel_for(rows_, std::max<int64_t>(1, grain_elements / columns_),
                             [&](int64_t begin, int64_t end) {
                               for (int64_t row = begin; row < end; ++row) {
                                 const T* from = x + row_offset(row);
                                 for (int64_t j = 0; j < columns_; ++j) {
                                   const int64_t index = reader.at(row * columns_ + j, size_);
                                   if (index < 0) fail_index(*place_);
                                   y[row * columns_ + j] = from[j * step + index * axis_stride_];
                                 }
                               }
                             });
    });
  }
  std::string describe() const override { return "gather elements"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    auto other = make_in_block<GatherElementsKernel>(*this);
    return other->size(ports.input(0), ports.input(1)) ? other : nullptr;
  }

 private:
  int64_t row_offset(int64_t row) const {
    int64_t offset = 0;
    for (size_t d = indices_.size() - 1; d-- > 0;) {
      offset += row % indices_[d] * strides_[d];
      row /= indices_[d];
    }
    return offset;
  }

  size_t element_, axis_;
  bool narrow_;
  std::shared_ptr<const std::string> place_;
  Extents indices_, strides_;
  int64_t size_ = 0, rows_ = 0, columns_ = 0, axis_stride_ = 0;
};

std::unique_ptr<Kernel> make_gather_elements(const StepContext& context) {
  if (context.fused() || !is_index(context, 1) || !is_movable(context.inputs[0].type)) return nullptr;
  if (!has_extents(context)) return nullptr;
  auto kernel =
      std::make_unique<GatherElementsKernel>(context, axis_of(context, 0, context.inputs[0].rank()));
  if (!kernel->size(extents_of(context.inputs[0].shape), extents_of(context.inputs[1].shape))) return nullptr;
  return kernel;
}

/// Slices of x at tuples of indices.
class GatherNdKernel final : public Kernel {
 public:
  GatherNdKernel(const StepContext& context, size_t batch_dims)
      : batch_dims_(batch_dims),
        element_(static_cast<int64_t>(ir::size_of(context.inputs[0].type))),
        narrow_(context.inputs[1].type == ElementType::i32),
        place_(std::make_shared<const std::string>(place_of(context))) {}

  /// results: elements of the result. False: there are none, or no indices.
  bool size(const Extents& x, const Extents& indices, int64_t results) {
    if (results == 0 || indices.count() == 0) return false;
    const Extents strides = x.strides();
    sizes_ = strides_ = {};
    for (size_t k = 0; k < static_cast<size_t>(indices.back()); ++k) {
      sizes_.push_back(x[batch_dims_ + k]);
      strides_.push_back(strides[batch_dims_ + k]);
    }
    tuples_ = indices.count() / indices.back();
    slice_ = results / tuples_;
    batches_ = x.count(0, batch_dims_);
    batch_stride_ = x.count() / batches_;
    return true;
  }

  void run(const KernelCall& call) const override {
    const IndexReader reader{call.inputs[1], narrow_};
    const auto* x = static_cast<const char*>(call.inputs[0]);
    auto* y = static_cast<char*>(call.outputs[0]);
    const auto length = static_cast<int64_t>(sizes_.size());
    const int64_t per_batch = tuples_ / batches_;
    const auto bytes = static_cast<size_t>(slice_ * element_);
    call.pool.parallel_for(
        tuples_, std::max<int64_t>(1, grain_elements / slice_), [&](int64_t begin, int64_t end) {
          for (int64_t t = begin; t < end; ++t) {
            int64_t offset = t / per_batch * batch_stride_;
            for (int64_t k = 0; k < length; ++k) {
              const int64_t index = reader.at(t * length + k, sizes_[static_cast<size_t>(k)]);
              if (index < 0) fail_index(*place_);
              offset += index * strides_[static_cast<size_t>(k)];
            }
            std::memcpy(y + t * slice_ * element_, x + offset * element_, bytes);
          }
        });
  }
  std::string describe() const override { return "gather slices"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    auto other = make_in_block<GatherNdKernel>(*this);
    return other->size(ports.input(0), ports.input(1), ports.output(0).count()) ? other : nullptr;
  }

 private:
  size_t batch_dims_;
  int64_t element_;
  bool narrow_;
  std::shared_ptr<const std::string> place_;
  Extents sizes_, strides_;  ///< of the dimensions a tuple addresses
  int64_t tuples_ = 0, slice_ = 0, batches_ = 1, batch_stride_ = 0;
};

std::unique_ptr<Kernel> make_gather_nd(const StepContext& context) {
  if (context.fused() || !is_index(context, 1) || !is_movable(context.inputs[0].type)) return nullptr;
  if (!has_extents(context)) return nullptr;
  auto kernel =
      std::make_unique<GatherNdKernel>(context, static_cast<size_t>(context.integer("batch_dims", 0)));
  if (!kernel->size(extents_of(context.inputs[0].shape), extents_of(context.inputs[1].shape),
                    context.outputs[0].count()))
    return nullptr;
  return kernel;
}

/// values[1] at the index, values[0] elsewhere, along a new axis.
class OneHotKernel final : public Kernel {
 public:
  template <typename Dims>
  OneHotKernel(size_t element, ElementType index_type, size_t axis, const Dims& y)
      : element_(element), index_type_(index_type), axis_(axis), depth_(y[axis]) {
    for (size_t d = 0; d < axis; ++d) outer_ *= y[d];
    for (size_t d = axis + 1; d < y.size(); ++d) inner_ *= y[d];
  }

  void run(const KernelCall& call) const override {
    with_element(element_, [&](auto sample) {
      using T = decltype(sample);
      const T off = static_cast<const T*>(call.inputs[2])[0], on = static_cast<const T*>(call.inputs[2])[1];
      auto* y = static_cast<T*>(call.outputs[0]);
      std::fill_n(y, outer_ * depth_ * inner_, off);
      for (int64_t o = 0; o < outer_; ++o) {
        for (int64_t i = 0; i < inner_; ++i) {
          const int64_t hot = index(call.inputs[0], o * inner_ + i);
          if (hot >= 0 && hot < depth_) y[(o * depth_ + hot) * inner_ + i] = on;
        }
      }
    });
  }
  std::string describe() const override { return "one hot"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents y = ports.output(0);
    if (y.count() == 0) return nullptr;
    return make_in_block<OneHotKernel>(element_, index_type_, axis_, y);
  }

 private:
  int64_t index(const void* data, int64_t at) const {
    int64_t value = 0;
    switch (index_type_) {
      case ElementType::i64:
        value = static_cast<const int64_t*>(data)[at];
        break;
      case ElementType::i32:
        value = static_cast<const int32_t*>(data)[at];
        break;
      default: {
        // Truncated towards zero; what lies outside is hot nowhere.
        const float real = static_cast<const float*>(data)[at];
        if (!(real > -1e18f && real < 1e18f)) return real != real ? 0 : -1;
        value = static_cast<int64_t>(real);
        break;
      }
    }
    return value < 0 ? value + depth_ : value;
  }

  size_t element_;
  ElementType index_type_;
  size_t axis_;
  int64_t depth_, outer_ = 1, inner_ = 1;
};

std::unique_ptr<Kernel> make_one_hot(const StepContext& context) {
  if (context.fused() || !is_movable(context.inputs[2].type) || context.outputs[0].count() == 0)
    return nullptr;
  const ElementType type = context.inputs[0].type;
  if (type != ElementType::i64 && type != ElementType::i32 && type != ElementType::f32) return nullptr;
  const StepPort& y = context.outputs[0];
  return std::make_unique<OneHotKernel>(ir::size_of(context.inputs[2].type), type,
                                        axis_of(context, -1, y.rank()), y.shape);
}

}  // namespace

void gather_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "GatherElements", make_gather_elements});
  table.push_back({"", "GatherND", make_gather_nd});
  table.push_back({"", "OneHot", make_one_hot});
}

}  // namespace axrun::runtime
