// ReverseSequence: rows gathered backwards.
#include <algorithm>
#include <cstring>

#include "runtime/operators/indexing_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

constexpr int64_t grain_elements = 8192;

/// [outer][first][between][second][inner], where time and batch are `first` and `second`, in either order.
struct ReversedView {
  bool time_first = true;
  int64_t outer = 1, first = 1, between = 1, second = 1, inner = 1;

  template <typename Dims>
  ReversedView(const Dims& x, size_t time, size_t batch) : time_first(time < batch) {
    const size_t one = std::min(time, batch), other = std::max(time, batch);
    first = x[one];
    second = x[other];
    for (size_t d = 0; d < x.size(); ++d) {
      if (d < one) outer *= x[d];
      if (d > one && d < other) between *= x[d];
      if (d > other) inner *= x[d];
    }
  }
  int64_t times() const { return time_first ? first : second; }
  int64_t batches() const { return time_first ? second : first; }
};

class ReverseSequenceKernel final : public Kernel {
 public:
  ReverseSequenceKernel(const ReversedView& view, size_t time, size_t batch, size_t element, bool narrow,
                        std::string place)
      : view_(view),
        time_(time),
        batch_(batch),
        element_(element),
        narrow_(narrow),
        place_(std::move(place)) {}

  void run(const KernelCall& call) const override {
    for (int64_t batch = 0; batch < view_.batches(); ++batch)
      if (length(call.inputs[1], batch) > view_.times()) fail_index(place_);
    if (view_.inner > 1) return copy_rows(call);
    with_element(element_, [&](auto sample) {
      using T = decltype(sample);
      const auto* x = static_cast<const T*>(call.inputs[0]);
      auto* y = static_cast<T*>(call.outputs[0]);
      for_rows(call, [&](int64_t to, int64_t from) { y[to] = x[from]; });
    });
  }
  std::string describe() const override { return "reverse sequence"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0);
    if (x.count() == 0) return nullptr;
    return make_in_block<ReverseSequenceKernel>(ReversedView(x, time_, batch_), time_, batch_, element_,
                                                narrow_, place_);
  }

 private:
  int64_t length(const void* lengths, int64_t batch) const {
    return narrow_ ? static_cast<const int32_t*>(lengths)[batch]
                   : static_cast<const int64_t*>(lengths)[batch];
  }

  void copy_rows(const KernelCall& call) const {
    const auto* x = static_cast<const char*>(call.inputs[0]);
    auto* y = static_cast<char*>(call.outputs[0]);
    const auto bytes = static_cast<size_t>(view_.inner) * element_;
    for_rows(call, [&](int64_t to, int64_t from) {
      std::memcpy(y + static_cast<size_t>(to) * bytes, x + static_cast<size_t>(from) * bytes, bytes);
    });
  }

  /// Calls body(row of the result, row of x) for rows of `inner` elements.
  template <typename Body>
  void for_rows(const KernelCall& call, const Body& body) const {
    const ReversedView& v = view_;
    const int64_t rows = v.between * v.second;
    const int64_t grain = std::max<int64_t>(1, grain_elements / (rows * v.inner));
    call.pool.parallel_for(v.outer * v.first, grain, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t first = line % v.first;
        for (int64_t second = 0; second < v.second; ++second) {
          const int64_t time = v.time_first ? first : second;
          const int64_t reversed = length(call.inputs[1], v.time_first ? second : first);
          const int64_t moved = time < reversed ? reversed - 1 - 2 * time : 0;
          const int64_t step = v.time_first ? moved * rows : moved;
          for (int64_t row = line * rows + second; row < (line + 1) * rows; row += v.second)
            body(row, row + step);
        }
      }
    });
  }

  ReversedView view_;
  size_t time_, batch_;  ///< axes
  size_t element_;
  bool narrow_;
  std::string place_;
};

std::unique_ptr<Kernel> make_reverse_sequence(const StepContext& context) {
  if (context.fused() || !is_index(context, 1) || !is_movable(context.inputs[0].type)) return nullptr;
  const StepPort& x = context.inputs[0];
  if (x.count() == 0 || x.rank() > static_cast<int>(Extents::most)) return nullptr;
  const auto axis = [&](std::string_view name, int64_t otherwise) {
    const int64_t given = context.integer(name, otherwise);
    return static_cast<size_t>(given < 0 ? given + x.rank() : given);
  };
  const size_t time = axis("time_axis", 0), batch = axis("batch_axis", 1);
  return std::make_unique<ReverseSequenceKernel>(
      ReversedView(x.shape, time, batch), time, batch, ir::size_of(x.type),
      context.inputs[1].type == ir::ElementType::i32, place_of(context));
}

}  // namespace

void reversal_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "ReverseSequence", make_reverse_sequence});
}

}  // namespace axrun::runtime
