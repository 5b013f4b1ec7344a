#include "ir/isa/tables.h"

/// SSE and SSE2: the floor. Legacy encodings keep the bits of the destination above 128; those that are marked
/// aligned fault on memory that is not aligned to its size.
/// Long because it is a table: a row for each instruction.
namespace axrun::ir::isa {

// clang-format off
const char x86_sse2_rows[] = R"(
# Float arithmetic.
addps x:sse (d:f32 v rw, a:f32 v|m r) aligned { d[i] = d[i] + a[i] }
subps x:sse (d:f32 v rw, a:f32 v|m r) aligned { d[i] = d[i] - a[i] }
mulps x:sse (d:f32 v rw, a:f32 v|m r) aligned { d[i] = d[i] * a[i] }
divps x:sse (d:f32 v rw, a:f32 v|m r) aligned { d[i] = d[i] / a[i] }
minps x:sse (d:f32 v rw, a:f32 v|m r) aligned { d[i] = d[i] < a[i] ? d[i] : a[i] }
maxps x:sse (d:f32 v rw, a:f32 v|m r) aligned { d[i] = a[i] < d[i] ? d[i] : a[i] }
addpd x:sse2 (d:f64 v rw, a:f64 v|m r) aligned { d[i] = d[i] + a[i] }
subpd x:sse2 (d:f64 v rw, a:f64 v|m r) aligned { d[i] = d[i] - a[i] }
mulpd x:sse2 (d:f64 v rw, a:f64 v|m r) aligned { d[i] = d[i] * a[i] }
divpd x:sse2 (d:f64 v rw, a:f64 v|m r) aligned { d[i] = d[i] / a[i] }
minpd x:sse2 (d:f64 v rw, a:f64 v|m r) aligned { d[i] = d[i] < a[i] ? d[i] : a[i] }
maxpd x:sse2 (d:f64 v rw, a:f64 v|m r) aligned { d[i] = a[i] < d[i] ? d[i] : a[i] }
sqrtps x:sse (d:f32 v w, a:f32 v|m r) aligned { d[i] = sqrt(a[i]) }
sqrtpd x:sse2 (d:f64 v w, a:f64 v|m r) aligned { d[i] = sqrt(a[i]) }
# Scalar float arithmetic: lane 0; the others stay.
addss x:sse (d:f32 v rw, a:f32 low32|m r) { d[i] = i == 0 ? d[0] + a[0] : d[i] }
subss x:sse (d:f32 v rw, a:f32 low32|m r) { d[i] = i == 0 ? d[0] - a[0] : d[i] }
mulss x:sse (d:f32 v rw, a:f32 low32|m r) { d[i] = i == 0 ? d[0] * a[0] : d[i] }
divss x:sse (d:f32 v rw, a:f32 low32|m r) { d[i] = i == 0 ? d[0] / a[0] : d[i] }
minss x:sse (d:f32 v rw, a:f32 low32|m r) { d[i] = i == 0 ? d[0] < a[0] ? d[0] : a[0] : d[i] }
maxss x:sse (d:f32 v rw, a:f32 low32|m r) { d[i] = i == 0 ? a[0] < d[0] ? d[0] : a[0] : d[i] }
sqrtss x:sse (d:f32 v rw, a:f32 low32|m r) { d[i] = i == 0 ? sqrt(a[0]) : d[i] }
addsd x:sse2 (d:f64 v rw, a:f64 low64|m r) { d[i] = i == 0 ? d[0] + a[0] : d[i] }
subsd x:sse2 (d:f64 v rw, a:f64 low64|m r) { d[i] = i == 0 ? d[0] - a[0] : d[i] }
mulsd x:sse2 (d:f64 v rw, a:f64 low64|m r) { d[i] = i == 0 ? d[0] * a[0] : d[i] }
divsd x:sse2 (d:f64 v rw, a:f64 low64|m r) { d[i] = i == 0 ? d[0] / a[0] : d[i] }
minsd x:sse2 (d:f64 v rw, a:f64 low64|m r) { d[i] = i == 0 ? d[0] < a[0] ? d[0] : a[0] : d[i] }
maxsd x:sse2 (d:f64 v rw, a:f64 low64|m r) { d[i] = i == 0 ? a[0] < d[0] ? d[0] : a[0] : d[i] }
sqrtsd x:sse2 (d:f64 v rw, a:f64 low64|m r) { d[i] = i == 0 ? sqrt(a[0]) : d[i] }
# Approximations: bounded, not functions. NaN, zero, denormal and infinite operands are exact.
rcpps x:sse (d:f32 v w, a:f32 v|m r) aligned { d[i] = unordered(a[i], a[i]) ? as_f32(bits(a[i]) | 0x400000) : bits(a[i]) & 0x7f800000 == 0 ? as_f32(bits(a[i]) & 0x80000000 | 0x7f800000) : bits(a[i]) & 0x7fffffff == 0x7f800000 ? as_f32(bits(a[i]) & 0x80000000) : within(as_f64(0x3ff0000000000000) / to_f64(a[i]), 3, 13) }
rsqrtps x:sse (d:f32 v w, a:f32 v|m r) aligned { d[i] = unordered(a[i], a[i]) ? as_f32(bits(a[i]) | 0x400000) : bits(a[i]) & 0x7f800000 == 0 ? as_f32(bits(a[i]) & 0x80000000 | 0x7f800000) : a[i] < as_f32(0) ? as_f32(0xffc00000) : bits(a[i]) & 0x7fffffff == 0x7f800000 ? as_f32(0) : within(as_f64(0x3ff0000000000000) / sqrt(to_f64(a[i])), 3, 13) }
cmpps x:sse (d:f32 v rw, a:f32 v|m r, imm:0..7) aligned { d[i] = (unordered(d[i], a[i]) ? 0x8778 : d[i] < a[i] ? 0x9696 : d[i] == a[i] ? 0xa5a5 : 0xf0f0) >> (imm & 15) & 1 != 0 ? as_f32(0xffffffff) : as_f32(0) }
pcmpeqb x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = d[i] == a[i] ? 0xff : 0 }
pcmpgtb x:sse2 (d:i8 v rw, a:i8 v|m r) aligned { d[i] = a[i] < d[i] ? wrap_i8(0xff) : 0 }
pcmpeqw x:sse2 (d:u16 v rw, a:u16 v|m r) aligned { d[i] = d[i] == a[i] ? 0xffff : 0 }
pcmpgtw x:sse2 (d:i16 v rw, a:i16 v|m r) aligned { d[i] = a[i] < d[i] ? wrap_i16(0xffff) : 0 }
pcmpeqd x:sse2 (d:u32 v rw, a:u32 v|m r) aligned { d[i] = d[i] == a[i] ? 0xffffffff : 0 }
pcmpgtd x:sse2 (d:i32 v rw, a:i32 v|m r) aligned { d[i] = a[i] < d[i] ? wrap_i32(0xffffffff) : 0 }
# Conversions.
cvtdq2ps x:sse2 (d:f32 v w, a:i32 v|m r) aligned { d[i] = to_f32(a[i]) }
cvtps2dq x:sse2 (d:i32 v w, a:f32 v|m r) aligned { d[i] = near_i32(a[i]) }
cvttps2dq x:sse2 (d:i32 v w, a:f32 v|m r) aligned { d[i] = trunc_i32(a[i]) }
cvtps2pd x:sse2 (d:f64 v w, a:f32 v/2|m r) { d[i] = to_f64(a[i]) }
cvtdq2pd x:sse2 (d:f64 v w, a:i32 v/2|m r) { d[i] = to_f64(a[i]) }
cvtpd2ps x:sse2 (d:f32 v w, a:f64 v|m r) aligned { d[i] = i < 2 ? to_f32(a[i]) : as_f32(0) }
cvtss2si x:sse (d:i32 r32 w, a:f32 low32|m r) { d[i] = near_i32(a[0]) }
cvttss2si x:sse (d:i32 r32 w, a:f32 low32|m r) { d[i] = trunc_i32(a[0]) }
# Integer arithmetic.
paddb x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = wrap_u8(d[i] + a[i]) }
paddw x:sse2 (d:u16 v rw, a:u16 v|m r) aligned { d[i] = wrap_u16(d[i] + a[i]) }
paddd x:sse2 (d:u32 v rw, a:u32 v|m r) aligned { d[i] = wrap_u32(d[i] + a[i]) }
paddq x:sse2 (d:u64 v rw, a:u64 v|m r) aligned { d[i] = wrap_u64(d[i] + a[i]) }
paddsb x:sse2 (d:i8 v rw, a:i8 v|m r) aligned { d[i] = sat_i8(d[i] + a[i]) }
paddusb x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = sat_u8(d[i] + a[i]) }
paddsw x:sse2 (d:i16 v rw, a:i16 v|m r) aligned { d[i] = sat_i16(d[i] + a[i]) }
paddusw x:sse2 (d:u16 v rw, a:u16 v|m r) aligned { d[i] = sat_u16(d[i] + a[i]) }
psubb x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = wrap_u8(d[i] - a[i]) }
psubw x:sse2 (d:u16 v rw, a:u16 v|m r) aligned { d[i] = wrap_u16(d[i] - a[i]) }
psubd x:sse2 (d:u32 v rw, a:u32 v|m r) aligned { d[i] = wrap_u32(d[i] - a[i]) }
psubq x:sse2 (d:u64 v rw, a:u64 v|m r) aligned { d[i] = wrap_u64(d[i] - a[i]) }
psubsb x:sse2 (d:i8 v rw, a:i8 v|m r) aligned { d[i] = sat_i8(d[i] - a[i]) }
psubusb x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = sat_u8(d[i] - a[i]) }
psubsw x:sse2 (d:i16 v rw, a:i16 v|m r) aligned { d[i] = sat_i16(d[i] - a[i]) }
psubusw x:sse2 (d:u16 v rw, a:u16 v|m r) aligned { d[i] = sat_u16(d[i] - a[i]) }
pmullw x:sse2 (d:i16 v rw, a:i16 v|m r) aligned { d[i] = wrap_i16(d[i] * a[i]) }
pmulhw x:sse2 (d:i16 v rw, a:i16 v|m r) aligned { d[i] = d[i] * a[i] >> 16 }
pmulhuw x:sse2 (d:u16 v rw, a:u16 v|m r) aligned { d[i] = d[i] * a[i] >> 16 }
pmuludq x:sse2 (d:u64 v rw, a:u64 v|m r) aligned { d[i] = (d[i] & 0xffffffff) * (a[i] & 0xffffffff) }
pmaddwd x:sse2 (d:i16 v rw, a:i16 v|m r) aligned { d[i] = i % 2 == 0 ? wrap_i16(d[i] * a[i] + d[i + 1] * a[i + 1]) : wrap_i16(wrap_i32(d[i - 1] * a[i - 1] + d[i] * a[i]) >> 16) }
pminsw x:sse2 (d:i16 v rw, a:i16 v|m r) aligned { d[i] = min(d[i], a[i]) }
pmaxsw x:sse2 (d:i16 v rw, a:i16 v|m r) aligned { d[i] = max(d[i], a[i]) }
pminub x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = min(d[i], a[i]) }
pmaxub x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = max(d[i], a[i]) }
pavgb x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = d[i] + a[i] + 1 >> 1 }
# Packs and interleavings, within 128 bits.
punpcklbw x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = i % 2 == 0 ? d[16 * (i / 16) + i % 16 / 2] : a[16 * (i / 16) + i % 16 / 2] }
punpckhbw x:sse2 (d:u8 v rw, a:u8 v|m r) aligned { d[i] = i % 2 == 0 ? d[16 * (i / 16) + i % 16 / 2 + 8] : a[16 * (i / 16) + i % 16 / 2 + 8] }
punpcklwd x:sse2 (d:u16 v rw, a:u16 v|m r) aligned { d[i] = i % 2 == 0 ? d[8 * (i / 8) + i % 8 / 2] : a[8 * (i / 8) + i % 8 / 2] }
punpckhwd x:sse2 (d:u16 v rw, a:u16 v|m r) aligned { d[i] = i % 2 == 0 ? d[8 * (i / 8) + i % 8 / 2 + 4] : a[8 * (i / 8) + i % 8 / 2 + 4] }
punpckldq x:sse2 (d:u32 v rw, a:u32 v|m r) aligned { d[i] = i % 2 == 0 ? d[4 * (i / 4) + i % 4 / 2] : a[4 * (i / 4) + i % 4 / 2] }
punpckhdq x:sse2 (d:u32 v rw, a:u32 v|m r) aligned { d[i] = i % 2 == 0 ? d[4 * (i / 4) + i % 4 / 2 + 2] : a[4 * (i / 4) + i % 4 / 2 + 2] }
punpcklqdq x:sse2 (d:u64 v rw, a:u64 v|m r) aligned { d[i] = i % 2 == 0 ? d[2 * (i / 2) + i % 2 / 2] : a[2 * (i / 2) + i % 2 / 2] }
punpckhqdq x:sse2 (d:u64 v rw, a:u64 v|m r) aligned { d[i] = i % 2 == 0 ? d[2 * (i / 2) + i % 2 / 2 + 1] : a[2 * (i / 2) + i % 2 / 2 + 1] }
unpcklps x:sse (d:f32 v rw, a:f32 v|m r) aligned { d[i] = i % 2 == 0 ? d[4 * (i / 4) + i % 4 / 2] : a[4 * (i / 4) + i % 4 / 2] }
unpckhps x:sse (d:f32 v rw, a:f32 v|m r) aligned { d[i] = i % 2 == 0 ? d[4 * (i / 4) + i % 4 / 2 + 2] : a[4 * (i / 4) + i % 4 / 2 + 2] }
unpcklpd x:sse2 (d:f64 v rw, a:f64 v|m r) aligned { d[i] = i % 2 == 0 ? d[2 * (i / 2) + i % 2 / 2] : a[2 * (i / 2) + i % 2 / 2] }
unpckhpd x:sse2 (d:f64 v rw, a:f64 v|m r) aligned { d[i] = i % 2 == 0 ? d[2 * (i / 2) + i % 2 / 2 + 1] : a[2 * (i / 2) + i % 2 / 2 + 1] }
# Bits and shifts: a count of the width or more gives 0, or the sign.
pand x:sse2 (d:u32 v rw, a:u32 v|m r) aligned { d[i] = d[i] & a[i] }
andps x:sse (d:u32 v rw, a:u32 v|m r) aligned { d[i] = d[i] & a[i] }
pandn x:sse2 (d:u32 v rw, a:u32 v|m r) aligned { d[i] = wrap_u32(~d[i] & a[i]) }
andnps x:sse (d:u32 v rw, a:u32 v|m r) aligned { d[i] = wrap_u32(~d[i] & a[i]) }
por x:sse2 (d:u32 v rw, a:u32 v|m r) aligned { d[i] = d[i] | a[i] }
orps x:sse (d:u32 v rw, a:u32 v|m r) aligned { d[i] = d[i] | a[i] }
pxor x:sse2 (d:u32 v rw, a:u32 v|m r) aligned { d[i] = d[i] ^ a[i] }
xorps x:sse (d:u32 v rw, a:u32 v|m r) aligned { d[i] = d[i] ^ a[i] }
psllw.imm x:sse2 (d:u16 v rw, imm:0..255) { d[i] = imm < 16 ? wrap_u16(d[i] << (imm & 15)) : 0 }
psllw x:sse2 (d:u16 v rw, a:u64 low128|m r) aligned { d[i] = a[0] < 16 ? wrap_u16(d[i] << (a[0] & 15)) : 0 }
psrlw.imm x:sse2 (d:u16 v rw, imm:0..255) { d[i] = d[i] >> imm }
psrlw x:sse2 (d:u16 v rw, a:u64 low128|m r) aligned { d[i] = d[i] >> a[0] }
psraw.imm x:sse2 (d:i16 v rw, imm:0..255) { d[i] = d[i] >> imm }
psraw x:sse2 (d:i16 v rw, a:u64 low128|m r) aligned { d[i] = d[i] >> a[0] }
pslld.imm x:sse2 (d:u32 v rw, imm:0..255) { d[i] = imm < 32 ? wrap_u32(d[i] << (imm & 31)) : 0 }
pslld x:sse2 (d:u32 v rw, a:u64 low128|m r) aligned { d[i] = a[0] < 32 ? wrap_u32(d[i] << (a[0] & 31)) : 0 }
psrld.imm x:sse2 (d:u32 v rw, imm:0..255) { d[i] = d[i] >> imm }
psrld x:sse2 (d:u32 v rw, a:u64 low128|m r) aligned { d[i] = d[i] >> a[0] }
psrad.imm x:sse2 (d:i32 v rw, imm:0..255) { d[i] = d[i] >> imm }
psrad x:sse2 (d:i32 v rw, a:u64 low128|m r) aligned { d[i] = d[i] >> a[0] }
psllq.imm x:sse2 (d:u64 v rw, imm:0..255) { d[i] = imm < 64 ? wrap_u64(d[i] << (imm & 63)) : 0 }
psllq x:sse2 (d:u64 v rw, a:u64 low128|m r) aligned { d[i] = a[0] < 64 ? wrap_u64(d[i] << (a[0] & 63)) : 0 }
psrlq.imm x:sse2 (d:u64 v rw, imm:0..255) { d[i] = d[i] >> imm }
psrlq x:sse2 (d:u64 v rw, a:u64 low128|m r) aligned { d[i] = d[i] >> a[0] }
# Movement of lanes.
shufps x:sse (d:f32 v rw, a:f32 v|m r, imm:0..255) aligned { d[i] = i % 4 < 2 ? d[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] : a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
pshufd x:sse2 (d:u32 v w, a:u32 v|m r, imm:0..255) aligned { d[i] = a[4 * (i / 4) + (imm >> 2 * (i % 4) & 3)] }
movhlps x:sse (d:f32 v rw, a:f32 v r) { d[i] = i < 2 ? a[i + 2] : d[i] }
movlhps x:sse (d:f32 v rw, a:f32 v r) { d[i] = i < 2 ? d[i] : a[i - 2] }
# Loads, stores and moves.
movups.load x:sse (d:f32 v w, a:f32 m r) { d[i] = a[i] }
movups.store x:sse (d:f32 m w, a:f32 v r) { d[i] = a[i] }
movups x:sse (d:f32 v w, a:f32 v r) { d[i] = a[i] }
movaps.load x:sse (d:f32 v w, a:f32 m r) aligned { d[i] = a[i] }
movaps.store x:sse (d:f32 m w, a:f32 v r) aligned { d[i] = a[i] }
movaps x:sse (d:f32 v w, a:f32 v r) { d[i] = a[i] }
movdqu.load x:sse2 (d:u32 v w, a:u32 m r) { d[i] = a[i] }
movdqu.store x:sse2 (d:u32 m w, a:u32 v r) { d[i] = a[i] }
movdqu x:sse2 (d:u32 v w, a:u32 v r) { d[i] = a[i] }
movdqa.load x:sse2 (d:u32 v w, a:u32 m r) aligned { d[i] = a[i] }
movdqa.store x:sse2 (d:u32 m w, a:u32 v r) aligned { d[i] = a[i] }
movdqa x:sse2 (d:u32 v w, a:u32 v r) { d[i] = a[i] }
movss x:sse (d:f32 v rw, a:f32 v r) { d[i] = i == 0 ? a[0] : d[i] }
movss.load x:sse (d:f32 v w, a:f32 m32 r) { d[i] = i == 0 ? a[0] : as_f32(0) }
movss.store x:sse (d:f32 m32 w, a:f32 v r) { d[i] = a[0] }
movd x:sse2 (d:u32 v w, a:u32 r32|m r) { d[i] = i == 0 ? a[0] : 0 }
movd.store x:sse2 (d:u32 r32|m w, a:u32 v r) { d[i] = a[0] }
movmskps x:sse (d:u32 r32 w, a:u32 v r) { d[i] = sum(j, 4, a[j] >> 31 << j) }
)";
// clang-format on

}  // namespace axrun::ir::isa
