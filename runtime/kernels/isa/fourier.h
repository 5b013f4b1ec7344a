#pragma once

#include "runtime/kernels/fourier_batch.h"
#include "runtime/kernels/isa/table.h"
#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in runtime/kernels/fourier_batch.h.
inline constexpr int64_t fourier_lanes = lanes / 2;
int64_t fourier_scratch_doubles(const FourierBatch& batch);
void fourier(const FourierBatch& batch);

}  // namespace axrun::runtime::AXRUN_ISA
