// GatherElements, GatherND and OneHot.
#include <algorithm>
#include <cstring>

#include "runtime/kernels/kernels.h"
#include "runtime/operators/indexing_parts.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr int64_t grain_elements = 8192;

/// y[i...] = x[i... with indices[i...] on the axis].
class GatherElementsKernel final : public Kernel {
 public:
  GatherElementsKernel(const StepContext& context, size_t axis)
      : element_(ir::size_of(context.inputs[0].type)),
        indices_(context.inputs[1].shape),
        strides_(ir::row_major_strides(context.inputs[0].shape)),
        axis_(axis),
        size_(context.inputs[0].shape[axis]),
        narrow_(context.inputs[1].type == ElementType::i32),
        place_(place_of(context)) {
    columns_ = indices_.back();
    rows_ = ir::element_count(indices_) / columns_;
    axis_stride_ = strides_[axis];
    strides_[axis] = 0;
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
                                   if (index < 0) fail_index(place_);
                                   y[row * columns_ + j] = from[j * step + index * axis_stride_];
                                 }
                               }
                             });
    });
  }
  std::string describe() const override { return "gather elements"; }

 private:
  int64_t row_offset(int64_t row) const {
    int64_t offset = 0;
    for (size_t d = indices_.size() - 1; d-- > 0;) {
      offset += row % indices_[d] * strides_[d];
      row /= indices_[d];
    }
    return offset;
  }

  size_t element_;
  ir::Shape indices_, strides_;
  size_t axis_;
  int64_t size_, rows_ = 0, columns_ = 0, axis_stride_ = 0;
  bool narrow_;
  std::string place_;
};

std::unique_ptr<Kernel> make_gather_elements(const StepContext& context) {
  if (context.fused() || !is_index(context, 1) || !is_movable(context.inputs[0].type)) return nullptr;
  if (context.outputs[0].count() == 0) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& indices = context.inputs[1].shape;
  const size_t axis = axis_of(context, 0, context.inputs[0].rank());
  for (size_t d = 0; d < x.size(); ++d) {
    if (d != axis && indices[d] > x[d]) return nullptr;  // reported by the expression
  }
  return std::make_unique<GatherElementsKernel>(context, axis);
}

/// Slices of x at tuples of indices.
class GatherNdKernel final : public Kernel {
 public:
  GatherNdKernel(const StepContext& context, size_t batch_dims)
      : narrow_(context.inputs[1].type == ElementType::i32), place_(place_of(context)) {
    const ir::Shape& x = context.inputs[0].shape;
    const ir::Shape& indices = context.inputs[1].shape;
    const ir::Shape strides = ir::row_major_strides(x);
    const auto length = static_cast<size_t>(indices.back());
    for (size_t k = 0; k < length; ++k) {
      sizes_.push_back(x[batch_dims + k]);
      strides_.push_back(strides[batch_dims + k]);
    }
    tuples_ = ir::element_count(indices) / indices.back();
    slice_ = context.outputs[0].count() / tuples_;
    for (size_t d = 0; d < batch_dims; ++d) batches_ *= x[d];
    batch_stride_ = context.inputs[0].count() / batches_;
    element_ = static_cast<int64_t>(ir::size_of(context.inputs[0].type));
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
              if (index < 0) fail_index(place_);
              offset += index * strides_[static_cast<size_t>(k)];
            }
            std::memcpy(y + t * slice_ * element_, x + offset * element_, bytes);
          }
        });
  }
  std::string describe() const override { return "gather slices"; }

 private:
  std::vector<int64_t> sizes_, strides_;  ///< of the dimensions a tuple addresses
  int64_t tuples_ = 0, slice_ = 0, batches_ = 1, batch_stride_ = 0, element_ = 0;
  bool narrow_;
  std::string place_;
};

std::unique_ptr<Kernel> make_gather_nd(const StepContext& context) {
  if (context.fused() || !is_index(context, 1) || !is_movable(context.inputs[0].type)) return nullptr;
  if (context.outputs[0].count() == 0 || context.inputs[1].count() == 0) return nullptr;
  return std::make_unique<GatherNdKernel>(context, static_cast<size_t>(context.integer("batch_dims", 0)));
}

/// values[1] at the index, values[0] elsewhere, along a new axis.
class OneHotKernel final : public Kernel {
 public:
  OneHotKernel(const StepContext& context, size_t axis)
      : element_(ir::size_of(context.inputs[2].type)), index_type_(context.inputs[0].type) {
    const ir::Shape& y = context.outputs[0].shape;
    depth_ = y[axis];
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
  int64_t depth_ = 0, outer_ = 1, inner_ = 1;
};

std::unique_ptr<Kernel> make_one_hot(const StepContext& context) {
  if (context.fused() || !is_movable(context.inputs[2].type) || context.outputs[0].count() == 0)
    return nullptr;
  const ElementType type = context.inputs[0].type;
  if (type != ElementType::i64 && type != ElementType::i32 && type != ElementType::f32) return nullptr;
  return std::make_unique<OneHotKernel>(context, axis_of(context, -1, context.outputs[0].rank()));
}

}  // namespace

void gather_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "GatherElements", make_gather_elements});
  table.push_back({"", "GatherND", make_gather_nd});
  table.push_back({"", "OneHot", make_one_hot});
}

}  // namespace axrun::runtime
