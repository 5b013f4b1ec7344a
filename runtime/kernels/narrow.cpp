#include "runtime/kernels/narrow.h"

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime {

void widen(NarrowFloat type, int64_t count, const uint16_t* x, float* y) {
  kernel_table().widen(type, count, x, y);
}

void narrow(NarrowFloat type, int64_t count, const float* x, uint16_t* y) {
  kernel_table().narrow(type, count, x, y);
}

}  // namespace axrun::runtime
