#pragma once

// The precompiled compute kernels of the fallback tier: plain pointers and parameter structs, no IR types.
//
// Every entry point checks nothing: the caller (runtime's operators) has validated shapes, and guarantees
// that pointers cover them. No kernel allocates; where scratch or packed operands are needed, a *_bytes
// function says how many, and the buffer is aligned to `buffer_alignment`. Extents of zero are fine
// everywhere. Results do not depend on the number of threads.

#include <cstddef>

#include "runtime/kernels/activation.h"
#include "runtime/kernels/block_quantized.h"
#include "runtime/kernels/byte_conv.h"
#include "runtime/kernels/conv.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/fourier.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/narrow.h"
#include "runtime/kernels/pool.h"
#include "runtime/kernels/quantized.h"
#include "runtime/kernels/recurrent.h"
#include "runtime/kernels/rows.h"
#include "runtime/parallel.h"

namespace axrun::runtime {

inline constexpr size_t buffer_alignment = 64;

}  // namespace axrun::runtime
