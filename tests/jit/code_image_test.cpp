#include <gtest/gtest.h>

#include <cstring>

#include "ir/error.h"
#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::Tensor;
using jit::CodeImage;
using jit::KernelCode;

const char* const text = R"(loops doubled(n: 1..4096) {
  input x: f32[n]
  output y: f32[n]
  allocate t: f32[n] in memory
  parallel i < n {
    t[i] = add(x[i], 1.25:f32)
  }
  vector j < n {
    y[j] = mul(t[j], 2:f32)
  }
}
)";

std::shared_ptr<const KernelCode> compiled(const jit::Target& target) {
  return KernelCode::compile(ir::loop::parse(text), target, {});
}

TEST(CodeImage, RunsInAnotherPlaceAsWhereItWasMade) {
  for (const jit::Target& target : code_targets()) {
    const auto made = compiled(target);
    const CodeImage image = made->image();
    ASSERT_EQ(image.bytes.size(), made->code_bytes());
    const auto loaded = KernelCode::load(image);
    ASSERT_NE(loaded->code(), made->code());
    EXPECT_EQ(loaded->code_bytes(), made->code_bytes());
    EXPECT_EQ(loaded->image().bytes, image.bytes);
    EXPECT_EQ(loaded->image().entries, image.entries);
    EXPECT_EQ(loaded->image().signature, image.signature);
    EXPECT_EQ(loaded->image().program, image.program);
    EXPECT_EQ(loaded->inputs(), 1U);
    EXPECT_EQ(loaded->outputs(), 1U);
    const Tensor x = small_integers({37}, 5);
    Tensor results[2];
    for (size_t k = 0; k < 2; ++k) {
      results[k] = Tensor::allocate(ir::ElementType::f32, {37});
      const jit::BoundKernel kernel(k == 0 ? made : loaded, {{"n", 37}});
      std::vector<char> scratch(kernel.scratch_bytes(1) + 64);
      auto* aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
      const void* inputs[] = {x.data()};
      void* outputs[] = {results[k].data()};
      kernel.run(inputs, outputs, aligned, jit::inline_workers());
    }
    EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), results[0].bytes()), 0);
    EXPECT_EQ(results[1].get_real(3), 2 * (x.get_real(3) + 1.25));
    EXPECT_EQ(ir::loop::print(loaded->program()), ir::loop::print(made->program()));
  }
}

TEST(CodeImage, IsCalledBeforeAnybodyReadsItsProgram) {
  CodeImage image = compiled(code_targets().front())->image();
  image.program = "what is no program";
  const auto loaded = KernelCode::load(image);
  const jit::BoundKernel kernel(loaded, {{"n", 37}});
  EXPECT_EQ(kernel.scratch_bytes(1), 37 * 4 + 44U);
  EXPECT_THROW(loaded->program(), Error);
}

TEST(CodeImage, OfAnotherProgramThanItsTextIsFoundOut) {
  CodeImage image = compiled(code_targets().front())->image();
  const size_t at = image.program.find("f32[n] in memory");
  ASSERT_NE(at, std::string::npos);
  image.program.replace(at, 6, "f32[2*n]");
  const auto loaded = KernelCode::load(image);
  EXPECT_THROW(loaded->program(), Error);
}

TEST(CodeImage, WhateverIsInASignatureItsCallsStayInBounds) {
  const CodeImage image = compiled(code_targets().front())->image();
  int loaded = 0, refused = 0;
  for (size_t at = 0; at < image.signature.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      CodeImage damaged = image;
      damaged.signature[at] = static_cast<char>(damaged.signature[at] ^ change);
      try {
        const auto code = KernelCode::load(damaged);
        ++loaded;  // another name, other sizes: what checksums are for
        const jit::BoundKernel kernel(code, {{"n", 37}}, {true});
        kernel.scratch_bytes(1);
        for (size_t input = 0; input < code->inputs(); ++input) kernel.is_prepared(input);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(loaded, 0);
  EXPECT_GT(refused, 0);
}

TEST(CodeImage, WhatCannotBeOfTheProgramIsRefused) {
  const CodeImage image = compiled(code_targets().front())->image();
  const auto refused = [&](CodeImage wrong) { EXPECT_THROW(KernelCode::load(wrong), Error); };
  CodeImage wrong = image;
  wrong.bytes.clear();
  refused(wrong);
  wrong = image;
  wrong.entries.pop_back();
  refused(wrong);
  wrong = image;
  wrong.entries.back() = static_cast<uint32_t>(image.bytes.size());
  refused(wrong);
  wrong = image;
  wrong.signature.pop_back();
  refused(wrong);
  wrong.signature.clear();
  refused(wrong);
}

}  // namespace
}  // namespace axrun::tests
