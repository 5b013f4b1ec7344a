#include "runtime/operators/quantized_parts.h"

#include <algorithm>

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
  constexpr int64_t block = 256;
  float values[block];
  for (int64_t j = 0; j < columns; j += block) {
    const int64_t count = std::min(block, columns - j);
    if (per_column) {
      for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(sums[j + i]) * multipliers[j + i];
    } else {
      const float multiplier = multipliers[0];
      for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(sums[j + i]) * multiplier;
    }
    kernel_table().quantize_row(type, count, values, 1.0f, zero_point, static_cast<char*>(y) + j);
  }
}

}  // namespace axrun::runtime
