// Windows over bytes: com.microsoft's NhwcMaxPool and QLinearAveragePool, one to three spatial dims.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/operators/product_sizes.h"
#include "runtime/operators/quantized_parts.h"
#include "runtime/operators/window.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

constexpr size_t most_dims = 3;

/// Images [image, depth, height, width, channel], or with the channel after the image.
struct Layout {
  bool channels_last = false;
  int64_t images = 1, channels = 1;
  Extents in, out;  ///< extents of three dims

  /// What is between neighbours along the dims and the channels.
  struct Strides {
    int64_t image, channel, depth, height, width;
  };
  Strides strides(const Extents& extents) const {
    const int64_t step = channels_last ? channels : 1, plane = extents[1] * extents[2];
    const int64_t volume = extents[0] * plane;
    return {channels * volume, channels_last ? 1 : volume, plane * step, extents[2] * step, step};
  }
};

/// What stays the same at other sizes.
struct WindowsForm {
  WindowForm window;
  bool channels_last = false;
};

struct Windows {
  Layout layout;
  std::vector<std::vector<Reach>> reaches;

  Windows(const WindowsForm& form, Extents x, Extents y) {
    for (Extents* shape : {&x, &y})
      if (form.channels_last)
        std::rotate(&(*shape)[1], &(*shape)[shape->size() - 1], &(*shape)[0] + shape->size());
    const SlidingWindow window = form.window.at(x, y);
    layout.channels_last = form.channels_last;
    layout.images = x[0];
    layout.channels = x[1];
    for (size_t d = window.rank(); d < most_dims; ++d) {
      layout.in.push_back(1);
      layout.out.push_back(1);
    }
    for (size_t d = 0; d < window.rank(); ++d) {
      layout.in.push_back(window.in[d]);
      layout.out.push_back(window.out[d]);
    }
    reaches = reaches_of_dims(window, most_dims);
  }
};

/// Of input 0 and output 0; nothing where they are not bytes of at most three spatial dims.
std::optional<WindowsForm> windows(const StepContext& context, bool channels_last) {
  if (context.fused() || !byte_input(context, 0) || context.outputs[0].type != context.inputs[0].type ||
      context.inputs[0].count() == 0 || context.outputs[0].count() == 0)
    return std::nullopt;
  const size_t rank = context.inputs[0].shape.size();
  if (rank < 3 || rank > 2 + most_dims) return std::nullopt;
  std::vector<int64_t> kernel = context.integers("kernel_shape");
  if (kernel.empty()) kernel.assign(rank - 2, 1);
  return WindowsForm{WindowForm(context, kernel), channels_last};
}

/// At the sizes of a node of the context.
Windows windows_at(const StepContext& context, const WindowsForm& form) {
  return {form, extents_of(context.inputs[0].shape), extents_of(context.outputs[0].shape)};
}

/// Nothing where there is nothing to compute.
std::optional<Windows> windows_at(const PortSizes& ports, const WindowsForm& form) {
  const Extents x = ports.input(0), y = ports.output(0);
  if (x.count() == 0 || y.count() == 0) return std::nullopt;
  return Windows(form, x, y);
}

/// body(offset of what a tap reads) for the taps of one window that are inside.
template <typename Body>
void for_taps(const Layout::Strides& in, const Reach& depths, const Reach& rows, const Reach& columns,
              const Body& body) {
  for (int64_t d = depths.first; d < depths.end; d += depths.step)
    for (int64_t h = rows.first; h < rows.end; h += rows.step)
      for (int64_t w = columns.first; w < columns.end; w += columns.step)
        body(d * in.depth + h * in.height + w * in.width);
}

/// By value, or bytes that are stored could be any of what is counted with.
template <typename T>
void raise_to(int64_t count, const T* __restrict from, T* __restrict to) {
  for (int64_t c = 0; c < count; ++c) to[c] = from[c] > to[c] ? from[c] : to[c];
}

class ByteMaxPoolKernel final : public Kernel {
 public:
  ByteMaxPoolKernel(Byte type, std::shared_ptr<const WindowsForm> form, Windows windows)
      : type_(type), form_(std::move(form)), windows_(std::move(windows)) {}
  void run(const KernelCall& call) const override {
    type_ == Byte::u8 ? run_typed<uint8_t>(call) : run_typed<int8_t>(call);
  }
  std::string describe() const override { return "max pool of bytes"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    auto windows = windows_at(ports, *form_);
    return windows ? make_in_block<ByteMaxPoolKernel>(type_, form_, std::move(*windows)) : nullptr;
  }

 private:
  template <typename T>
  void run_typed(const KernelCall& call) const {
    const Layout& layout = windows_.layout;
    const Layout::Strides in = layout.strides(layout.in), out = layout.strides(layout.out);
    const auto* const x = static_cast<const T*>(call.inputs[0]);
    auto* const y = static_cast<T*>(call.outputs[0]);
    const int64_t lines = layout.out[0] * layout.out[1], channels = layout.channels;
    call.pool.parallel_for(layout.images * lines, 1, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t image = line / lines, d = line % lines / layout.out[1], h = line % layout.out[1];
        T* to = y + image * out.image + d * out.depth + h * out.height;
        for (const Reach& columns : windows_.reaches[2]) {
          std::fill_n(to, channels, std::numeric_limits<T>::min());
          for_taps(in, at(0, d), at(1, h), columns,
                   [&](int64_t offset) { raise_to(channels, x + image * in.image + offset, to); });
          to += channels;
        }
      }
    });
  }
  const Reach& at(size_t dim, int64_t place) const {
    return windows_.reaches[dim][static_cast<size_t>(place)];
  }

  Byte type_;
  std::shared_ptr<const WindowsForm> form_;
  Windows windows_;
};

