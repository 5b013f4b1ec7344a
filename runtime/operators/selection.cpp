// TopK, ArgMax, ArgMin and CumSum along one axis.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/kernels.h"
#include "runtime/operators/indexing_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr int64_t grain_elements = 8192;

/// [outer][extent][inner] around the axis.
template <typename Dims>
AxisView view_of(const Dims& shape, size_t axis) {
  AxisView view;
  for (size_t d = 0; d < shape.size(); ++d) {
    (d < axis ? view.outer : d == axis ? view.extent : view.inner) *= shape[d];
  }
  return view;
}

bool is_number(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::i32 ||
         type == ElementType::i64;
}

/// Calls function(T{}) for one of the types of is_number.
template <typename Function>
void with_number(ElementType type, const Function& function) {
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

/// Whether a comes before b: the larger (or smaller) one; NaN is larger than every number.
template <bool largest, typename T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b))
      return largest ? std::isnan(a) && !std::isnan(b) : std::isnan(b) && !std::isnan(a);
  }
  return largest ? a > b : a < b;
}

class TopKKernel final : public Kernel {
 public:
  TopKKernel(ElementType type, size_t axis, bool largest, int threads)
      : type_(type), axis_(axis), largest_(largest), threads_(threads) {}

  template <typename Dims>
  void size(const Dims& x, const Dims& y) {
    view_ = view_of(x, axis_);
    k_ = y[axis_];
    line_bytes_ = static_cast<size_t>((view_.extent * 16 + 63) / 64 * 64);
  }

  void run(const KernelCall& call) const override {
    with_number(type_, [&](auto sample) {
      using T = decltype(sample);
      if (largest_) {
        run_typed<true, T>(call);
      } else {
        run_typed<false, T>(call);
      }
    });
  }
  std::string describe() const override { return "top " + std::to_string(k_); }
  size_t scratch_bytes() const override { return line_bytes_ * static_cast<size_t>(threads_); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0);
    if (x.count() == 0) return nullptr;
    auto other = make_in_block<TopKKernel>(*this);
    other->size(x, ports.output(wants_values ? 0 : 1));
    return other;
  }
  bool wants_values = false, wants_indices = false;

 private:
  template <typename T>
  struct Entry {
    T value;
    int64_t position;
  };

  template <bool largest, typename T>
  void run_typed(const KernelCall& call) const {
    static_assert(sizeof(Entry<T>) <= 16);
    const auto first = [](const Entry<T>& a, const Entry<T>& b) {
      if (before<largest>(a.value, b.value)) return true;
      return !before<largest>(b.value, a.value) && a.position < b.position;
    };
    const auto* x = static_cast<const T*>(call.inputs[0]);
    auto* values = wants_values ? static_cast<T*>(call.outputs[0]) : nullptr;
    auto* indices = wants_indices ? static_cast<int64_t*>(call.outputs[1]) : nullptr;
    const int64_t grain = std::max<int64_t>(1, grain_elements / std::max<int64_t>(view_.extent, 1));
    call.pool.parallel_for_workers(
        view_.outer * view_.inner, grain, [&](int64_t worker, int64_t begin, int64_t end) {
          auto* line = reinterpret_cast<Entry<T>*>(static_cast<char*>(call.scratch) +
                                                   static_cast<size_t>(worker) * line_bytes_);
          for (int64_t l = begin; l < end; ++l) {
            const int64_t outer = l / view_.inner, inner = l % view_.inner;
            const T* from = x + outer * view_.extent * view_.inner + inner;
            for (int64_t i = 0; i < view_.extent; ++i) line[i] = {from[i * view_.inner], i};
            std::partial_sort(line, line + k_, line + view_.extent, first);
            const int64_t to = outer * k_ * view_.inner + inner;
            for (int64_t i = 0; i < k_; ++i) {
              if (values != nullptr) values[to + i * view_.inner] = line[i].value;
              if (indices != nullptr) indices[to + i * view_.inner] = line[i].position;
            }
          }
        });
  }

  ElementType type_;
  size_t axis_;
  bool largest_;
  int threads_;
  AxisView view_;
  int64_t k_ = 0;
  size_t line_bytes_ = 0;
};

std::unique_ptr<Kernel> make_top_k(const StepContext& context) {
  if (context.fused() || !is_number(context.inputs[0].type) || context.inputs[0].count() == 0) return nullptr;
  const StepPort& x = context.inputs[0];
  const StepPort& y = context.has_output(0) ? context.outputs[0] : context.outputs[1];
  auto kernel = std::make_unique<TopKKernel>(x.type, axis_of(context, -1, x.rank()),
                                             context.integer("largest", 1) != 0, context.threads);
  kernel->size(x.shape, y.shape);
  kernel->wants_values = context.has_output(0);
  kernel->wants_indices = context.has_output(1);
  return kernel;
}

