#include "ir/isa/tables.h"

/// AVX, AVX2, FMA and F16C, VEX encoded.
/// Long because it is a table: a row for each instruction.
namespace axrun::ir::isa {

// clang-format off
const char x86_avx2_rows[] = R"(
# Float arithmetic.
vaddps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = a[i] + b[i] }
vsubps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = a[i] - b[i] }
vmulps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = a[i] * b[i] }
vdivps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = a[i] / b[i] }
vminps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = a[i] < b[i] ? a[i] : b[i] }
vmaxps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = b[i] < a[i] ? a[i] : b[i] }
vaddpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r) { d[i] = a[i] + b[i] }
vsubpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r) { d[i] = a[i] - b[i] }
vmulpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r) { d[i] = a[i] * b[i] }
vdivpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r) { d[i] = a[i] / b[i] }
vminpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r) { d[i] = a[i] < b[i] ? a[i] : b[i] }
vmaxpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r) { d[i] = b[i] < a[i] ? a[i] : b[i] }
vsqrtps xy:avx (d:f32 v w, a:f32 v|m r) { d[i] = sqrt(a[i]) }
vsqrtpd xy:avx (d:f64 v w, a:f64 v|m r) { d[i] = sqrt(a[i]) }
# Scalar float arithmetic: lane 0; the others come from the first source.
vaddss x:avx (d:f32 v w, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? a[0] + b[0] : a[i] }
vsubss x:avx (d:f32 v w, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? a[0] - b[0] : a[i] }
vmulss x:avx (d:f32 v w, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? a[0] * b[0] : a[i] }
vdivss x:avx (d:f32 v w, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? a[0] / b[0] : a[i] }
vminss x:avx (d:f32 v w, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? a[0] < b[0] ? a[0] : b[0] : a[i] }
vmaxss x:avx (d:f32 v w, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? b[0] < a[0] ? a[0] : b[0] : a[i] }
vsqrtss x:avx (d:f32 v w, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? sqrt(b[0]) : a[i] }
vaddsd x:avx (d:f64 v w, a:f64 v r, b:f64 low64|m r) { d[i] = i == 0 ? a[0] + b[0] : a[i] }
vsubsd x:avx (d:f64 v w, a:f64 v r, b:f64 low64|m r) { d[i] = i == 0 ? a[0] - b[0] : a[i] }
vmulsd x:avx (d:f64 v w, a:f64 v r, b:f64 low64|m r) { d[i] = i == 0 ? a[0] * b[0] : a[i] }
vdivsd x:avx (d:f64 v w, a:f64 v r, b:f64 low64|m r) { d[i] = i == 0 ? a[0] / b[0] : a[i] }
vminsd x:avx (d:f64 v w, a:f64 v r, b:f64 low64|m r) { d[i] = i == 0 ? a[0] < b[0] ? a[0] : b[0] : a[i] }
vmaxsd x:avx (d:f64 v w, a:f64 v r, b:f64 low64|m r) { d[i] = i == 0 ? b[0] < a[0] ? a[0] : b[0] : a[i] }
vsqrtsd x:avx (d:f64 v w, a:f64 v r, b:f64 low64|m r) { d[i] = i == 0 ? sqrt(b[0]) : a[i] }
# Fused multiply and add: the order of operands decides which NaN wins.
vfmadd132ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fma(d[i], b[i], a[i]) }
vfmadd213ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fma(a[i], d[i], b[i]) }
vfmadd231ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fma(a[i], b[i], d[i]) }
vfmadd231pd xy:fma (d:f64 v rw, a:f64 v r, b:f64 v|m r) { d[i] = fma(a[i], b[i], d[i]) }
vfmadd231ss x:fma (d:f32 v rw, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? fma(a[0], b[0], d[0]) : d[i] }
vfmsub132ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fms(d[i], b[i], a[i]) }
vfmsub213ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fms(a[i], d[i], b[i]) }
vfmsub231ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fms(a[i], b[i], d[i]) }
vfmsub231pd xy:fma (d:f64 v rw, a:f64 v r, b:f64 v|m r) { d[i] = fms(a[i], b[i], d[i]) }
vfmsub231ss x:fma (d:f32 v rw, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? fms(a[0], b[0], d[0]) : d[i] }
vfnmadd132ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fnma(d[i], b[i], a[i]) }
vfnmadd213ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fnma(a[i], d[i], b[i]) }
vfnmadd231ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fnma(a[i], b[i], d[i]) }
vfnmadd231pd xy:fma (d:f64 v rw, a:f64 v r, b:f64 v|m r) { d[i] = fnma(a[i], b[i], d[i]) }
vfnmadd231ss x:fma (d:f32 v rw, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? fnma(a[0], b[0], d[0]) : d[i] }
vfnmsub132ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fnms(d[i], b[i], a[i]) }
vfnmsub213ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fnms(a[i], d[i], b[i]) }
vfnmsub231ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fnms(a[i], b[i], d[i]) }
vfnmsub231pd xy:fma (d:f64 v rw, a:f64 v r, b:f64 v|m r) { d[i] = fnms(a[i], b[i], d[i]) }
vfnmsub231ss x:fma (d:f32 v rw, a:f32 v r, b:f32 low32|m r) { d[i] = i == 0 ? fnms(a[0], b[0], d[0]) : d[i] }
# Horizontal sums.
vhaddps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = i % 4 < 2 ? a[4 * (i / 4) + 2 * (i % 2)] + a[4 * (i / 4) + 2 * (i % 2) + 1] : b[4 * (i / 4) + 2 * (i % 2)] + b[4 * (i / 4) + 2 * (i % 2) + 1] }
vhaddpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r) { d[i] = i % 2 == 0 ? a[i] + a[i + 1] : b[i - 1] + b[i] }
vphaddd x:avx y:avx2 (d:i32 v w, a:i32 v r, b:i32 v|m r) { d[i] = i % 4 < 2 ? wrap_i32(a[4 * (i / 4) + 2 * (i % 2)] + a[4 * (i / 4) + 2 * (i % 2) + 1]) : wrap_i32(b[4 * (i / 4) + 2 * (i % 2)] + b[4 * (i / 4) + 2 * (i % 2) + 1]) }
# Approximations: bounded, not functions. NaN, zero, denormal and infinite operands are exact.
vrcpps xy:avx (d:f32 v w, a:f32 v|m r) { d[i] = unordered(a[i], a[i]) ? as_f32(bits(a[i]) | 0x400000) : bits(a[i]) & 0x7f800000 == 0 ? as_f32(bits(a[i]) & 0x80000000 | 0x7f800000) : bits(a[i]) & 0x7fffffff == 0x7f800000 ? as_f32(bits(a[i]) & 0x80000000) : within(as_f64(0x3ff0000000000000) / to_f64(a[i]), 3, 13) }
vrsqrtps xy:avx (d:f32 v w, a:f32 v|m r) { d[i] = unordered(a[i], a[i]) ? as_f32(bits(a[i]) | 0x400000) : bits(a[i]) & 0x7f800000 == 0 ? as_f32(bits(a[i]) & 0x80000000 | 0x7f800000) : a[i] < as_f32(0) ? as_f32(0xffc00000) : bits(a[i]) & 0x7fffffff == 0x7f800000 ? as_f32(0) : within(as_f64(0x3ff0000000000000) / sqrt(to_f64(a[i])), 3, 13) }
# Rounding and comparisons; the 16-bit constants say for which predicates each relation holds.
vroundps xy:avx (d:f32 v w, a:f32 v|m r, imm:0..15) { d[i] = round(a[i], imm & 4 != 0 ? 0 : imm & 3) }
vroundpd xy:avx (d:f64 v w, a:f64 v|m r, imm:0..15) { d[i] = round(a[i], imm & 4 != 0 ? 0 : imm & 3) }
vroundss x:avx (d:f32 v w, a:f32 v r, b:f32 low32|m r, imm:0..15) { d[i] = i == 0 ? round(b[0], imm & 4 != 0 ? 0 : imm & 3) : a[i] }
vcmpps xy:avx (d:u32 v w, a:f32 v r, b:f32 v|m r, imm:0..31) { d[i] = (unordered(a[i], b[i]) ? 0x8778 : a[i] < b[i] ? 0x9696 : a[i] == b[i] ? 0xa5a5 : 0xf0f0) >> (imm & 15) & 1 != 0 ? 0xffffffff : 0 }
vcmppd xy:avx (d:u64 v w, a:f64 v r, b:f64 v|m r, imm:0..31) { d[i] = (unordered(a[i], b[i]) ? 0x8778 : a[i] < b[i] ? 0x9696 : a[i] == b[i] ? 0xa5a5 : 0xf0f0) >> (imm & 15) & 1 != 0 ? wrap_u64(0 - 1) : 0 }
vpcmpeqb x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = a[i] == b[i] ? 0xff : 0 }
vpcmpgtb x:avx y:avx2 (d:u8 v w, a:i8 v r, b:i8 v|m r) { d[i] = b[i] < a[i] ? 0xff : 0 }
vpcmpeqw x:avx y:avx2 (d:u16 v w, a:u16 v r, b:u16 v|m r) { d[i] = a[i] == b[i] ? 0xffff : 0 }
vpcmpgtw x:avx y:avx2 (d:u16 v w, a:i16 v r, b:i16 v|m r) { d[i] = b[i] < a[i] ? 0xffff : 0 }
vpcmpeqd x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = a[i] == b[i] ? 0xffffffff : 0 }
vpcmpgtd x:avx y:avx2 (d:u32 v w, a:i32 v r, b:i32 v|m r) { d[i] = b[i] < a[i] ? 0xffffffff : 0 }
vpcmpeqq x:avx y:avx2 (d:u64 v w, a:u64 v r, b:u64 v|m r) { d[i] = a[i] == b[i] ? wrap_u64(0 - 1) : 0 }
vpcmpgtq x:avx y:avx2 (d:u64 v w, a:i64 v r, b:i64 v|m r) { d[i] = b[i] < a[i] ? wrap_u64(0 - 1) : 0 }
# Conversions.
vcvtdq2ps xy:avx (d:f32 v w, a:i32 v|m r) { d[i] = to_f32(a[i]) }
vcvtps2dq xy:avx (d:i32 v w, a:f32 v|m r) { d[i] = near_i32(a[i]) }
vcvttps2dq xy:avx (d:i32 v w, a:f32 v|m r) { d[i] = trunc_i32(a[i]) }
vcvtps2pd xy:avx (d:f64 v w, a:f32 v/2|m r) { d[i] = to_f64(a[i]) }
vcvtdq2pd xy:avx (d:f64 v w, a:i32 v/2|m r) { d[i] = to_f64(a[i]) }
vcvtpd2ps xy:avx (d:f32 v/2 w, a:f64 v|m r) { d[i] = to_f32(a[i]) }
vcvttpd2dq xy:avx (d:i32 v/2 w, a:f64 v|m r) { d[i] = trunc_i32(a[i]) }
vcvtph2ps xy:f16c (d:f32 v w, a:f16 v/2|m r) { d[i] = to_f32(a[i]) }
vcvtps2ph xy:f16c (d:f16 v/2|m w, a:f32 v r, imm:0..255) { d[i] = narrow_f16(a[i], imm & 4 != 0 ? 0 : imm & 3) }
vcvtsi2ss x:avx (d:f32 v w, a:f32 v r, b:i32 r32|m r) { d[i] = i == 0 ? to_f32(b[0]) : a[i] }
vcvtss2si x:avx (d:i32 r32 w, a:f32 low32|m r) { d[i] = near_i32(a[0]) }
vcvttss2si x:avx (d:i32 r32 w, a:f32 low32|m r) { d[i] = trunc_i32(a[0]) }
vcvtss2sd x:avx (d:f64 v w, a:f64 v r, b:f32 low32|m r) { d[i] = i == 0 ? to_f64(b[0]) : a[i] }
vcvtsd2ss x:avx (d:f32 v w, a:f32 v r, b:f64 low64|m r) { d[i] = i == 0 ? to_f32(b[0]) : a[i] }
# Widening and narrowing of integers.
vpmovsxbw x:avx y:avx2 (d:i16 v w, a:i8 v/2|m r) { d[i] = a[i] }
vpmovzxbw x:avx y:avx2 (d:u16 v w, a:u8 v/2|m r) { d[i] = a[i] }
vpmovsxbd x:avx y:avx2 (d:i32 v w, a:i8 v/4|m r) { d[i] = a[i] }
vpmovzxbd x:avx y:avx2 (d:u32 v w, a:u8 v/4|m r) { d[i] = a[i] }
vpmovsxwd x:avx y:avx2 (d:i32 v w, a:i16 v/2|m r) { d[i] = a[i] }
vpmovzxwd x:avx y:avx2 (d:u32 v w, a:u16 v/2|m r) { d[i] = a[i] }
vpmovsxdq x:avx y:avx2 (d:i64 v w, a:i32 v/2|m r) { d[i] = a[i] }
vpmovzxdq x:avx y:avx2 (d:u64 v w, a:u32 v/2|m r) { d[i] = a[i] }
# Integer arithmetic.
vpaddb x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = wrap_u8(a[i] + b[i]) }
vpaddw x:avx y:avx2 (d:u16 v w, a:u16 v r, b:u16 v|m r) { d[i] = wrap_u16(a[i] + b[i]) }
vpaddd x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = wrap_u32(a[i] + b[i]) }
vpaddq x:avx y:avx2 (d:u64 v w, a:u64 v r, b:u64 v|m r) { d[i] = wrap_u64(a[i] + b[i]) }
vpaddsb x:avx y:avx2 (d:i8 v w, a:i8 v r, b:i8 v|m r) { d[i] = sat_i8(a[i] + b[i]) }
vpaddusb x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = sat_u8(a[i] + b[i]) }
vpaddsw x:avx y:avx2 (d:i16 v w, a:i16 v r, b:i16 v|m r) { d[i] = sat_i16(a[i] + b[i]) }
vpaddusw x:avx y:avx2 (d:u16 v w, a:u16 v r, b:u16 v|m r) { d[i] = sat_u16(a[i] + b[i]) }
vpsubb x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = wrap_u8(a[i] - b[i]) }
vpsubw x:avx y:avx2 (d:u16 v w, a:u16 v r, b:u16 v|m r) { d[i] = wrap_u16(a[i] - b[i]) }
vpsubd x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = wrap_u32(a[i] - b[i]) }
vpsubq x:avx y:avx2 (d:u64 v w, a:u64 v r, b:u64 v|m r) { d[i] = wrap_u64(a[i] - b[i]) }
vpsubsb x:avx y:avx2 (d:i8 v w, a:i8 v r, b:i8 v|m r) { d[i] = sat_i8(a[i] - b[i]) }
vpsubusb x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = sat_u8(a[i] - b[i]) }
vpsubsw x:avx y:avx2 (d:i16 v w, a:i16 v r, b:i16 v|m r) { d[i] = sat_i16(a[i] - b[i]) }
vpsubusw x:avx y:avx2 (d:u16 v w, a:u16 v r, b:u16 v|m r) { d[i] = sat_u16(a[i] - b[i]) }
vpmullw x:avx y:avx2 (d:i16 v w, a:i16 v r, b:i16 v|m r) { d[i] = wrap_i16(a[i] * b[i]) }
vpmulhw x:avx y:avx2 (d:i16 v w, a:i16 v r, b:i16 v|m r) { d[i] = a[i] * b[i] >> 16 }
vpmulhuw x:avx y:avx2 (d:u16 v w, a:u16 v r, b:u16 v|m r) { d[i] = a[i] * b[i] >> 16 }
vpmulhrsw x:avx y:avx2 (d:i16 v w, a:i16 v r, b:i16 v|m r) { d[i] = wrap_i16((a[i] * b[i] >> 14) + 1 >> 1) }
vpmulld x:avx y:avx2 (d:i32 v w, a:i32 v r, b:i32 v|m r) { d[i] = wrap_i32(a[i] * b[i]) }
vpmuludq x:avx y:avx2 (d:u64 v w, a:u64 v r, b:u64 v|m r) { d[i] = (a[i] & 0xffffffff) * (b[i] & 0xffffffff) }
vpmaddwd x:avx y:avx2 (d:i32 v w, a:i16 v r, b:i16 v|m r) { d[i] = wrap_i32(a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]) }
vpmaddubsw x:avx y:avx2 (d:i16 v w, a:u8 v r, b:i8 v|m r) { d[i] = sat_i16(a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]) }
vpsadbw x:avx y:avx2 (d:u64 v w, a:u8 v r, b:u8 v|m r) { d[i] = sum(j, 8, abs(a[8 * i + j] - b[8 * i + j])) }
vpminsw x:avx y:avx2 (d:i16 v w, a:i16 v r, b:i16 v|m r) { d[i] = min(a[i], b[i]) }
vpmaxsw x:avx y:avx2 (d:i16 v w, a:i16 v r, b:i16 v|m r) { d[i] = max(a[i], b[i]) }
vpminub x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = min(a[i], b[i]) }
vpmaxub x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = max(a[i], b[i]) }
vpminsd x:avx y:avx2 (d:i32 v w, a:i32 v r, b:i32 v|m r) { d[i] = min(a[i], b[i]) }
vpmaxsd x:avx y:avx2 (d:i32 v w, a:i32 v r, b:i32 v|m r) { d[i] = max(a[i], b[i]) }
vpminud x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = min(a[i], b[i]) }
vpmaxud x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = max(a[i], b[i]) }
vpminsb x:avx y:avx2 (d:i8 v w, a:i8 v r, b:i8 v|m r) { d[i] = min(a[i], b[i]) }
vpmaxsb x:avx y:avx2 (d:i8 v w, a:i8 v r, b:i8 v|m r) { d[i] = max(a[i], b[i]) }
vpavgb x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = a[i] + b[i] + 1 >> 1 }
vpabsb x:avx y:avx2 (d:u8 v w, a:i8 v|m r) { d[i] = abs(a[i]) }
vpabsw x:avx y:avx2 (d:u16 v w, a:i16 v|m r) { d[i] = abs(a[i]) }
vpabsd x:avx y:avx2 (d:u32 v w, a:i32 v|m r) { d[i] = abs(a[i]) }
# Packs and interleavings, within 128 bits.
vpackssdw x:avx y:avx2 (d:i16 v w, a:i32 v r, b:i32 v|m r) { d[i] = i % 8 < 4 ? sat_i16(a[4 * (i / 8) + i % 4]) : sat_i16(b[4 * (i / 8) + i % 4]) }
vpacksswb x:avx y:avx2 (d:i8 v w, a:i16 v r, b:i16 v|m r) { d[i] = i % 16 < 8 ? sat_i8(a[8 * (i / 16) + i % 8]) : sat_i8(b[8 * (i / 16) + i % 8]) }
vpackuswb x:avx y:avx2 (d:u8 v w, a:i16 v r, b:i16 v|m r) { d[i] = i % 16 < 8 ? sat_u8(a[8 * (i / 16) + i % 8]) : sat_u8(b[8 * (i / 16) + i % 8]) }
vpackusdw x:avx y:avx2 (d:u16 v w, a:i32 v r, b:i32 v|m r) { d[i] = i % 8 < 4 ? sat_u16(a[4 * (i / 8) + i % 4]) : sat_u16(b[4 * (i / 8) + i % 4]) }
vpunpcklbw x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = i % 2 == 0 ? a[16 * (i / 16) + i % 16 / 2] : b[16 * (i / 16) + i % 16 / 2] }
vpunpckhbw x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = i % 2 == 0 ? a[16 * (i / 16) + i % 16 / 2 + 8] : b[16 * (i / 16) + i % 16 / 2 + 8] }
vpunpcklwd x:avx y:avx2 (d:u16 v w, a:u16 v r, b:u16 v|m r) { d[i] = i % 2 == 0 ? a[8 * (i / 8) + i % 8 / 2] : b[8 * (i / 8) + i % 8 / 2] }
vpunpckhwd x:avx y:avx2 (d:u16 v w, a:u16 v r, b:u16 v|m r) { d[i] = i % 2 == 0 ? a[8 * (i / 8) + i % 8 / 2 + 4] : b[8 * (i / 8) + i % 8 / 2 + 4] }
vpunpckldq x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = i % 2 == 0 ? a[4 * (i / 4) + i % 4 / 2] : b[4 * (i / 4) + i % 4 / 2] }
vpunpckhdq x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = i % 2 == 0 ? a[4 * (i / 4) + i % 4 / 2 + 2] : b[4 * (i / 4) + i % 4 / 2 + 2] }
vpunpcklqdq x:avx y:avx2 (d:u64 v w, a:u64 v r, b:u64 v|m r) { d[i] = i % 2 == 0 ? a[2 * (i / 2) + i % 2 / 2] : b[2 * (i / 2) + i % 2 / 2] }
vpunpckhqdq x:avx y:avx2 (d:u64 v w, a:u64 v r, b:u64 v|m r) { d[i] = i % 2 == 0 ? a[2 * (i / 2) + i % 2 / 2 + 1] : b[2 * (i / 2) + i % 2 / 2 + 1] }
vunpcklps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = i % 2 == 0 ? a[4 * (i / 4) + i % 4 / 2] : b[4 * (i / 4) + i % 4 / 2] }
vunpckhps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = i % 2 == 0 ? a[4 * (i / 4) + i % 4 / 2 + 2] : b[4 * (i / 4) + i % 4 / 2 + 2] }
vunpcklpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r) { d[i] = i % 2 == 0 ? a[2 * (i / 2) + i % 2 / 2] : b[2 * (i / 2) + i % 2 / 2] }
vunpckhpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r) { d[i] = i % 2 == 0 ? a[2 * (i / 2) + i % 2 / 2 + 1] : b[2 * (i / 2) + i % 2 / 2 + 1] }
# Bits and shifts: a count of the width or more gives 0, or the sign.
vpand x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = a[i] & b[i] }
vandps xy:avx (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = a[i] & b[i] }
vpandn x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = wrap_u32(~a[i] & b[i]) }
vandnps xy:avx (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = wrap_u32(~a[i] & b[i]) }
vpor x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = a[i] | b[i] }
vorps xy:avx (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = a[i] | b[i] }
vpxor x:avx y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = a[i] ^ b[i] }
vxorps xy:avx (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = a[i] ^ b[i] }
vpsllw.imm x:avx y:avx2 (d:u16 v w, a:u16 v r, imm:0..255) { d[i] = imm < 16 ? wrap_u16(a[i] << (imm & 15)) : 0 }
vpsllw x:avx y:avx2 (d:u16 v w, a:u16 v r, c:u64 low128|m r) { d[i] = c[0] < 16 ? wrap_u16(a[i] << (c[0] & 15)) : 0 }
vpsrlw.imm x:avx y:avx2 (d:u16 v w, a:u16 v r, imm:0..255) { d[i] = a[i] >> imm }
vpsrlw x:avx y:avx2 (d:u16 v w, a:u16 v r, c:u64 low128|m r) { d[i] = a[i] >> c[0] }
vpsraw.imm x:avx y:avx2 (d:i16 v w, a:i16 v r, imm:0..255) { d[i] = a[i] >> imm }
vpsraw x:avx y:avx2 (d:i16 v w, a:i16 v r, c:u64 low128|m r) { d[i] = a[i] >> c[0] }
vpslld.imm x:avx y:avx2 (d:u32 v w, a:u32 v r, imm:0..255) { d[i] = imm < 32 ? wrap_u32(a[i] << (imm & 31)) : 0 }
vpslld x:avx y:avx2 (d:u32 v w, a:u32 v r, c:u64 low128|m r) { d[i] = c[0] < 32 ? wrap_u32(a[i] << (c[0] & 31)) : 0 }
vpsllvd xy:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = b[i] < 32 ? wrap_u32(a[i] << (b[i] & 31)) : 0 }
vpsrld.imm x:avx y:avx2 (d:u32 v w, a:u32 v r, imm:0..255) { d[i] = a[i] >> imm }
vpsrld x:avx y:avx2 (d:u32 v w, a:u32 v r, c:u64 low128|m r) { d[i] = a[i] >> c[0] }
vpsrlvd xy:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = a[i] >> b[i] }
vpsrad.imm x:avx y:avx2 (d:i32 v w, a:i32 v r, imm:0..255) { d[i] = a[i] >> imm }
vpsrad x:avx y:avx2 (d:i32 v w, a:i32 v r, c:u64 low128|m r) { d[i] = a[i] >> c[0] }
vpsravd xy:avx2 (d:i32 v w, a:i32 v r, b:u32 v|m r) { d[i] = a[i] >> b[i] }
vpsllq.imm x:avx y:avx2 (d:u64 v w, a:u64 v r, imm:0..255) { d[i] = imm < 64 ? wrap_u64(a[i] << (imm & 63)) : 0 }
vpsllq x:avx y:avx2 (d:u64 v w, a:u64 v r, c:u64 low128|m r) { d[i] = c[0] < 64 ? wrap_u64(a[i] << (c[0] & 63)) : 0 }
vpsllvq xy:avx2 (d:u64 v w, a:u64 v r, b:u64 v|m r) { d[i] = b[i] < 64 ? wrap_u64(a[i] << (b[i] & 63)) : 0 }
vpsrlq.imm x:avx y:avx2 (d:u64 v w, a:u64 v r, imm:0..255) { d[i] = a[i] >> imm }
vpsrlq x:avx y:avx2 (d:u64 v w, a:u64 v r, c:u64 low128|m r) { d[i] = a[i] >> c[0] }
vpsrlvq xy:avx2 (d:u64 v w, a:u64 v r, b:u64 v|m r) { d[i] = a[i] >> b[i] }
# Movement of lanes.
vshufps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r, imm:0..255) { d[i] = i % 4 < 2 ? a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] : b[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
vpshufd x:avx y:avx2 (d:u32 v w, a:u32 v|m r, imm:0..255) { d[i] = a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
vpermilps.imm xy:avx (d:f32 v w, a:f32 v|m r, imm:0..255) { d[i] = a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
vpermilps xy:avx (d:f32 v w, a:f32 v r, b:u32 v|m r) { d[i] = a[4 * (i / 4) + (b[i] & 3)] }
vmovhlps x:avx (d:f32 v w, a:f32 v r, b:f32 v r) { d[i] = i < 2 ? b[i + 2] : a[i] }
vmovlhps x:avx (d:f32 v w, a:f32 v r, b:f32 v r) { d[i] = i < 2 ? a[i] : b[i - 2] }
vmovshdup xy:avx (d:f32 v w, a:f32 v|m r) { d[i] = a[i / 2 * 2 + 1] }
vmovsldup xy:avx (d:f32 v w, a:f32 v|m r) { d[i] = a[i / 2 * 2] }
vpermps y:avx2 (d:f32 v w, a:u32 v r, b:f32 v|m r) { d[i] = b[a[i] & n - 1] }
vpermd y:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r) { d[i] = b[a[i] & n - 1] }
vpermq y:avx2 (d:u64 v w, a:u64 v|m r, imm:0..255) { d[i] = a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
vperm2f128 y:avx (d:f64 v w, a:f64 v r, b:f64 v|m r, imm:0..255) { d[i] = imm >> 4 * (i / 2) & 8 != 0 ? as_f64(0) : imm >> 4 * (i / 2) & 2 != 0 ? b[2 * (imm >> 4 * (i / 2) & 1) + i % 2] : a[2 * (imm >> 4 * (i / 2) & 1) + i % 2] }
vextractf128 y:avx (d:f32 low128|m w, a:f32 v r, imm:0..255) { d[i] = a[4 * (imm & 1) + i] }
vinsertf128 y:avx (d:f32 v w, a:f32 v r, b:f32 low128|m r, imm:0..255) { d[i] = i / 4 == imm & 1 ? b[i % 4] : a[i] }
vpalignr x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r, imm:0..255) { d[i] = i % 16 + imm < 16 ? b[16 * (i / 16) + (i % 16 + imm)] : i % 16 + imm < 32 ? a[16 * (i / 16) + (i % 16 + imm - 16)] : 0 }
vpshufb x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r) { d[i] = b[i] < 128 ? a[16 * (i / 16) + (b[i] & 15)] : 0 }
# Broadcasts and blends.
vbroadcastss.load xy:avx (d:f32 v w, a:f32 m32 r) { d[i] = a[0] }
vbroadcastss xy:avx2 (d:f32 v w, a:f32 low32 r) { d[i] = a[0] }
vbroadcastsd.load y:avx (d:f64 v w, a:f64 m64 r) { d[i] = a[0] }
vbroadcastsd y:avx2 (d:f64 v w, a:f64 low64 r) { d[i] = a[0] }
vbroadcastf128 y:avx (d:f32 v w, a:f32 m128 r) { d[i] = a[i % 4] }
vpbroadcastb xy:avx2 (d:u8 v w, a:u8 low8|m r) { d[i] = a[0] }
vpbroadcastw xy:avx2 (d:u16 v w, a:u16 low16|m r) { d[i] = a[0] }
vpbroadcastd xy:avx2 (d:u32 v w, a:u32 low32|m r) { d[i] = a[0] }
vpbroadcastq xy:avx2 (d:u64 v w, a:u64 low64|m r) { d[i] = a[0] }
vblendps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r, imm:0..255) { d[i] = imm >> i & 1 != 0 ? b[i] : a[i] }
vpblendd xy:avx2 (d:u32 v w, a:u32 v r, b:u32 v|m r, imm:0..255) { d[i] = imm >> i & 1 != 0 ? b[i] : a[i] }
vblendvps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r, c:i32 v r) { d[i] = c[i] < 0 ? b[i] : a[i] }
vblendvpd xy:avx (d:f64 v w, a:f64 v r, b:f64 v|m r, c:i64 v r) { d[i] = c[i] < 0 ? b[i] : a[i] }
vpblendvb x:avx y:avx2 (d:u8 v w, a:u8 v r, b:u8 v|m r, c:i8 v r) { d[i] = c[i] < 0 ? b[i] : a[i] }
# Loads, stores and moves.
vmovups.load xy:avx (d:f32 v w, a:f32 m r) { d[i] = a[i] }
vmovups.store xy:avx (d:f32 m w, a:f32 v r) { d[i] = a[i] }
vmovups xy:avx (d:f32 v w, a:f32 v r) { d[i] = a[i] }
vmovaps.load xy:avx (d:f32 v w, a:f32 m r) aligned { d[i] = a[i] }
vmovaps.store xy:avx (d:f32 m w, a:f32 v r) aligned { d[i] = a[i] }
vmovaps xy:avx (d:f32 v w, a:f32 v r) { d[i] = a[i] }
vmovdqu.load xy:avx (d:u32 v w, a:u32 m r) { d[i] = a[i] }
vmovdqu.store xy:avx (d:u32 m w, a:u32 v r) { d[i] = a[i] }
vmovdqu xy:avx (d:u32 v w, a:u32 v r) { d[i] = a[i] }
vmovdqa.load xy:avx (d:u32 v w, a:u32 m r) aligned { d[i] = a[i] }
vmovdqa.store xy:avx (d:u32 m w, a:u32 v r) aligned { d[i] = a[i] }
vmovdqa xy:avx (d:u32 v w, a:u32 v r) { d[i] = a[i] }
vmovntps xy:avx (d:f32 m w, a:f32 v r) aligned { d[i] = a[i] }
vmovss x:avx (d:f32 v w, a:f32 v r, b:f32 v r) { d[i] = i == 0 ? b[0] : a[i] }
vmovss.load x:avx (d:f32 v w, a:f32 m32 r) { d[i] = i == 0 ? a[0] : as_f32(0) }
vmovss.store x:avx (d:f32 m32 w, a:f32 v r) { d[i] = a[0] }
vmovd x:avx (d:u32 v w, a:u32 r32|m r) { d[i] = i == 0 ? a[0] : 0 }
vmovd.store x:avx (d:u32 r32|m w, a:u32 v r) { d[i] = a[0] }
vmovmskps x:avx (d:u32 r32 w, a:u32 v r) { d[i] = sum(j, 4, a[j] >> 31 << j) }
vmovmskps.y y:avx (d:u32 r32 w, a:u32 v r) { d[i] = sum(j, 8, a[j] >> 31 << j) }
vpmovmskb x:avx (d:u32 r32 w, a:u8 v r) { d[i] = sum(j, 16, a[j] >> 7 << j) }
vmaskmovps.load xy:avx (d:f32 v w, k:i32 v r, a:f32 m r) guarded { d[i] = k[i] < 0 ? a[i] : as_f32(0) }
vmaskmovps.store xy:avx (d:f32 m rw, k:i32 v r, a:f32 v r) guarded { d[i] = k[i] < 0 ? a[i] : d[i] }
vpmaskmovd.load xy:avx2 (d:u32 v w, k:i32 v r, a:u32 m r) guarded { d[i] = k[i] < 0 ? a[i] : 0 }
vpmaskmovd.store xy:avx2 (d:u32 m rw, k:i32 v r, a:u32 v r) guarded { d[i] = k[i] < 0 ? a[i] : d[i] }
)";
// clang-format on

}  // namespace axrun::ir::isa
