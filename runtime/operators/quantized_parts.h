#pragma once

#include <cstdint>
#include <optional>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {

// The parts of quantized_factories, one file each.
void linear_quantization_factories(std::vector<FactoryEntry>& table);
void quantized_product_factories(std::vector<FactoryEntry>& table);
void scaled_product_factories(std::vector<FactoryEntry>& table);
void quantized_convolution_factories(std::vector<FactoryEntry>& table);
void quantized_elementwise_factories(std::vector<FactoryEntry>& table);
void quantized_joining_factories(std::vector<FactoryEntry>& table);
void quantized_window_factories(std::vector<FactoryEntry>& table);
void block_quantized_factories(std::vector<FactoryEntry>& table);
void block_gathering_factories(std::vector<FactoryEntry>& table);

/// The kernels' name of i8 and u8; empty for other types.
std::optional<Byte> byte_type(ir::ElementType type);
/// Element `at` of i8 or u8 data; 0 where there is none.
int32_t byte_at(Byte type, const void* data, int64_t at = 0);
/// As byte_type, of an input that must be there.
std::optional<Byte> byte_input(const StepContext& context, size_t k);
/// An absent input, or one element of `type`.
bool single_or_absent(const StepContext& context, size_t k, ir::ElementType type);

/// y = saturate(round_half_even(sum * multiplier) + zero_point), with sums and products rounded to float32.
/// `multipliers` has one value per column, or one for all.
void requantize_row(Byte type, int64_t columns, const int32_t* sums, const float* multipliers,
                    bool per_column, int32_t zero_point, void* y);

/// Scale and zero point with which DynamicQuantizeLinear writes numbers from `low` to `high` as u8.
struct DynamicRange {
  DynamicRange() = default;
  DynamicRange(float low, float high);
  float scale = 1;
  uint8_t zero_point = 0;
};
/// y = x as DynamicQuantizeLinear quantises it: over the range of all its elements.
DynamicRange quantize_dynamically(int64_t count, const float* x, void* y, ThreadPool& pool);
/// The same on the calling thread.
DynamicRange quantize_dynamically(int64_t count, const float* x, void* y);

/// values = sums * (factor * scales) + added, where `scales` and `added` have an element per column; `added`
/// may be null. `values` may be the memory of `sums`, and `added` may be `values`.
void scale_sums_row(int64_t columns, const int32_t* sums, float factor, const float* scales,
                    const float* added, float* values);

}  // namespace axrun::runtime