template <bool largest>
class ArgKernel final : public Kernel {
 public:
  template <typename Dims>
  ArgKernel(ElementType type, size_t axis, bool last, const Dims& x)
      : type_(type), axis_(axis), view_(view_of(x, axis)), last_(last) {}
  void run(const KernelCall& call) const override {
    with_number(type_, [&](auto sample) {
      using T = decltype(sample);
      const auto* x = static_cast<const T*>(call.inputs[0]);
      auto* y = static_cast<int64_t*>(call.outputs[0]);
      const int64_t grain = std::max<int64_t>(1, grain_elements / view_.extent);
      call.pool.parallel_for(view_.outer * view_.inner, grain, [&](int64_t begin, int64_t end) {
        for (int64_t l = begin; l < end; ++l) {
          y[l] = extreme(x + l / view_.inner * view_.extent * view_.inner + l % view_.inner);
        }
      });
    });
  }
  std::string describe() const override { return largest ? "argmax" : "argmin"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0);
    if (x.count() == 0) return nullptr;
    return make_in_block<ArgKernel>(type_, axis_, last_, x);
  }

 private:
  /// NaN counts as more extreme than any number, on either side.
  template <typename T>
  static bool better(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    }
    return largest ? a > b : a < b;
  }

  template <typename T>
  int64_t extreme(const T* x) const {
    int64_t place = 0;
    T best = x[0];
    for (int64_t i = 1; i < view_.extent; ++i) {
      const T value = x[i * view_.inner];
      if (better(value, best) || (last_ && !better(best, value))) {
        best = value;
        place = i;
      }
    }
    return place;
  }

  ElementType type_;
  size_t axis_;
  AxisView view_;
  bool last_;
};

template <bool largest>
std::unique_ptr<Kernel> make_arg(const StepContext& context) {
  if (context.fused() || !is_number(context.inputs[0].type) || context.inputs[0].count() == 0) return nullptr;
  const StepPort& x = context.inputs[0];
  return std::make_unique<ArgKernel<largest>>(x.type, axis_of(context, 0, x.rank()),
                                              context.integer("select_last_index", 0) != 0, x.shape);
}

class CumulativeSumKernel final : public Kernel {
 public:
  template <typename Dims>
  CumulativeSumKernel(ElementType type, size_t axis, bool reverse, bool exclusive, const Dims& x)
      : type_(type), axis_(axis), view_(view_of(x, axis)), reverse_(reverse), exclusive_(exclusive) {}
  void run(const KernelCall& call) const override {
    with_number(type_, [&](auto sample) {
      using T = decltype(sample);
      const auto* x = static_cast<const T*>(call.inputs[0]);
      auto* y = static_cast<T*>(call.outputs[0]);
      const int64_t block = view_.extent * view_.inner;
      const int64_t grain = std::max<int64_t>(1, grain_elements / view_.extent);
      call.pool.parallel_for(view_.outer * view_.inner, grain, [&](int64_t begin, int64_t end) {
        for (int64_t l = begin; l < end; ++l) {
          const int64_t first = l / view_.inner * block + l % view_.inner;
          line(x + first, y + first);
        }
      });
    });
  }
  std::string describe() const override { return "cumulative sum"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0);
    if (x.count() == 0 || ports.is_told(1)) return nullptr;
    return make_in_block<CumulativeSumKernel>(type_, axis_, reverse_, exclusive_, x);
  }

 private:
  template <typename T>
  void line(const T* x, T* y) const {
    // Floats are summed in float64; integers wrap around.
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    Sum sum = 0;
    for (int64_t i = 0; i < view_.extent; ++i) {
      const int64_t at = (reverse_ ? view_.extent - 1 - i : i) * view_.inner;
      const Sum next = sum + static_cast<Sum>(x[at]);
      y[at] = static_cast<T>(exclusive_ ? sum : next);
      sum = next;
    }
  }

  ElementType type_;
  size_t axis_;
  AxisView view_;
  bool reverse_, exclusive_;
};

std::unique_ptr<Kernel> make_cumulative_sum(const StepContext& context) {
  if (context.fused() || !is_number(context.inputs[0].type) || context.inputs[0].count() == 0) return nullptr;
  if (!context.has_input(1) || context.inputs[1].constant == nullptr) return nullptr;
  const StepPort& x = context.inputs[0];
  const int64_t axis = context.inputs[1].constant->get_int(0);
  return std::make_unique<CumulativeSumKernel>(x.type, static_cast<size_t>(axis < 0 ? axis + x.rank() : axis),
                                               context.integer("reverse", 0) != 0,
                                               context.integer("exclusive", 0) != 0, x.shape);
}

}  // namespace

void selection_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "TopK", make_top_k});
  table.push_back({"", "ArgMax", make_arg<true>});
  table.push_back({"", "ArgMin", make_arg<false>});
  table.push_back({"", "CumSum", make_cumulative_sum});
}

}  // namespace axrun::runtime
