#include "runtime/operators/quantized_parts.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime {

std::optional<Byte> byte_type(ir::ElementType type) {
  if (type == ir::ElementType::u8) return Byte::u8;
  if (type == ir::ElementType::i8) return Byte::i8;
  return std::nullopt;
}

int32_t byte_at(Byte type, const void* data, int64_t at) {
  if (data == nullptr) return 0;
  if (type == Byte::u8) return static_cast<const uint8_t*>(data)[at];
  return static_cast<const int8_t*>(data)[at];
}

std::optional<Byte> byte_input(const StepContext& context, size_t k) {
  return context.has_input(k) ? byte_type(context.inputs[k].type) : std::nullopt;
}

bool single_or_absent(const StepContext& context, size_t k, ir::ElementType type) {
  return !context.has_input(k) || (context.inputs[k].type == type && context.inputs[k].count() == 1);
}

void requantize_row(Byte type, int64_t columns, const int32_t* sums, const float* multipliers,
                    bool per_column, int32_t zero_point, void* y) {
  if (!per_column) return kernel_table().requantize_row(type, columns, sums, *multipliers, zero_point, y);
  constexpr int64_t block = 256;
  float values[block];
  for (int64_t j = 0; j < columns; j += block) {
    const int64_t count = std::min(block, columns - j);
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(sums[j + i]) * multipliers[j + i];
    kernel_table().quantize_row(type, count, values, 1.0f, zero_point, static_cast<char*>(y) + j);
  }
}

DynamicRange::DynamicRange(float low, float high) {
  low = std::min(low, 0.0f);
  const float range = std::max(high, 0.0f) - low;
  scale = range == 0.0f ? 1.0f : range / 255.0f;
  zero_point = static_cast<uint8_t>(std::nearbyint(std::min(-low / scale, 255.0f)));
}

DynamicRange quantize_dynamically(int64_t count, const float* x, void* y, ThreadPool& pool) {
  float low = 0, high = 0;
  reduce(Reduction::min, {1, count, 1}, x, &low, pool);
  reduce(Reduction::max, {1, count, 1}, x, &high, pool);
  const DynamicRange range(low, high);
  QuantizationShape shape;
  shape.inner = count;
  shape.scale = &range.scale;
  shape.zero_point = &range.zero_point;
  quantize(Byte::u8, shape, x, y, pool);
  return range;
}

DynamicRange quantize_dynamically(int64_t count, const float* x, void* y) {
  const KernelTable& table = kernel_table();
  float low = 0, high = 0;
  table.reduce_rows(Reduction::min, 1, count, x, &low);
  table.reduce_rows(Reduction::max, 1, count, x, &high);
  const DynamicRange range(low, high);
  table.quantize_row(Byte::u8, count, x, range.scale, range.zero_point, y);
  return range;
}

void scale_sums_row(int64_t columns, const int32_t* sums, float factor, const float* scales,
                    const float* added, float* values) {
  if (added == nullptr) {
    for (int64_t j = 0; j < columns; ++j) values[j] = static_cast<float>(sums[j]) * (factor * scales[j]);
    return;
  }
  for (int64_t j = 0; j < columns; ++j)
    values[j] = static_cast<float>(sums[j]) * (factor * scales[j]) + added[j];
}

}  // namespace axrun::runtime
