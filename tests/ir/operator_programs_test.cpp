// Every operator that a guess at its operands instantiates gives a valid program with a faithful text.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ir/error.h"
#include "ir/operator.h"
#include "tests/ir/consulted.h"
#include "tests/ir/same_program.h"

namespace axrun::ir {
namespace {

using enum ElementType;

OperandInfo tensor(ElementType type, const Dims& dims) {
  OperandInfo operand;
  operand.present = true;
  operand.type = type;
  operand.dims = dims;
  return operand;
}

/// An operand whose value is known: small positive integers.
OperandInfo known(const Tensor& value) {
  OperandInfo operand = tensor(value.type(), to_dims(value.shape()));
  operand.constant = &value;
  return operand;
}

/// Lists of operands that fit many operators.
std::vector<std::vector<OperandInfo>> guesses() {
  const Dim n = Dim::symbol("n");
  static const Tensor shape = Tensor::from_i64({2, 12});
  static const Tensor one = Tensor::from_i64({1});
  static const Tensor scalar = Tensor::scalar(i64, 1);
  static const Tensor zeros = Tensor::from_i64({0, 0, 0, 0, 0, 0, 0, 0});
  static const Tensor scales = Tensor::allocate(f32, {4});
  static const Tensor zero_point = Tensor::scalar(u8, 3);
  static const Tensor scale = Tensor::scalar(f32, 0.5);
  std::vector<std::vector<OperandInfo>> all;
  const std::vector<Dims> shapes = {{4, 4}, {n, 4, 6}, {n, 4, 6, 6}, {1, 3, 4, 4, 4}, {5}, {}, {4, 6}};
  for (ElementType type : {f32, i64, boolean, u8, string, f64, f16, i32, i8, u64}) {
    for (const Dims& dims : shapes) {
      std::vector<OperandInfo> operands;
      for (int count = 0; count < 6; ++count) {
        all.push_back(operands);
        operands.push_back(tensor(type, dims));
      }
      const OperandInfo x = tensor(type, dims);
      const OperandInfo indices = tensor(i64, dims);
      for (const auto& second : {known(one), known(scalar), known(shape), indices, tensor(i64, {3}),
                                 tensor(boolean, dims), known(scales)}) {
        all.push_back({x, second});
        all.push_back({x, second, x});
        all.push_back({x, x, second});
      }
      all.push_back({x, known(zeros)});
      all.push_back({x, known(zeros), tensor(type, {})});
      all.push_back({tensor(boolean, dims), x, x});
      all.push_back({x, known(one), known(one)});
      all.push_back({x, known(one), known(one), known(one), known(one)});
      all.push_back({x, known(scale), known(zero_point)});
      all.push_back({x, tensor(f32, {}), tensor(u8, {})});
      all.push_back({x, known(scale), known(zero_point), x, known(scale), known(zero_point), known(scale),
                     known(zero_point)});
      all.push_back({known(one), x});
      all.push_back({known(shape), tensor(type, {1})});
      all.push_back({known(shape)});
      all.push_back({known(scalar), known(scalar), known(scalar)});
      if (dims.size() > 1) {
        const OperandInfo channel = tensor(type, {dims[1]});
        const OperandInfo last = tensor(type, {dims.back()});
        all.push_back({x, channel, channel});
        all.push_back({x, last, last});
        all.push_back({x, channel, channel, channel, channel});
      }
      if (dims.size() == 4) {
        all.push_back({x, tensor(type, {8, 4, 3, 3})});
        all.push_back({x, tensor(type, {4, 8, 3, 3}), tensor(type, {8})});
        all.push_back({x, tensor(f32, {2, 4}), tensor(i64, {2})});
        all.push_back({x, tensor(type, {n, 5, 5, 2})});
        all.push_back({tensor(type, {n, 4, 6, 6}), tensor(type, {n, 4, 6, 6}), tensor(type, {n, 4, 6, 6})});
      }
      if (dims.size() == 3) {
        for (int gates : {1, 3, 4}) {
          all.push_back({x, tensor(type, {1, 5 * gates, 6}), tensor(type, {1, 5 * gates, 5})});
          all.push_back({x, tensor(type, {1, 5 * gates, 6}), tensor(type, {1, 5 * gates, 5}),
                         tensor(type, {1, 10 * gates})});
        }
      }
    }
  }
  return all;
}

/// Attributes that some operators require.
std::map<std::string, Attribute> attributes(int kind) {
  std::map<std::string, Attribute> all;
  auto integer = [&](const std::string& name, int64_t value) {
    all[name].kind = Attribute::Kind::integer;
    all[name].integer = value;
  };
  auto integers = [&](const std::string& name, const std::vector<int64_t>& values) {
    all[name].kind = Attribute::Kind::integers;
    all[name].integers = values;
  };
  if (kind == 0) return all;
  integer("to", static_cast<int64_t>(kind == 1 ? 1 : 7));  // ONNX's codes of f32 and i64
  integer("hidden_size", 5);
  integer("blocksize", 2);
  integer("num_heads", 2);
  integer("size", 3);
  integer("k", 2);
  integers("kernel_shape", {2, 2});
  integers("shape", {2, 12});
  integers("perm", {1, 0});
  integers("axes", {1});
  integers("value_ints", {1, 2, 3});
  all["equation"].kind = Attribute::Kind::string;
  all["equation"].string = kind == 1 ? "ij,jk->ik" : "...ij->...ji";
  all["direction"].kind = Attribute::Kind::string;
  all["direction"].string = kind == 1 ? "forward" : "LEFT";
  return all;
}

TEST(OperatorPrograms, AreValidAndRoundTrip) {
  const auto operands = guesses();
  std::set<std::string> seen;
  std::set<std::string> silent;
  for (const OperatorEntry& entry : all_operators()) {
    const std::string name = std::string(entry.domain) + "::" + std::string(entry.name);
    int made = 0;
    for (const auto& guess : operands) {
      for (int kind = 0; kind < 3 && made < 8; ++kind) {
        Node node;
        node.name = "node";
        node.domain = entry.domain;
        node.op = entry.name;
        node.version = entry.since;
        node.attributes = attributes(kind);
        for (size_t k = 0; k < guess.size(); ++k) node.inputs.push_back(static_cast<ValueId>(k));
        for (int k = 0; k < 2; ++k) node.outputs.push_back(static_cast<ValueId>(guess.size()) + k);
        Program program;
        try {
          program = define_node(node, guess);
        } catch (const Error& error) {
          EXPECT_NE(error.fault(), Fault::internal) << name << ": " << error.what();
          continue;
        } catch (const NotYetKnown&) {
          continue;
        }
        ++made;
        ASSERT_NO_THROW(require_faithful(program)) << name;
        ASSERT_NO_THROW(test::require_told(node, guess)) << name;
      }
      if (made >= 8) break;
    }
    (made == 0 ? silent : seen).insert(name);
  }
  std::string unseen;
  for (const std::string& name : silent) unseen += seen.contains(name) ? "" : " " + name;
  RecordProperty("operators", static_cast<int>(seen.size()));
  RecordProperty("not_instantiated", unseen);
  EXPECT_GT(seen.size(), 150U) << "not instantiated:" << unseen;
}

}  // namespace
}  // namespace axrun::ir
