#pragma once

#include <cstdint>
#include <optional>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {

// The parts of quantized_factories, one file each.
void linear_quantization_factories(std::vector<FactoryEntry>& table);
void quantized_product_factories(std::vector<FactoryEntry>& table);
void quantized_convolution_factories(std::vector<FactoryEntry>& table);
void quantized_elementwise_factories(std::vector<FactoryEntry>& table);

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

}  // namespace axrun::runtime
