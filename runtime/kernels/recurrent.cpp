#include "runtime/kernels/recurrent.h"

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime {

void lstm_step(const LstmStep& step, int64_t first, int64_t last) {
  kernel_table().lstm_step(step, first, last);
}
void gru_step(const GruStep& step, int64_t first, int64_t last) {
  kernel_table().gru_step(step, first, last);
}
void gru_reset(const GruStep& step, int64_t first, int64_t last) {
  kernel_table().gru_reset(step, first, last);
}
void gru_update(const GruStep& step, int64_t first, int64_t last) {
  kernel_table().gru_update(step, first, last);
}

}  // namespace axrun::runtime
