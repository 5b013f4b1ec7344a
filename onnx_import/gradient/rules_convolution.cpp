#include <algorithm>
#include <optional>

#include "ir/dim.h"
#include "onnx_import/gradient/rules.h"

namespace axrun::onnx_import::gradient {
namespace {

/// A convolution from `wide` to `narrow` (ConvTranspose goes the other way), with the spatial sizes that its
/// derivatives need.
struct Window {
  std::vector<int64_t> wide, narrow, kernel, strides, dilations, begins, ends;
  int64_t group = 1;

  size_t spatial() const { return kernel.size(); }
};

std::vector<int64_t> sizes_after(Step& s, Var x, size_t first) {
  const auto& dims = s.w.fact(x.id).dims;
  if (!dims) throw ir::NotYetKnown{"the rank"};
  std::vector<int64_t> sizes;
  for (size_t k = first; k < dims->size(); ++k) {
    if (!(*dims)[k].is_constant()) throw ir::NotYetKnown{"a spatial size"};
    sizes.push_back((*dims)[k].value());
  }
  return sizes;
}

Window window_of(Step& s, Var wide, Var narrow, const std::vector<int64_t>& kernel) {
  Window window;
  window.wide = sizes_after(s, wide, 2);
  window.narrow = sizes_after(s, narrow, 2);
  window.kernel = kernel;
  const std::vector<int64_t> ones(kernel.size(), 1);
  window.strides = s.context.integers("strides", ones);
  window.dilations = s.context.integers("dilations", ones);
  window.group = s.context.integer("group", 1);
  const std::string automatic = s.context.string("auto_pad", "NOTSET");
  std::vector<int64_t> pads = s.context.integers("pads", std::vector<int64_t>(2 * kernel.size(), 0));
  const size_t rank = kernel.size();
  s.context.check(window.wide.size() == rank && window.narrow.size() == rank &&
                      window.strides.size() == rank && window.dilations.size() == rank &&
                      pads.size() == 2 * rank,
                  "sizes do not fit each other");
  for (size_t k = 0; k < rank; ++k) {
    if (automatic == "NOTSET" || automatic == "VALID") {
      window.begins.push_back(automatic == "VALID" ? 0 : pads[k]);
      window.ends.push_back(automatic == "VALID" ? 0 : pads[k + kernel.size()]);
      continue;
    }
    const int64_t reach = (kernel[k] - 1) * window.dilations[k] + 1;
    const int64_t total =
        std::max<int64_t>(0, (window.narrow[k] - 1) * window.strides[k] + reach - window.wide[k]);
    window.begins.push_back(automatic == "SAME_UPPER" ? total / 2 : total - total / 2);
    window.ends.push_back(total - window.begins.back());
  }
  return window;
}

Attributes attributes_of(const Window& window, const std::vector<int64_t>& strides,
                         const std::vector<int64_t>& dilations, const std::vector<int64_t>& ends) {
  std::vector<int64_t> pads = window.begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  return {{"strides", integers(strides)},
          {"dilations", integers(dilations)},
          {"pads", integers(pads)},
          {"group", integer(window.group)}};
}

/// From the narrow side's derivative to the wide side's.
Var widened(Step& s, Var g, Var kernel, const Window& window) {
  std::vector<int64_t> added;
  for (size_t k = 0; k < window.spatial(); ++k) {
    const int64_t reach = (window.kernel[k] - 1) * window.dilations[k] + 1;
    added.push_back(window.wide[k] + window.begins[k] + window.ends[k] - reach -
                    (window.narrow[k] - 1) * window.strides[k]);
  }
  Attributes attributes = attributes_of(window, window.strides, window.dilations, window.ends);
  attributes["output_padding"] = integers(added);
  return s.w.node("ConvTranspose", {g, kernel}, attributes);
}

Var narrowed(Step& s, Var g, Var kernel, const Window& window) {
  return s.w.node("Conv", {g, kernel}, attributes_of(window, window.strides, window.dilations, window.ends));
}

/// The kernel's derivative: the wide side convolved with the narrow one, batches and channels exchanged;
/// strides and dilations change their roles. Ends are padded so far only that just the kernel's positions are
/// left.
Var kernel_derivative(Step& s, Var wide, Var narrow, const Window& window) {
  const auto spatial = static_cast<int64_t>(window.spatial());
  const int64_t group = window.group;
  std::vector<int64_t> swap = range(0, spatial + 2);
  std::swap(swap[0], swap[1]);
  Var image;
  if (group == 1) {
    image = s.w.node("Transpose", {wide}, {{"perm", integers(swap)}});
  } else {
    // N x (G C) -> C x (G N)
    std::vector<int64_t> split = {0, group, -1}, order = range(0, spatial + 3), merged = {0, -1};
    split.insert(split.end(), window.wide.begin(), window.wide.end());
    merged.insert(merged.end(), window.wide.begin(), window.wide.end());
    std::swap(order[0], order[2]);
    image = s.w.node("Reshape", {wide, s.w.constant(split)});
    image = s.w.node("Transpose", {image}, {{"perm", integers(order)}});
    image = s.w.node("Reshape", {image, s.w.constant(merged)});
  }
  const Var filter = s.w.node("Transpose", {narrow}, {{"perm", integers(swap)}});
  std::vector<int64_t> ends;
  for (size_t k = 0; k < window.spatial(); ++k) {
    const int64_t needed =
        (window.kernel[k] - 1) * window.dilations[k] + (window.narrow[k] - 1) * window.strides[k] + 1;
    ends.push_back(std::max<int64_t>(0, needed - window.wide[k] - window.begins[k]));
  }
  Var sum = s.w.node("Conv", {image, filter}, attributes_of(window, window.dilations, window.strides, ends));
  sum = s.w.node("Slice", {sum, s.w.constant(std::vector<int64_t>(window.spatial(), 0)),
                           s.w.constant(window.kernel), s.w.constant(range(2, spatial + 2))});
  return s.w.node("Transpose", {sum}, {{"perm", integers(swap)}});
}

void bias(Step& s) {
  if (!s.wants(2)) return;
  std::vector<int64_t> axes = range(0, s.context.rank(0));
  s.context.check(axes.size() > 1, "there are no channels");
  axes.erase(axes.begin() + 1);
  s.result[2] = s.w.node("ReduceSum", {s.grad[0], s.w.constant(axes)}, {{"keepdims", integer(0)}});
}

void convolution(Step& s) {
  const Window window = window_of(s, s.in[0], s.out[0], sizes_after(s, s.in[1], 2));
  if (s.wants(0)) s.result[0] = widened(s, s.grad[0], s.in[1], window);
  if (s.wants(1)) s.result[1] = kernel_derivative(s, s.in[0], s.grad[0], window);
  bias(s);
}

void transposed(Step& s) {
  if (s.context.string("auto_pad", "NOTSET") != "NOTSET" || s.context.has_attribute("output_shape")) {
    s.refuse("padding that follows from the output's shape");
  }
  Window window = window_of(s, s.out[0], s.in[0], sizes_after(s, s.in[1], 2));
  if (s.wants(0)) s.result[0] = narrowed(s, s.grad[0], s.in[1], window);
  if (s.wants(1)) s.result[1] = kernel_derivative(s, s.grad[0], s.in[0], window);
  bias(s);
}

/// What was the largest gets all.
void max_pool(Step& s) {
  if (s.context.integer("storage_order", 0) != 0) s.refuse("indices in column-major order");
  ir::Node with_indices = s.node;
  if (with_indices.version < 8) with_indices.version = 8;
  const Var x = s.in[0];
  const Var indices = s.w.copy(with_indices, {x.id}, 2)[1];
  s.result[0] = s.w.added_at(s.grad[0], indices, x);
}

/// Means of windows, as a convolution of every channel with ones, divided by how many elements were counted.
/// Its derivative is that of these parts.
void average_pool(Step& s) {
  if (s.context.integer("ceil_mode", 0) != 0) s.refuse("ceil_mode");
  const std::vector<int64_t> kernel = s.context.integers("kernel_shape");
  const Window window = window_of(s, s.in[0], s.out[0], kernel);
  const Var x = s.in[0];
  Window single = window;
  single.group = 1;
  std::vector<int64_t> ones = {1, 1}, flat = {-1, 1}, plane = {1, 1};
  ones.insert(ones.end(), kernel.begin(), kernel.end());
  flat.insert(flat.end(), window.narrow.begin(), window.narrow.end());
  plane.insert(plane.end(), window.wide.begin(), window.wide.end());
  const Var unit = s.w.node("Expand", {s.w.number(1, x), s.w.constant(ones)});
  Var count;
  if (s.context.integer("count_include_pad", 0) != 0) {
    int64_t elements = 1;
    for (const int64_t size : kernel) elements *= size;
    count = s.w.number(static_cast<double>(elements), x);
  } else {
    count = narrowed(s, s.w.node("Expand", {s.w.number(1, x), s.w.constant(plane)}), unit, single);
  }
  const Var shares = s.w.node("Reshape", {s.grad[0], s.w.constant(flat)}) / count;
  s.result[0] = s.w.reshape(widened(s, shares, unit, single), s.w.shape(x));
}

}  // namespace

void convolution_rules(Rules& rules) {
  rules["Conv"] = convolution;
  rules["ConvTranspose"] = transposed;
  rules["MaxPool"] = max_pool;
  rules["AveragePool"] = average_pool;
}

}  // namespace axrun::onnx_import::gradient
