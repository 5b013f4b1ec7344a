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
    const auto loaded = KernelCode::load(ir::loop::parse(text), image);
    ASSERT_NE(loaded->code(), made->code());
    EXPECT_EQ(loaded->code_bytes(), made->code_bytes());
    EXPECT_EQ(loaded->image().bytes, image.bytes);
    EXPECT_EQ(loaded->image().entries, image.entries);
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
  }
}

TEST(CodeImage, WhatCannotBeOfTheProgramIsRefused) {
  const CodeImage image = compiled(code_targets().front())->image();
  const auto refused = [&](CodeImage wrong) {
    EXPECT_THROW(KernelCode::load(ir::loop::parse(text), wrong), Error);
  };
  CodeImage wrong = image;
  wrong.bytes.clear();
  refused(wrong);
  wrong = image;
  wrong.entries.pop_back();
  refused(wrong);
  wrong = image;
  wrong.entries.back() = static_cast<uint32_t>(image.bytes.size());
  refused(wrong);
}

}  // namespace
}  // namespace axrun::tests
