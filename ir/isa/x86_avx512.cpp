#include "ir/isa/tables.h"

/// AVX-512 F, BW, DQ and VL, EVEX encoded. A maskable row stands for three: plain, {k} and {k}{z}; a
/// broadcastable one for twice as many, with one repeated lane in memory.
/// Long because it is a table: a row for each instruction.
namespace axrun::ir::isa {

// clang-format off
const char x86_avx512_rows[] = R"(
# Float arithmetic.
vaddps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = a[i] + b[i] }
vsubps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = a[i] - b[i] }
vmulps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = a[i] * b[i] }
vdivps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = a[i] / b[i] }
vminps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = a[i] < b[i] ? a[i] : b[i] }
vmaxps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = b[i] < a[i] ? a[i] : b[i] }
vaddpd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = a[i] + b[i] }
vsubpd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = a[i] - b[i] }
vmulpd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = a[i] * b[i] }
vdivpd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = a[i] / b[i] }
vminpd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = a[i] < b[i] ? a[i] : b[i] }
vmaxpd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = b[i] < a[i] ? a[i] : b[i] }
vsqrtps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v|m r) maskable broadcastable { d[i] = sqrt(a[i]) }
vsqrtpd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v|m r) maskable broadcastable { d[i] = sqrt(a[i]) }
vscalefps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = scale(a[i], b[i]) }
# Fused multiply and add: the order of operands decides which NaN wins.
vfmadd132ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fma(d[i], b[i], a[i]) }
vfmadd213ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fma(a[i], d[i], b[i]) }
vfmadd231ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fma(a[i], b[i], d[i]) }
vfmadd231pd z:avx512f xy:avx512f+avx512vl (d:f64 v rw, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = fma(a[i], b[i], d[i]) }
vfmsub132ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fms(d[i], b[i], a[i]) }
vfmsub213ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fms(a[i], d[i], b[i]) }
vfmsub231ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fms(a[i], b[i], d[i]) }
vfmsub231pd z:avx512f xy:avx512f+avx512vl (d:f64 v rw, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = fms(a[i], b[i], d[i]) }
vfnmadd132ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fnma(d[i], b[i], a[i]) }
vfnmadd213ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fnma(a[i], d[i], b[i]) }
vfnmadd231ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fnma(a[i], b[i], d[i]) }
vfnmadd231pd z:avx512f xy:avx512f+avx512vl (d:f64 v rw, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = fnma(a[i], b[i], d[i]) }
vfnmsub132ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fnms(d[i], b[i], a[i]) }
vfnmsub213ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fnms(a[i], d[i], b[i]) }
vfnmsub231ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = fnms(a[i], b[i], d[i]) }
vfnmsub231pd z:avx512f xy:avx512f+avx512vl (d:f64 v rw, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = fnms(a[i], b[i], d[i]) }
# Approximations: bounded, not functions. NaN, zero, denormal and infinite operands are exact.
vrcp14ps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v|m r) maskable broadcastable { d[i] = unordered(a[i], a[i]) ? as_f32(bits(a[i]) | 0x400000) : bits(a[i]) & 0x7fffffff <= 0x200000 ? as_f32(bits(a[i]) & 0x80000000 | 0x7f800000) : bits(a[i]) & 0x7fffffff == 0x7f800000 ? as_f32(bits(a[i]) & 0x80000000) : within(as_f64(0x3ff0000000000000) / to_f64(a[i]), 1, 14) }
vrsqrt14ps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v|m r) maskable broadcastable { d[i] = unordered(a[i], a[i]) ? as_f32(bits(a[i]) | 0x400000) : bits(a[i]) & 0x7fffffff == 0 ? as_f32(bits(a[i]) & 0x80000000 | 0x7f800000) : a[i] < as_f32(0) ? as_f32(0xffc00000) : bits(a[i]) & 0x7fffffff == 0x7f800000 ? as_f32(0) : within(as_f64(0x3ff0000000000000) / sqrt(to_f64(a[i])), 1, 14) }
# Rounding and comparisons; the 16-bit constants say for which predicates each relation holds.
vrndscaleps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v|m r, imm:0..15) maskable broadcastable { d[i] = round(a[i], imm & 4 != 0 ? 0 : imm & 3) }
vrndscalepd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v|m r, imm:0..15) maskable broadcastable { d[i] = round(a[i], imm & 4 != 0 ? 0 : imm & 3) }
vcmpps z:avx512f xy:avx512f+avx512vl (d:bit k w, a:f32 v r, b:f32 v|m r, imm:0..31) maskable broadcastable { d[i] = (unordered(a[i], b[i]) ? 0x8778 : a[i] < b[i] ? 0x9696 : a[i] == b[i] ? 0xa5a5 : 0xf0f0) >> (imm & 15) & 1 != 0 }
vcmppd z:avx512f xy:avx512f+avx512vl (d:bit k w, a:f64 v r, b:f64 v|m r, imm:0..31) maskable broadcastable { d[i] = (unordered(a[i], b[i]) ? 0x8778 : a[i] < b[i] ? 0x9696 : a[i] == b[i] ? 0xa5a5 : 0xf0f0) >> (imm & 15) & 1 != 0 }
vpcmpd z:avx512f xy:avx512f+avx512vl (d:bit k w, a:i32 v r, b:i32 v|m r, imm:0..7) maskable broadcastable { d[i] = imm == 0 ? a[i] == b[i] : imm == 1 ? a[i] < b[i] : imm == 2 ? a[i] <= b[i] : imm == 3 ? false : imm == 4 ? a[i] != b[i] : imm == 5 ? b[i] <= a[i] : imm == 6 ? b[i] < a[i] : true }
vpcmpq z:avx512f xy:avx512f+avx512vl (d:bit k w, a:i64 v r, b:i64 v|m r, imm:0..7) maskable broadcastable { d[i] = imm == 0 ? a[i] == b[i] : imm == 1 ? a[i] < b[i] : imm == 2 ? a[i] <= b[i] : imm == 3 ? false : imm == 4 ? a[i] != b[i] : imm == 5 ? b[i] <= a[i] : imm == 6 ? b[i] < a[i] : true }
vptestmd z:avx512f xy:avx512f+avx512vl (d:bit k w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = a[i] & b[i] != 0 }
vpcmpud z:avx512f xy:avx512f+avx512vl (d:bit k w, a:u32 v r, b:u32 v|m r, imm:0..7) maskable broadcastable { d[i] = imm == 0 ? a[i] == b[i] : imm == 1 ? a[i] < b[i] : imm == 2 ? a[i] <= b[i] : imm == 3 ? false : imm == 4 ? a[i] != b[i] : imm == 5 ? b[i] <= a[i] : imm == 6 ? b[i] < a[i] : true }
vpcmpb z:avx512bw xy:avx512bw+avx512vl (d:bit k w, a:i8 v r, b:i8 v|m r, imm:0..7) maskable { d[i] = imm == 0 ? a[i] == b[i] : imm == 1 ? a[i] < b[i] : imm == 2 ? a[i] <= b[i] : imm == 3 ? false : imm == 4 ? a[i] != b[i] : imm == 5 ? b[i] <= a[i] : imm == 6 ? b[i] < a[i] : true }
vpcmpub z:avx512bw xy:avx512bw+avx512vl (d:bit k w, a:u8 v r, b:u8 v|m r, imm:0..7) maskable { d[i] = imm == 0 ? a[i] == b[i] : imm == 1 ? a[i] < b[i] : imm == 2 ? a[i] <= b[i] : imm == 3 ? false : imm == 4 ? a[i] != b[i] : imm == 5 ? b[i] <= a[i] : imm == 6 ? b[i] < a[i] : true }
vpcmpw z:avx512bw xy:avx512bw+avx512vl (d:bit k w, a:i16 v r, b:i16 v|m r, imm:0..7) maskable { d[i] = imm == 0 ? a[i] == b[i] : imm == 1 ? a[i] < b[i] : imm == 2 ? a[i] <= b[i] : imm == 3 ? false : imm == 4 ? a[i] != b[i] : imm == 5 ? b[i] <= a[i] : imm == 6 ? b[i] < a[i] : true }
# Conversions.
vcvtdq2ps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:i32 v|m r) maskable broadcastable { d[i] = to_f32(a[i]) }
vcvtps2dq z:avx512f xy:avx512f+avx512vl (d:i32 v w, a:f32 v|m r) maskable broadcastable { d[i] = near_i32(a[i]) }
vcvttps2dq z:avx512f xy:avx512f+avx512vl (d:i32 v w, a:f32 v|m r) maskable broadcastable { d[i] = trunc_i32(a[i]) }
vcvtps2pd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f32 v/2|m r) maskable { d[i] = to_f64(a[i]) }
vcvtdq2pd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:i32 v/2|m r) maskable { d[i] = to_f64(a[i]) }
vcvtpd2ps z:avx512f xy:avx512f+avx512vl (d:f32 v/2 w, a:f64 v|m r) maskable broadcastable { d[i] = to_f32(a[i]) }
vcvttpd2dq z:avx512f xy:avx512f+avx512vl (d:i32 v/2 w, a:f64 v|m r) maskable broadcastable { d[i] = trunc_i32(a[i]) }
vcvtqq2pd z:avx512dq xy:avx512dq+avx512vl (d:f64 v w, a:i64 v|m r) maskable broadcastable { d[i] = to_f64(a[i]) }
vcvtqq2ps z:avx512dq xy:avx512dq+avx512vl (d:f32 v/2 w, a:i64 v|m r) maskable broadcastable { d[i] = to_f32(a[i]) }
vcvttpd2qq z:avx512dq xy:avx512dq+avx512vl (d:i64 v w, a:f64 v|m r) maskable broadcastable { d[i] = trunc_i64(a[i]) }
vcvttps2qq z:avx512dq xy:avx512dq+avx512vl (d:i64 v w, a:f32 v/2|m r) maskable { d[i] = trunc_i64(a[i]) }
vcvtudq2ps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:u32 v|m r) maskable broadcastable { d[i] = to_f32(a[i]) }
vcvtps2udq z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:f32 v|m r) maskable broadcastable { d[i] = near_u32(a[i]) }
vcvttps2udq z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:f32 v|m r) maskable broadcastable { d[i] = trunc_u32(a[i]) }
vcvtph2ps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f16 v/2|m r) maskable { d[i] = to_f32(a[i]) }
vcvtps2ph z:avx512f xy:avx512f+avx512vl (d:f16 v/2|m w, a:f32 v r, imm:0..255) maskable { d[i] = narrow_f16(a[i], imm & 4 != 0 ? 0 : imm & 3) }
# Widening and narrowing of integers.
vpmovsxbw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i8 v/2|m r) maskable { d[i] = a[i] }
vpmovzxbw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u8 v/2|m r) maskable { d[i] = a[i] }
vpmovsxbd z:avx512f xy:avx512f+avx512vl (d:i32 v w, a:i8 v/4|m r) maskable { d[i] = a[i] }
vpmovzxbd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u8 v/4|m r) maskable { d[i] = a[i] }
vpmovsxwd z:avx512f xy:avx512f+avx512vl (d:i32 v w, a:i16 v/2|m r) maskable { d[i] = a[i] }
vpmovzxwd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u16 v/2|m r) maskable { d[i] = a[i] }
vpmovsxdq z:avx512f xy:avx512f+avx512vl (d:i64 v w, a:i32 v/2|m r) maskable { d[i] = a[i] }
vpmovzxdq z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u32 v/2|m r) maskable { d[i] = a[i] }
vpmovdb z:avx512f xy:avx512f+avx512vl (d:u8 v/4|m w, a:u32 v r) maskable { d[i] = wrap_u8(a[i]) }
vpmovdw z:avx512f xy:avx512f+avx512vl (d:u16 v/2|m w, a:u32 v r) maskable { d[i] = wrap_u16(a[i]) }
vpmovqd z:avx512f xy:avx512f+avx512vl (d:u32 v/2|m w, a:u64 v r) maskable { d[i] = wrap_u32(a[i]) }
vpmovsdb z:avx512f xy:avx512f+avx512vl (d:i8 v/4|m w, a:i32 v r) maskable { d[i] = sat_i8(a[i]) }
vpmovusdb z:avx512f xy:avx512f+avx512vl (d:u8 v/4|m w, a:u32 v r) maskable { d[i] = sat_u8(a[i]) }
vpmovsdw z:avx512f xy:avx512f+avx512vl (d:i16 v/2|m w, a:i32 v r) maskable { d[i] = sat_i16(a[i]) }
vpmovwb z:avx512bw xy:avx512bw+avx512vl (d:u8 v/2|m w, a:u16 v r) maskable { d[i] = wrap_u8(a[i]) }
vpmovswb z:avx512bw xy:avx512bw+avx512vl (d:i8 v/2|m w, a:i16 v r) maskable { d[i] = sat_i8(a[i]) }
# Integer arithmetic.
vpaddb z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = wrap_u8(a[i] + b[i]) }
vpaddw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r, b:u16 v|m r) maskable { d[i] = wrap_u16(a[i] + b[i]) }
vpaddd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = wrap_u32(a[i] + b[i]) }
vpaddq z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 v r, b:u64 v|m r) maskable broadcastable { d[i] = wrap_u64(a[i] + b[i]) }
vpaddsb z:avx512bw xy:avx512bw+avx512vl (d:i8 v w, a:i8 v r, b:i8 v|m r) maskable { d[i] = sat_i8(a[i] + b[i]) }
vpaddusb z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = sat_u8(a[i] + b[i]) }
vpaddsw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = sat_i16(a[i] + b[i]) }
vpaddusw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r, b:u16 v|m r) maskable { d[i] = sat_u16(a[i] + b[i]) }
vpsubb z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = wrap_u8(a[i] - b[i]) }
vpsubw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r, b:u16 v|m r) maskable { d[i] = wrap_u16(a[i] - b[i]) }
vpsubd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = wrap_u32(a[i] - b[i]) }
vpsubq z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 v r, b:u64 v|m r) maskable broadcastable { d[i] = wrap_u64(a[i] - b[i]) }
vpsubsb z:avx512bw xy:avx512bw+avx512vl (d:i8 v w, a:i8 v r, b:i8 v|m r) maskable { d[i] = sat_i8(a[i] - b[i]) }
vpsubusb z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = sat_u8(a[i] - b[i]) }
vpsubsw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = sat_i16(a[i] - b[i]) }
vpsubusw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r, b:u16 v|m r) maskable { d[i] = sat_u16(a[i] - b[i]) }
vpmullw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = wrap_i16(a[i] * b[i]) }
vpmulhw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = a[i] * b[i] >> 16 }
vpmulhuw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r, b:u16 v|m r) maskable { d[i] = a[i] * b[i] >> 16 }
vpmulhrsw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = wrap_i16((a[i] * b[i] >> 14) + 1 >> 1) }
vpmulld z:avx512f xy:avx512f+avx512vl (d:i32 v w, a:i32 v r, b:i32 v|m r) maskable broadcastable { d[i] = wrap_i32(a[i] * b[i]) }
vpmullq z:avx512dq xy:avx512dq+avx512vl (d:i64 v w, a:i64 v r, b:i64 v|m r) maskable broadcastable { d[i] = wrap_i64(a[i] * b[i]) }
vpmuludq z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 v r, b:u64 v|m r) maskable { d[i] = (a[i] & 0xffffffff) * (b[i] & 0xffffffff) }
vpmaddwd z:avx512bw xy:avx512bw+avx512vl (d:i32 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = wrap_i32(a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]) }
vpmaddubsw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:u8 v r, b:i8 v|m r) maskable { d[i] = sat_i16(a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]) }
vpminsw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = min(a[i], b[i]) }
vpmaxsw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = max(a[i], b[i]) }
vpminub z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = min(a[i], b[i]) }
vpmaxub z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = max(a[i], b[i]) }
vpminsd z:avx512f xy:avx512f+avx512vl (d:i32 v w, a:i32 v r, b:i32 v|m r) maskable broadcastable { d[i] = min(a[i], b[i]) }
vpmaxsd z:avx512f xy:avx512f+avx512vl (d:i32 v w, a:i32 v r, b:i32 v|m r) maskable broadcastable { d[i] = max(a[i], b[i]) }
vpminud z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = min(a[i], b[i]) }
vpmaxud z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = max(a[i], b[i]) }
vpminsb z:avx512bw xy:avx512bw+avx512vl (d:i8 v w, a:i8 v r, b:i8 v|m r) maskable { d[i] = min(a[i], b[i]) }
vpmaxsb z:avx512bw xy:avx512bw+avx512vl (d:i8 v w, a:i8 v r, b:i8 v|m r) maskable { d[i] = max(a[i], b[i]) }
vpavgb z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = a[i] + b[i] + 1 >> 1 }
vpabsb z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:i8 v|m r) maskable { d[i] = abs(a[i]) }
vpabsw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:i16 v|m r) maskable { d[i] = abs(a[i]) }
vpabsd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:i32 v|m r) maskable broadcastable { d[i] = abs(a[i]) }
# Packs and interleavings, within 128 bits.
vpackssdw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i32 v r, b:i32 v|m r) maskable broadcastable { d[i] = i % 8 < 4 ? sat_i16(a[4 * (i / 8) + i % 4]) : sat_i16(b[4 * (i / 8) + i % 4]) }
vpacksswb z:avx512bw xy:avx512bw+avx512vl (d:i8 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = i % 16 < 8 ? sat_i8(a[8 * (i / 16) + i % 8]) : sat_i8(b[8 * (i / 16) + i % 8]) }
vpackuswb z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:i16 v r, b:i16 v|m r) maskable { d[i] = i % 16 < 8 ? sat_u8(a[8 * (i / 16) + i % 8]) : sat_u8(b[8 * (i / 16) + i % 8]) }
vpackusdw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:i32 v r, b:i32 v|m r) maskable broadcastable { d[i] = i % 8 < 4 ? sat_u16(a[4 * (i / 8) + i % 4]) : sat_u16(b[4 * (i / 8) + i % 4]) }
vpunpcklbw z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = i % 2 == 0 ? a[16 * (i / 16) + i % 16 / 2] : b[16 * (i / 16) + i % 16 / 2] }
vpunpckhbw z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = i % 2 == 0 ? a[16 * (i / 16) + i % 16 / 2 + 8] : b[16 * (i / 16) + i % 16 / 2 + 8] }
vpunpcklwd z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r, b:u16 v|m r) maskable { d[i] = i % 2 == 0 ? a[8 * (i / 8) + i % 8 / 2] : b[8 * (i / 8) + i % 8 / 2] }
vpunpckhwd z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r, b:u16 v|m r) maskable { d[i] = i % 2 == 0 ? a[8 * (i / 8) + i % 8 / 2 + 4] : b[8 * (i / 8) + i % 8 / 2 + 4] }
vpunpckldq z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = i % 2 == 0 ? a[4 * (i / 4) + i % 4 / 2] : b[4 * (i / 4) + i % 4 / 2] }
vpunpckhdq z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = i % 2 == 0 ? a[4 * (i / 4) + i % 4 / 2 + 2] : b[4 * (i / 4) + i % 4 / 2 + 2] }
vpunpcklqdq z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 v r, b:u64 v|m r) maskable broadcastable { d[i] = i % 2 == 0 ? a[2 * (i / 2) + i % 2 / 2] : b[2 * (i / 2) + i % 2 / 2] }
vpunpckhqdq z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 v r, b:u64 v|m r) maskable broadcastable { d[i] = i % 2 == 0 ? a[2 * (i / 2) + i % 2 / 2 + 1] : b[2 * (i / 2) + i % 2 / 2 + 1] }
vunpcklps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = i % 2 == 0 ? a[4 * (i / 4) + i % 4 / 2] : b[4 * (i / 4) + i % 4 / 2] }
vunpckhps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r) maskable broadcastable { d[i] = i % 2 == 0 ? a[4 * (i / 4) + i % 4 / 2 + 2] : b[4 * (i / 4) + i % 4 / 2 + 2] }
vunpcklpd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = i % 2 == 0 ? a[2 * (i / 2) + i % 2 / 2] : b[2 * (i / 2) + i % 2 / 2] }
vunpckhpd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v r, b:f64 v|m r) maskable broadcastable { d[i] = i % 2 == 0 ? a[2 * (i / 2) + i % 2 / 2 + 1] : b[2 * (i / 2) + i % 2 / 2 + 1] }
# Bits and shifts: a count of the width or more gives 0, or the sign.
vandps z:avx512dq xy:avx512dq+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = a[i] & b[i] }
vpandd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = a[i] & b[i] }
vandnps z:avx512dq xy:avx512dq+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = wrap_u32(~a[i] & b[i]) }
vpandnd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = wrap_u32(~a[i] & b[i]) }
vorps z:avx512dq xy:avx512dq+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = a[i] | b[i] }
vpord z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = a[i] | b[i] }
vxorps z:avx512dq xy:avx512dq+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = a[i] ^ b[i] }
vpxord z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = a[i] ^ b[i] }
vpternlogd z:avx512f xy:avx512f+avx512vl (d:u32 v rw, a:u32 v r, b:u32 v|m r, imm:0..255) maskable broadcastable { d[i] = wrap_u32(sum(j, 8, imm >> j & 1 != 0 ? (j & 4 != 0 ? d[i] : ~d[i]) & (j & 2 != 0 ? a[i] : ~a[i]) & (j & 1 != 0 ? b[i] : ~b[i]) : 0)) }
vpsllw.imm z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v|m r, imm:0..255) maskable { d[i] = imm < 16 ? wrap_u16(a[i] << (imm & 15)) : 0 }
vpsllvw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r, b:u16 v|m r) maskable { d[i] = b[i] < 16 ? wrap_u16(a[i] << (b[i] & 15)) : 0 }
vpsrlw.imm z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v|m r, imm:0..255) maskable { d[i] = a[i] >> imm }
vpsrlvw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r, b:u16 v|m r) maskable { d[i] = a[i] >> b[i] }
vpsraw.imm z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i16 v|m r, imm:0..255) maskable { d[i] = a[i] >> imm }
vpsravw z:avx512bw xy:avx512bw+avx512vl (d:i16 v w, a:i16 v r, b:u16 v|m r) maskable { d[i] = a[i] >> b[i] }
vpslld.imm z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v|m r, imm:0..255) maskable { d[i] = imm < 32 ? wrap_u32(a[i] << (imm & 31)) : 0 }
vpsllvd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = b[i] < 32 ? wrap_u32(a[i] << (b[i] & 31)) : 0 }
vpsrld.imm z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v|m r, imm:0..255) maskable { d[i] = a[i] >> imm }
vpsrlvd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = a[i] >> b[i] }
vpsrad.imm z:avx512f xy:avx512f+avx512vl (d:i32 v w, a:i32 v|m r, imm:0..255) maskable { d[i] = a[i] >> imm }
vpsravd z:avx512f xy:avx512f+avx512vl (d:i32 v w, a:i32 v r, b:u32 v|m r) maskable broadcastable { d[i] = a[i] >> b[i] }
vpsllq.imm z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 v|m r, imm:0..255) maskable { d[i] = imm < 64 ? wrap_u64(a[i] << (imm & 63)) : 0 }
vpsllvq z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 v r, b:u64 v|m r) maskable broadcastable { d[i] = b[i] < 64 ? wrap_u64(a[i] << (b[i] & 63)) : 0 }
vpsrlq.imm z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 v|m r, imm:0..255) maskable { d[i] = a[i] >> imm }
vpsrlvq z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 v r, b:u64 v|m r) maskable broadcastable { d[i] = a[i] >> b[i] }
# Movement of lanes.
vshufps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r, imm:0..255) maskable broadcastable { d[i] = i % 4 < 2 ? a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] : b[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
vpshufd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v|m r, imm:0..255) maskable broadcastable { d[i] = a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
vpermilps.imm z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v|m r, imm:0..255) maskable { d[i] = a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
vpermps z:avx512f y:avx512f+avx512vl (d:f32 v w, a:u32 v r, b:f32 v|m r) maskable broadcastable { d[i] = b[a[i] & n - 1] }
vpermd z:avx512f y:avx512f+avx512vl (d:u32 v w, a:u32 v r, b:u32 v|m r) maskable broadcastable { d[i] = b[a[i] & n - 1] }
vpermq z:avx512f y:avx512f+avx512vl (d:u64 v w, a:u64 v|m r, imm:0..255) maskable broadcastable { d[i] = a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
vpermt2ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:u32 v r, b:f32 v|m r) maskable broadcastable { d[i] = a[i] & n == 0 ? d[a[i] & n - 1] : b[a[i] & n - 1] }
vpermi2ps z:avx512f xy:avx512f+avx512vl (d:f32 v rw, a:f32 v r, b:f32 v|m r) broadcastable { d[i] = bits(d[i]) & n == 0 ? a[bits(d[i]) & n - 1] : b[bits(d[i]) & n - 1] }
vextractf32x4 z:avx512f (d:f32 low128|m w, a:f32 v r, imm:0..255) maskable { d[i] = a[4 * (imm & 3) + i] }
vextractf64x4 z:avx512f (d:f64 v/2|m w, a:f64 v r, imm:0..255) maskable { d[i] = a[4 * (imm & 1) + i] }
vinsertf64x4 z:avx512f (d:f64 v w, a:f64 v r, b:f64 v/2|m r, imm:0..255) maskable { d[i] = i / 4 == imm & 1 ? b[i % 4] : a[i] }
vshuff32x4 z:avx512f (d:f32 v w, a:f32 v r, b:f32 v|m r, imm:0..255) maskable broadcastable { d[i] = i < 8 ? a[4 * (imm >> 2 * (i / 4) & 3) + i % 4] : b[4 * (imm >> 2 * (i / 4) & 3) + i % 4] }
vpshufb z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r, b:u8 v|m r) maskable { d[i] = b[i] < 128 ? a[16 * (i / 16) + (b[i] & 15)] : 0 }
# Broadcasts and blends.
vpbroadcastb z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 low8|m r) maskable { d[i] = a[0] }
vpbroadcastw z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 low16|m r) maskable { d[i] = a[0] }
vpbroadcastd z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 low32|m r) maskable { d[i] = a[0] }
vpbroadcastq z:avx512f xy:avx512f+avx512vl (d:u64 v w, a:u64 low64|m r) maskable { d[i] = a[0] }
vpbroadcastd.general z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 r32 r) maskable { d[i] = a[0] }
vbroadcastss z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 low32|m r) maskable { d[i] = a[0] }
vbroadcastsd z:avx512f y:avx512f+avx512vl (d:f64 v w, a:f64 low64|m r) maskable { d[i] = a[0] }
vbroadcastf32x4 z:avx512f y:avx512f+avx512vl (d:f32 v w, a:f32 m128 r) maskable { d[i] = a[i % 4] }
vblendmps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r, b:f32 v|m r, k:bit {k} r) broadcastable { d[i] = k[i] ? b[i] : a[i] }
# Loads, stores and moves.
vmovups.load z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 m r) maskable guarded { d[i] = a[i] }
vmovups z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r) maskable { d[i] = a[i] }
vmovaps.load z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 m r) maskable guarded aligned { d[i] = a[i] }
vmovaps z:avx512f xy:avx512f+avx512vl (d:f32 v w, a:f32 v r) maskable { d[i] = a[i] }
vmovdqu8.load z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 m r) maskable guarded { d[i] = a[i] }
vmovdqu8 z:avx512bw xy:avx512bw+avx512vl (d:u8 v w, a:u8 v r) maskable { d[i] = a[i] }
vmovdqu16.load z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 m r) maskable guarded { d[i] = a[i] }
vmovdqu16 z:avx512bw xy:avx512bw+avx512vl (d:u16 v w, a:u16 v r) maskable { d[i] = a[i] }
vmovdqu32.load z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 m r) maskable guarded { d[i] = a[i] }
vmovdqu32 z:avx512f xy:avx512f+avx512vl (d:u32 v w, a:u32 v r) maskable { d[i] = a[i] }
vmovupd.load z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 m r) maskable guarded { d[i] = a[i] }
vmovupd z:avx512f xy:avx512f+avx512vl (d:f64 v w, a:f64 v r) maskable { d[i] = a[i] }
vmovups.store z:avx512f xy:avx512f+avx512vl (d:f32 m w, a:f32 v r) guarded { d[i] = a[i] }
vmovups.masked_store z:avx512f xy:avx512f+avx512vl (d:f32 m rw, a:f32 v r, k:bit {k} r) guarded { d[i] = k[i] ? a[i] : d[i] }
vmovaps.store z:avx512f xy:avx512f+avx512vl (d:f32 m w, a:f32 v r) guarded aligned { d[i] = a[i] }
vmovaps.masked_store z:avx512f xy:avx512f+avx512vl (d:f32 m rw, a:f32 v r, k:bit {k} r) guarded aligned { d[i] = k[i] ? a[i] : d[i] }
vmovdqu8.store z:avx512bw xy:avx512bw+avx512vl (d:u8 m w, a:u8 v r) guarded { d[i] = a[i] }
vmovdqu8.masked_store z:avx512bw xy:avx512bw+avx512vl (d:u8 m rw, a:u8 v r, k:bit {k} r) guarded { d[i] = k[i] ? a[i] : d[i] }
vmovdqu16.store z:avx512bw xy:avx512bw+avx512vl (d:u16 m w, a:u16 v r) guarded { d[i] = a[i] }
vmovdqu16.masked_store z:avx512bw xy:avx512bw+avx512vl (d:u16 m rw, a:u16 v r, k:bit {k} r) guarded { d[i] = k[i] ? a[i] : d[i] }
vmovdqu32.store z:avx512f xy:avx512f+avx512vl (d:u32 m w, a:u32 v r) guarded { d[i] = a[i] }
vmovdqu32.masked_store z:avx512f xy:avx512f+avx512vl (d:u32 m rw, a:u32 v r, k:bit {k} r) guarded { d[i] = k[i] ? a[i] : d[i] }
)";
// clang-format on

}  // namespace axrun::ir::isa
