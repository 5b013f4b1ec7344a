#include "runtime/output_ports.h"

#include <gtest/gtest.h>

namespace axrun::tests {
namespace {

using ir::Dim;
using ir::ElementType;
using runtime::completed_port;
using runtime::Port;

ir::Value declared(ElementType type, std::optional<ir::Dims> dims) {
  ir::Value value;
  value.name = "y";
  value.type = type;
  value.dims = std::move(dims);
  return value;
}

TEST(OutputPorts, WhatInferenceLacksComesFromTheFile) {
  const Port port = completed_port({.name = "y", .dims = {}},
                                   declared(ElementType::f32, ir::Dims{Dim::symbol("batch"), 384}), {});
  EXPECT_EQ(port.type, ElementType::f32);
  EXPECT_EQ(ir::to_string(port.dims.value()), "[batch, 384]");
}

TEST(OutputPorts, WhatInferenceKnowsWins) {
  const Dim batch = Dim::symbol("batch");
  const Port known{"y", ir::ValueKind::tensor, ElementType::f32, ir::Dims{batch + 1, 3}};
  const Port port =
      completed_port(known, declared(ElementType::i64, ir::Dims{Dim::symbol("rows"), 77}), {"batch"});
  EXPECT_EQ(port.type, ElementType::f32);
  EXPECT_EQ(port.dims, known.dims);
  EXPECT_EQ(completed_port(known, declared(ElementType::f32, ir::Dims{5}), {"batch"}).dims, known.dims);
  EXPECT_EQ(completed_port(known, declared(ElementType::undefined, {}), {"batch"}).dims, known.dims);
}

/// A size that only a run can tell has a name of the inference's own: the file's says more.
TEST(OutputPorts, SizesThatOnlyARunCanTellHaveTheFilesNames) {
  const Port inferred{"y", ir::ValueKind::tensor, ElementType::f32,
                      ir::Dims{Dim::symbol("NonZero_3/out0/dim1"), Dim::symbol("batch")}};
  const Port port = completed_port(
      inferred, declared(ElementType::f32, ir::Dims{Dim::symbol("found"), Dim::symbol("rows")}), {"batch"});
  EXPECT_EQ(ir::to_string(port.dims.value()), "[found, batch]");
}

}  // namespace
}  // namespace axrun::tests
