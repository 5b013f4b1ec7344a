#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in runtime/kernels/recurrent.h.
void lstm_step(const LstmStep& step, int64_t first, int64_t last);
void gru_step(const GruStep& step, int64_t first, int64_t last);
void gru_reset(const GruStep& step, int64_t first, int64_t last);
void gru_update(const GruStep& step, int64_t first, int64_t last);

}  // namespace axrun::runtime::AXRUN_ISA
