// MaxPool that also says where its maxima lie, float32, one to three spatial dims.
#include <array>
#include <cmath>
#include <limits>

#include "runtime/operators/pooling_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

constexpr size_t most_dims = 3;
using Places = std::array<int64_t, most_dims>;

class IndexedPoolKernel final : public Kernel {
 public:
  template <typename Dims>
  IndexedPoolKernel(std::shared_ptr<const WindowForm> form, bool columns_first, const Dims& x, const Dims& y)
      : form_(std::move(form)), columns_first_(columns_first), planes_(x[0] * x[1]) {
    const SlidingWindow window = form_->at(x, y);
    reaches_ = reaches_of_dims(window, most_dims);
    // Dims that there are not come first, of extent 1.
    const size_t missing = most_dims - window.rank();
    for (size_t d = 0; d < window.rank(); ++d) {
      in_[missing + d] = window.in[d];
      out_[missing + d] = window.out[d];
    }
    numbering_ = columns_first_ ? Places{1, in_[0], in_[0] * in_[1]} : Places{in_[1] * in_[2], in_[2], 1};
  }

  void run(const KernelCall& call) const override {
    const auto* const x = static_cast<const float*>(call.inputs[0]);
    auto* const y = static_cast<float*>(call.outputs[0]);
    auto* const indices = static_cast<int64_t*>(call.outputs[1]);
    const int64_t in = in_[0] * in_[1] * in_[2], out = out_[0] * out_[1] * out_[2];
    call.pool.parallel_for(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane)
        pool_plane(x + plane * in, plane * in, y + plane * out, indices + plane * out);
    });
  }
  std::string describe() const override { return "max pool with indices"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0), y = ports.output(0);
    if (x.count() == 0) return nullptr;
    return make_in_block<IndexedPoolKernel>(form_, columns_first_, x, y);
  }

 private:
  void pool_plane(const float* x, int64_t first_number, float* y, int64_t* indices) const {
    for (const Reach& d : reaches_[0])
      for (const Reach& h : reaches_[1])
        for (const Reach& w : reaches_[2]) find(x, first_number, d, h, w, *y++, *indices++);
  }

  /// The first of the largest, in row-major order; NaN is larger than numbers. Where a window has nothing but
  /// padding: -infinity, at -1.
  void find(const float* x, int64_t first_number, const Reach& depths, const Reach& rows,
            const Reach& columns, float& value, int64_t& index) const {
    float best = -std::numeric_limits<float>::infinity();
    int64_t number = -1;
    for (int64_t d = depths.first; d < depths.end; d += depths.step) {
      for (int64_t h = rows.first; h < rows.end; h += rows.step) {
        const float* const row = x + (d * in_[1] + h) * in_[2];
        for (int64_t w = columns.first; w < columns.end; w += columns.step) {
          const bool larger = row[w] > best || number < 0 || (std::isnan(row[w]) && !std::isnan(best));
          if (!larger) continue;
          best = row[w];
          number = first_number + d * numbering_[0] + h * numbering_[1] + w * numbering_[2];
        }
      }
    }
    value = best;
    index = number;
  }

  std::shared_ptr<const WindowForm> form_;
  bool columns_first_;
  int64_t planes_;
  Places in_ = {1, 1, 1}, out_ = {1, 1, 1};
  Places numbering_ = {};  ///< what a step along each dim adds to an element's number
  std::vector<std::vector<Reach>> reaches_;
};

std::unique_ptr<Kernel> make(const StepContext& context) {
  if (!context.has_output(1)) return nullptr;
  const std::optional<WindowForm> form = pooling_form(context, 1, most_dims);
  if (!form) return nullptr;
  return std::make_unique<IndexedPoolKernel>(std::make_shared<const WindowForm>(*form),
                                             context.integer("storage_order", 0) != 0,
                                             context.inputs[0].shape, context.outputs[0].shape);
}

}  // namespace

void pooling_index_factories(std::vector<FactoryEntry>& table) { table.push_back({"", "MaxPool", make}); }

}  // namespace axrun::runtime