std::unique_ptr<Kernel> make_max(const StepContext& context) {
  const std::optional<WindowsForm> form = windows(context, true);
  if (!form) return nullptr;
  return std::make_unique<ByteMaxPoolKernel>(
      *byte_input(context, 0), std::make_shared<const WindowsForm>(*form), windows_at(context, *form));
}

/// Sums of what bytes stand for, in double: the 256 numbers are looked up.
class ByteAveragePoolKernel final : public Kernel {
 public:
  ByteAveragePoolKernel(const StepContext& context, const WindowsForm& form, bool with_pads)
      : type_(*byte_input(context, 0)),
        form_(std::make_shared<const WindowsForm>(form)),
        windows_(windows_at(context, form)),
        with_pads_(with_pads) {
    for (size_t k : {size_t{2}, size_t{4}}) has_zero_[k] = context.has_input(k);
  }
  void run(const KernelCall& call) const override {
    type_ == Byte::u8 ? run_typed<uint8_t>(call) : run_typed<int8_t>(call);
  }
  std::string describe() const override { return "average pool of bytes"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    auto windows = windows_at(ports, *form_);
    if (!windows) return nullptr;
    auto other = make_in_block<ByteAveragePoolKernel>(*this);
    other->windows_ = std::move(*windows);
    return other;
  }

 private:
  template <typename T>
  void run_typed(const KernelCall& call) const {
    const Layout& layout = windows_.layout;
    const Layout::Strides in = layout.strides(layout.in), out = layout.strides(layout.out);
    const auto scale = [&](size_t k) { return *static_cast<const float*>(call.inputs[k]); };
    const auto zero = [&](size_t k) { return has_zero_[k] ? byte_at(type_, call.inputs[k]) : 0; };
    const float to_scale = scale(3);
    const auto to_zero = static_cast<float>(zero(4));
    double numbers[256];
    for (int k = 0; k < 256; ++k) numbers[k] = static_cast<float>(static_cast<T>(k) - zero(2)) * scale(1);
    const auto* const x = static_cast<const T*>(call.inputs[0]);
    auto* const y = static_cast<T*>(call.outputs[0]);
    const auto average = [&](const T* from, const Reach& d, const Reach& h, const Reach& w) {
      double sum = 0;
      for_taps(in, d, h, w, [&](int64_t offset) { sum += numbers[static_cast<uint8_t>(from[offset])]; });
      const int64_t count =
          with_pads_ ? d.with_pads * h.with_pads * w.with_pads : d.count() * h.count() * w.count();
      const float value = static_cast<float>(sum / static_cast<double>(count)) / to_scale + to_zero;
      constexpr auto low = static_cast<float>(std::numeric_limits<T>::min());
      constexpr auto high = static_cast<float>(std::numeric_limits<T>::max());
      return static_cast<T>(std::isnan(value) ? 0.0f : std::nearbyint(std::clamp(value, low, high)));
    };
    call.pool.parallel_for(layout.images * layout.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t image = plane / layout.channels, channel = plane % layout.channels;
        const T* const from = x + image * in.image + channel * in.channel;
        T* const to = y + image * out.image + channel * out.channel;
        int64_t d = 0;
        for (const Reach& depths : windows_.reaches[0]) {
          int64_t at = d++ * out.depth;
          for (const Reach& rows : windows_.reaches[1]) {
            for (const Reach& columns : windows_.reaches[2]) {
              to[at] = average(from, depths, rows, columns);
              at += out.width;
            }
          }
        }
      }
    });
  }

  Byte type_;
  std::shared_ptr<const WindowsForm> form_;
  Windows windows_;
  bool with_pads_;
  bool has_zero_[5] = {};
};

std::unique_ptr<Kernel> make_average(const StepContext& context) {
  for (size_t k : {size_t{1}, size_t{3}})
    if (!context.has_input(k) || !single_or_absent(context, k, ir::ElementType::f32)) return nullptr;
  for (size_t k : {size_t{2}, size_t{4}})
    if (!single_or_absent(context, k, context.inputs[0].type)) return nullptr;
  const std::optional<WindowsForm> form = windows(context, context.integer("channels_last", 0) != 0);
  if (!form) return nullptr;
  return std::make_unique<ByteAveragePoolKernel>(context, *form,
                                                 context.integer("count_include_pad", 0) != 0);
}

}  // namespace

void quantized_window_factories(std::vector<FactoryEntry>& table) {
  constexpr std::string_view domain = "com.microsoft";
  table.push_back({domain, "NhwcMaxPool", make_max});
  table.push_back({domain, "QLinearAveragePool", make_average});
}

}  // namespace axrun::runtime
