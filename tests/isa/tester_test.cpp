#include <gtest/gtest.h>

#include <fstream>

#include "ir/error.h"
#include "jit/single_instruction.h"
#include "tests/isa/against_hardware.h"

namespace axrun::isa_test {
namespace {

using namespace ir::isa;

/// Rows that are wrong in one place: the comparison with the hardware must find each.
TEST(Tester, WrongRowsAreRefuted) {
  const std::pair<Encoding, std::string_view> wrong[] = {
      // a lane next to the right one
      {Encoding::vex, "vaddps xy:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = a[i] + b[(i + 1) % n] }"},
      // no saturation
      {Encoding::vex,
       "vpmaddubsw x:avx (d:i16 v w, a:u8 v r, b:i8 v|m r) "
       "{ d[i] = wrap_i16(a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]) }"},
      {Encoding::legacy, "paddsw x:sse2 (d:i16 v rw, a:i16 v|m r) { d[i] = wrap_i16(d[i] + a[i]) }"},
      // signs of the factors swapped
      {Encoding::vex,
       "vpmaddubsw x:avx (d:i16 v w, a:i8 v r, b:u8 v|m r) "
       "{ d[i] = sat_i16(a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]) }"},
      // the other operand of a minimum, where they are equal or one is a NaN
      {Encoding::vex,
       "vminps x:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = b[i] < a[i] ? b[i] : a[i] }"},
      {Encoding::legacy, "maxps x:sse (d:f32 v rw, a:f32 v|m r) { d[i] = d[i] < a[i] ? a[i] : d[i] }"},
      // the NaN of the other operand
      {Encoding::vex, "vaddps x:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = b[i] + a[i] }"},
      {Encoding::vex,
       "vfmadd231ps x:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fma(b[i], a[i], d[i]) }"},
      // two roundings
      {Encoding::vex, "vfmadd231ps x:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = a[i] * b[i] + d[i] }"},
      // NaN's sign flipped by a negation
      {Encoding::vex,
       "vfnmadd231ps x:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) "
       "{ d[i] = fma(as_f32(bits(a[i]) ^ 0x80000000), b[i], d[i]) }"},
      // denormals as zero
      {Encoding::legacy, "mulps x:sse (d:f32 v rw, a:f32 v|m r) { d[i] = daz(d[i] * a[i]) }"},
      // the other rounding of conversions; saturation in place of the indefinite integer
      {Encoding::legacy, "cvtps2dq x:sse2 (d:i32 v w, a:f32 v|m r) { d[i] = trunc_i32(a[i]) }"},
      {Encoding::legacy, "cvttps2dq x:sse2 (d:i32 v w, a:f32 v|m r) { d[i] = sat_i32(trunc_i64(a[i])) }"},
      // a count beyond the width taken modulo
      {Encoding::vex,
       "vpslld.imm x:avx (d:u32 v w, a:u32 v r, imm:0..255) { d[i] = wrap_u32(a[i] << (imm & 31)) }"},
      // the immediate's bits in the wrong order
      {Encoding::vex,
       "vpermilps.imm xy:avx (d:f32 v w, a:f32 v|m r, imm:0..255) "
       "{ d[i] = a[4 * (i / 4) + (imm >> i % 4 & 3)] }"},
      // across 128 bits where the hardware does not
      {Encoding::vex,
       "vunpcklps y:avx (d:f32 v w, a:f32 v r, b:f32 v|m r) { d[i] = i % 2 == 0 ? a[i / 2] : b[i / 2] }"},
      // an error bound that the approximation does not keep
      {Encoding::legacy,
       "rcpps x:sse (d:f32 v w, a:f32 v|m r) "
       "{ d[i] = within(as_f64(0x3ff0000000000000) / to_f64(a[i]), 1, 20) }"},
      // upper lanes of a scalar
      {Encoding::vex,
       "vaddss x:avx (d:f32 v w, a:f32 v r, b:f32 v r) { d[i] = i == 0 ? a[0] + b[0] : b[i] }"},
  };
  int refuted = 0;
  for (const auto& [encoding, text] : wrong) {
    const Row row = parse_row(text, encoding);
    check(row);
    for (Width width : row.widths()) {
      const Verdict verdict = compare(row, width, seed());
      if (!verdict.ran) continue;
      EXPECT_TRUE(verdict.counterexample) << text;
      refuted += verdict.counterexample.has_value();
    }
  }
  EXPECT_GE(refuted, 9);  // those of SSE2 at least
}

/// What happens above the destination is part of a row: VEX zeroes, legacy keeps.
TEST(Tester, TheRestOfTheRegisterIsCompared) {
  const Row row = parse_row("addps x:avx (d:f32 v rw, a:f32 v r) { d[i] = d[i] + a[i] }", Encoding::legacy);
  Row zeroes = row;
  zeroes.encoding = Encoding::vex;  // asmjit has no VEX form of the mnemonic and takes the legacy one
  const Verdict kept = compare(row, Width::x, seed());
  if (!kept.ran) GTEST_SKIP() << "without " << kept.missing << " a register has 128 bits";
  EXPECT_TRUE(kept.confirmed());
  try {
    EXPECT_TRUE(compare(zeroes, Width::x, seed()).counterexample);
  } catch (const Error&) {
    SUCCEED();  // refused to be encoded at all
  }
}

TEST(Tester, TheGrammarRefuses) {
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {"a lane of a may be out of range", "vaddps x:avx (d:f32 v w, a:f32 v r) { d[i] = a[i + 1] }"},
      {"a lane of a may be out of range",
       "vpermps y:avx2 (d:f32 v w, b:u32 v r, a:f32 v r) { d[i] = a[b[i]] }"},
      {"a lane of a may be out of range", "vaddss x:avx (d:f32 v w, a:f32 low32|m r) { d[i] = a[i] }"},
      {"may not fit into i16", "vpaddw x:avx (d:i16 v w, a:i16 v r, b:i16 v r) { d[i] = a[i] + b[i] }"},
      {"more than 127 bits", "vpaddw x:avx (d:u64 v w, a:u64 v r) { d[i] = wrap_u64(a[i] * a[i] * a[i]) }"},
      {"a shift is by", "vpsllvd x:avx2 (d:u32 v w, a:u32 v r) { d[i] = wrap_u32(1 << a[i]) }"},
      {"wrong type", "vaddps x:avx (d:f32 v w, a:f32 v r, b:i32 v r) { d[i] = a[i] + b[i] }"},
      {"destination's type", "vaddps x:avx (d:f32 v w, a:f64 v r) { d[i] = a[0] }"},
      {"operand d is not read", "vaddps x:avx (d:f32 v w, a:f32 v r) { d[i] = d[i] }"},
      {"no operand is written", "vaddps x:avx (d:f32 v r) { d[i] = d[i] }"},
      {"one operand may be in memory", "vaddps x:avx (d:f32 v|m w, a:f32 v|m r) { d[i] = a[i] }"},
      {"only EVEX", "vaddps x:avx (d:f32 v w, a:f32 v r) maskable { d[i] = a[i] }"},
      {"within is used inside",
       "vaddps x:avx (d:f32 v w, a:f32 v r) { d[i] = within(to_f64(a[i]), 1, 2) + a[i] }"},
      {"rounding mode", "vroundps x:avx (d:f32 v w, a:f32 v r, imm:0..15) { d[i] = round(a[i], imm) }"},
      {"no such operand or function", "vaddps x:avx (d:f32 v w, a:f32 v r) { d[i] = c[i] }"},
  };
  for (const auto& [reason, text] : wrong) try {
      check(parse_row(text, Encoding::vex));
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << text << "\n" << error.what();
    }
}

TEST(SingleInstruction, NoMemoryIsWritableAndExecutable) {
  const Row& row = find_row("addps", Encoding::legacy);
  const jit::SingleInstruction instruction({&row, Width::x, -1, 0});
  std::ifstream maps("/proc/self/maps");
  int executable = 0;
  for (std::string line; std::getline(maps, line);) {
    const std::string permissions = line.substr(line.find(' ') + 1, 4);
    executable += permissions[2] == 'x';
    EXPECT_FALSE(permissions[1] == 'w' && permissions[2] == 'x') << line;
  }
  EXPECT_GT(executable, 0);
}

}  // namespace
}  // namespace axrun::isa_test
