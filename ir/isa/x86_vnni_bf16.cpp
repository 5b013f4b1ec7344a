#include "ir/isa/tables.h"

/// Dot products of 8-bit and 16-bit integers, EVEX and VEX encoded, and bf16.
namespace axrun::ir::isa {

// clang-format off
const char x86_vnni_rows[] = R"(
vpdpbusd z:avx512_vnni xy:avx512_vnni+avx512vl (d:i32 v rw, a:u8 v r, b:i8 v|m r) maskable { d[i] = wrap_i32(d[i] + sum(j, 4, a[4 * i + j] * b[4 * i + j])) }
vpdpbusds z:avx512_vnni xy:avx512_vnni+avx512vl (d:i32 v rw, a:u8 v r, b:i8 v|m r) maskable { d[i] = sat_i32(d[i] + sum(j, 4, a[4 * i + j] * b[4 * i + j])) }
vpdpwssd z:avx512_vnni xy:avx512_vnni+avx512vl (d:i32 v rw, a:i16 v r, b:i16 v|m r) maskable { d[i] = wrap_i32(d[i] + sum(j, 2, a[2 * i + j] * b[2 * i + j])) }
vpdpwssds z:avx512_vnni xy:avx512_vnni+avx512vl (d:i32 v rw, a:i16 v r, b:i16 v|m r) maskable { d[i] = sat_i32(d[i] + sum(j, 2, a[2 * i + j] * b[2 * i + j])) }
# bf16: denormals are zero on the way in and out and MXCSR is not consulted; two chained fma, odd lanes first.
vdpbf16ps z:avx512_bf16 xy:avx512_bf16+avx512vl (d:f32 v rw, a:bf16 v r, b:bf16 v|m r) maskable any_nan { d[i] = daz(fma(daz(to_f32(a[2 * i])), daz(to_f32(b[2 * i])), daz(fma(daz(to_f32(a[2 * i + 1])), daz(to_f32(b[2 * i + 1])), daz(d[i]))))) }
vcvtneps2bf16 z:avx512_bf16 xy:avx512_bf16+avx512vl (d:bf16 v/2 w, a:f32 v|m r) maskable { d[i] = to_bf16(daz(a[i])) }
)";

const char x86_avx_vnni_rows[] = R"(
vpdpbusd xy:avx_vnni (d:i32 v rw, a:u8 v r, b:i8 v|m r) { d[i] = wrap_i32(d[i] + sum(j, 4, a[4 * i + j] * b[4 * i + j])) }
vpdpbusds xy:avx_vnni (d:i32 v rw, a:u8 v r, b:i8 v|m r) { d[i] = sat_i32(d[i] + sum(j, 4, a[4 * i + j] * b[4 * i + j])) }
vpdpwssd xy:avx_vnni (d:i32 v rw, a:i16 v r, b:i16 v|m r) { d[i] = wrap_i32(d[i] + sum(j, 2, a[2 * i + j] * b[2 * i + j])) }
vpdpwssds xy:avx_vnni (d:i32 v rw, a:i16 v r, b:i16 v|m r) { d[i] = sat_i32(d[i] + sum(j, 2, a[2 * i + j] * b[2 * i + j])) }
)";
// clang-format on

}  // namespace axrun::ir::isa
