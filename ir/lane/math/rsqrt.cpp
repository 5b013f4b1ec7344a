#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {

Program rsqrt_program() {
  Builder b("rsqrt");
  const F32 x = b.input();
  return b.finish(b.constant(1.0F) / sqrt(x));
}

}  // namespace axrun::ir::lane
