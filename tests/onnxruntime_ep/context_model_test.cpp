#include "runtime/onnxruntime_ep/context_model.h"

#include <gtest/gtest.h>

namespace axrun::ort {
namespace {

Fault fault_of(const std::string& context) {
  try {
    unpacked_context(context, "it");
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("it ", 0), 0u) << error.what();
    return error.fault();
  }
  ADD_FAILURE() << "it was unpacked";
  return Fault::internal;
}

TEST(ContextModel, WhatIsPackedComesOutAsItWas) {
  using namespace std::string_literals;
  for (const std::string& model : {""s, "x"s, "zeros\0and\nlines\n\n"s, std::string(100000, 'm')}) {
    EXPECT_EQ(unpacked_context(packed_context(model), "it"), model);
  }
}

TEST(ContextModel, EveryFlippedBitIsNoticed) {
  const std::string good = packed_context("a model");
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[byte] = static_cast<char>(bad[byte] ^ (1 << bit));
      EXPECT_NE(fault_of(bad), Fault::internal);
    }
  }
}

TEST(ContextModel, EveryShorterOneIsNoticed) {
  const std::string good = packed_context("a model");
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(fault_of(good.substr(0, size)), Fault::internal);
  EXPECT_EQ(fault_of(good + "x"), Fault::model);
  EXPECT_EQ(fault_of("axrun context 2\n"), Fault::unsupported);
}

TEST(ContextModel, FilesLieInTheModelsFolder) {
  EXPECT_EQ(context_path("/a/b", "c.bin"), "/a/b/c.bin");
  EXPECT_EQ(context_path("/a/b", "c/..d.bin"), "/a/b/c/..d.bin");
  for (const char* name : {"", "/etc/passwd", "..", "../c", "c/../../d", "c/.."}) {
    EXPECT_THROW(context_path("/a/b", name), Error) << name;
  }
  EXPECT_THROW(context_path("/a/b", std::string("a\0b", 3)), Error);
}

}  // namespace
}  // namespace axrun::ort
