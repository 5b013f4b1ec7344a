#include "ir/ops/window.h"

#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"

namespace axrun::ir {

Indices Window::at(const Indices& o, const Indices& k) const {
  Indices point;
  for (size_t d = 0; d < rank(); ++d)
    point.push_back(o[d] * strides[d] + k[d] * dilations[d] - pads_begin[d]);
  return point;
}

std::vector<int64_t> spatial_attribute(const OperatorContext& context, std::string_view name, size_t rank,
                                       int64_t otherwise, int64_t low) {
  const std::vector<int64_t> values = context.integers(name);
  if (values.empty()) return std::vector<int64_t>(rank, otherwise);
  if (values.size() != rank) {
    context.fail(fmt::format("attribute '{}' has {} entries, not {}", name, values.size(), rank));
  }
  for (int64_t value : values) {
    if (value < low || value > std::numeric_limits<int32_t>::max()) {
      context.fail(fmt::format("attribute '{}' may not hold {}", name, value));
    }
  }
  return values;
}

WindowAttributes window_attributes(const OperatorContext& context, size_t rank) {
  WindowAttributes attributes;
  attributes.strides = spatial_attribute(context, "strides", rank, 1, 1);
  attributes.dilations = spatial_attribute(context, "dilations", rank, 1, 1);
  attributes.pads = spatial_attribute(context, "pads", 2 * rank, 0, 0);
  const std::string mode = context.string("auto_pad", "NOTSET");
  using AutoPad = WindowAttributes::AutoPad;
  if (mode == "SAME_UPPER") {
    attributes.auto_pad = AutoPad::same_upper;
  } else if (mode == "SAME_LOWER") {
    attributes.auto_pad = AutoPad::same_lower;
  } else if (mode == "VALID") {
    attributes.auto_pad = AutoPad::valid;
  } else {
    context.check(mode.empty() || mode == "NOTSET", "attribute 'auto_pad' may not be '" + mode + "'");
  }
  return attributes;
}

Dims spatial_dims(const OperatorContext& context, const Dims& dims, size_t least) {
  if (dims.size() < 2 + least) {
    context.fail(fmt::format("an input of rank {} has fewer than {} spatial dimensions", dims.size(), least));
  }
  return part(dims, 2, dims.size());
}

namespace {

/// Output size for explicit padding. The number of windows that fit, rounded down or up; rounded up, the last
/// one is dropped when it starts at or after the end of input and padding at the beginning.
Dim window_count(const OperatorContext& context, const Window& window, size_t d, bool ceil_mode) {
  const Dim room = window.input[d] + window.pads_begin[d] + window.pads_end[d] - window.reach(d);
  const Dim stride(window.strides[d]);
  Dim count = floor_div(room, stride) + 1;
  if (ceil_mode) {
    count = ceil_div(room, stride) + 1;
    const Dim start_past_end = (count - 1) * stride - (window.input[d] + window.pads_begin[d]);
    count = count - max(Dim(0), min(Dim(1), start_past_end + 1));
  }
  if (!context.may_be_at_least(count, 0)) {
    context.fail(fmt::format("the window of {} does not fit into dimension {} of size {}",
                             window.reach(d).to_string(), d + 2, window.input[d].to_string()));
  }
  return count;
}

}  // namespace

Window sliding_window(const OperatorContext& context, const Dims& spatial, const Dims& kernel,
                      bool ceil_mode) {
  using AutoPad = WindowAttributes::AutoPad;
  const size_t rank = spatial.size();
  const WindowAttributes attributes = window_attributes(context, rank);
  Window window;
  window.input = spatial;
  window.kernel = kernel;
  window.strides = attributes.strides;
  window.dilations = attributes.dilations;
  for (size_t d = 0; d < rank; ++d) {
    Dim begin(0);
    Dim end(0);
    if (attributes.auto_pad == AutoPad::notset) {
      begin = Dim(attributes.pads[d]);
      end = Dim(attributes.pads[rank + d]);
    } else if (attributes.auto_pad != AutoPad::valid) {
      const Dim stride(window.strides[d]);
      const Dim output = ceil_div(spatial[d], stride);
      const Dim total = max(Dim(0), (output - 1) * stride + window.reach(d) - spatial[d]);
      const Dim half = floor_div(total, Dim(2));
      begin = attributes.auto_pad == AutoPad::same_upper ? half : total - half;
      end = total - begin;
      window.output.push_back(output);
    }
    window.pads_begin.push_back(begin);
    window.pads_end.push_back(end);
    if (window.output.size() == d) window.output.push_back(window_count(context, window, d, ceil_mode));
  }
  return window;
}

Dims kernel_shape(const OperatorContext& context, size_t rank) {
  context.check(!context.integers("kernel_shape").empty() || rank == 0,
                "attribute 'kernel_shape' is missing");
  return to_dims(spatial_attribute(context, "kernel_shape", rank, 1, 1));
}

void check_kernel_shape(const OperatorContext& context, const Dims& kernel) {
  if (context.integers("kernel_shape").empty()) return;
  const std::vector<int64_t> stated = spatial_attribute(context, "kernel_shape", kernel.size(), 1, 1);
  for (size_t d = 0; d < kernel.size(); ++d) {
    if (!context.equal(kernel[d], Dim(stated[d]))) {
      context.fail(fmt::format("attribute 'kernel_shape' differs from the weight's {}", to_string(kernel)));
    }
  }
}

}  // namespace axrun::ir
