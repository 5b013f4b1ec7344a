#include "tests/search/cases.h"

namespace axrun::tests {

jit::Target avx512_like() {
  jit::Target target;
  target.name = "avx512-like";
  target.features = {"avx", "avx2", "avx512f", "fma"};
  target.vector_bytes = 64;
  target.vector_registers = 32;
  target.fma_ports = 2;
  target.masks = true;
  target.cores = 4;
  target.caches = {{int64_t{32} << 10}, {int64_t{1} << 20}};
  return target;
}

jit::Target avx2_like() {
  jit::Target target = avx512_like();
  target.name = "avx2-like";
  target.features = {"avx", "avx2", "fma"};
  target.vector_bytes = 32;
  target.vector_registers = 16;
  target.masks = false;
  target.caches = {{int64_t{32} << 10}, {int64_t{16} << 10}};  // small, so that blocks occur
  return target;
}

jit::Target with_byte_products() {
  jit::Target target = avx512_like();
  target.name = "avx512-like with products of bytes";
  target.features.emplace_back("avx512_vnni");
  return target;
}

}  // namespace axrun::tests
