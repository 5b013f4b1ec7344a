#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entry of this family; contract in runtime/kernels/trees.h.
void tree_exits(const TreeQuestion* questions, const int32_t* begins, int64_t first, int64_t last,
                const float* columns, int32_t* exits);

}  // namespace axrun::runtime::AXRUN_ISA
