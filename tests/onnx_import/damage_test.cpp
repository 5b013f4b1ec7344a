// Damaged files: nothing but an Error may come of them.

#include <random>

#include "onnx_import/export.h"
#include "onnx_import/import.h"
#include "onnx_import/tensor_file.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

/// Something of everything that the reader knows.
ModelProto rich_model() {
  ModelProto model = empty_model();
  add_opset(model, "local", 1);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2, 3});
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(
      "n");
  graph.add_input()->set_name("s");
  graph.mutable_input(1)
      ->mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(1);
  add_initializer(graph, "w", {3});
  TensorProto& typed = add_initializer(graph, "typed", {2});
  typed.clear_raw_data();
  typed.add_float_data(1);
  typed.add_float_data(2);
  auto* sparse = graph.add_sparse_initializer();
  sparse->add_dims(4);
  *sparse->mutable_values() = float_tensor("sp", {1});
  sparse->mutable_indices()->set_data_type(TensorProto::INT64);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(2);
  add_attribute(add_node(graph, "Constant", {}, {"c"}), "value_ints", AttributeProto::INTS).add_ints(300);
  NodeProto& condition = add_node(graph, "If", {"x"}, {"y"}, "if");
  GraphProto& body = *add_attribute(condition, "then_branch", AttributeProto::GRAPH).mutable_g();
  add_node(body, "Add", {"x", "w"}, {"t"});
  add_output(body, "t");
  NodeProto& call = add_node(graph, "f", {"y"}, {"z"}, "call");
  call.set_domain("local");
  add_int(call, "a", 1);
  auto& function = *model.add_functions();
  function.set_name("f");
  function.set_domain("local");
  function.add_input("p");
  function.add_output("q");
  function.add_attribute("a");
  function.add_opset_import()->set_version(17);
  NodeProto& concat = *function.add_node();
  concat.set_op_type("Concat");
  concat.add_input("p");
  concat.add_output("q");
  add_attribute(concat, "axis", AttributeProto::INT).set_ref_attr_name("a");
  add_output(graph, "z");
  return model;
}

/// Whether it imports. Anything that is not an Error of the input's fault fails the test or ends it.
bool imports(const std::string& bytes) {
  ImportOptions options;
  options.max_dense_bytes = 1 << 20;
  options.max_inlined_bytes = 1 << 20;
  try {
    const ir::Model model = import_bytes(bytes, options);
    return model.graph != nullptr;
  } catch (const Error& error) {
    EXPECT_NE(static_cast<int>(error.fault()), static_cast<int>(Fault::internal)) << error.what();
    EXPECT_STRNE(error.what(), "");
    return false;
  }
}

TEST(Damage, TheRichModelIsSound) {
  EXPECT_EQ(summary(*import_proto(rich_model()).graph), "If(x) -> y; Concat(y) -> z");
}

TEST(Damage, EveryTruncation) {
  const std::string bytes = rich_model().SerializeAsString();
  int sound = 0;
  for (size_t size = 0; size < bytes.size(); ++size) sound += imports(bytes.substr(0, size));
  EXPECT_LT(sound, 4) << "only a cut between two fields of the model itself can leave a model";
}

TEST(Damage, EveryByteChanged) {
  const std::string bytes = rich_model().SerializeAsString();
  for (size_t position = 0; position < bytes.size(); ++position) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[position] = static_cast<char>(damaged[position] ^ change);
      imports(damaged);
    }
  }
}

TEST(Damage, RandomChanges) {
  const std::string bytes = rich_model().SerializeAsString();
  for (uint32_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](size_t bound) { return static_cast<size_t>(random()) % bound; };
    std::string damaged = bytes;
    for (size_t change = 0; change <= below(6); ++change) {
      const size_t position = below(damaged.size());
      switch (below(4)) {
        case 0:
          damaged[position] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(position, below(8) + 1);
          break;
        case 2:
          damaged.insert(position, damaged.substr(below(damaged.size()), below(40)));
          break;
        default:
          damaged.insert(position, below(8) + 1, static_cast<char>(random()));
      }
      if (damaged.empty()) damaged = bytes;
    }
    imports(damaged);
    try {
      read_value_memory(damaged.data(), damaged.size(), static_cast<ir::ValueKind>(seed % 4), "damaged");
    } catch (const Error&) {
    }
  }
}

TEST(Damage, IsLocated) {
  const auto refused = [](const std::string& text, const std::string& bytes) {
    expect_error(Fault::model, "not an ONNX model, or damaged at byte " + text, [&] { import_bytes(bytes); });
  };
  refused("2: field 7 of ModelProto has 5 bytes where 2 are left",
          std::string("\x08\x08\x3a\x05\x0a\x00", 6));
  refused("1: a number in ModelProto is cut off", "\x08\x80");
  refused("1: a number in ModelProto has more than 10 bytes", "\x08" + std::string(10, '\xff') + "\x01");
  refused("0: ModelProto has a field of number 0", std::string("\x00\x01", 2));
  refused("0: field 1 of ModelProto is cut off", "\x09\x01\x02");
  refused("0: field 1 of ModelProto does not have the type that ONNX gives it", std::string("\x0a\x00", 2));
  refused("4: field 1 of GraphProto has 9 bytes where 0 are left", "\x08\x08\x3a\x02\x0a\x09");
  refused("4: ModelProto has field 7 twice", std::string("\x08\x08\x3a\x00\x3a\x00", 6).insert(2, ""));
}

TEST(Damage, UnknownFieldsAreRefused) {
  ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->mutable_unknown_fields()->AddVarint(77, 1);
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_unknown_fields()->AddFixed32(30, 1);
  expect_import_error(Fault::unsupported, "\n  field 77 of NodeProto: newer than ONNX", model);
  expect_import_error(Fault::unsupported, "\n  field 30 of TypeProto: newer than ONNX", model);
}

TEST(Damage, FieldsNewerThanDebiansAreKnown) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  graph.mutable_unknown_fields()->AddLengthDelimited(16, "");                   // metadata_props
  graph.mutable_node(0)->mutable_unknown_fields()->AddLengthDelimited(9, "");   // metadata_props
  graph.mutable_node(0)->mutable_unknown_fields()->AddLengthDelimited(10, "");  // device_configurations
  graph.mutable_input(0)->mutable_unknown_fields()->AddLengthDelimited(4, "");  // metadata_props
  model.mutable_unknown_fields()->AddLengthDelimited(26, "");                   // configuration
  EXPECT_NO_THROW(import_proto(model));
}

}  // namespace
}  // namespace axrun::onnx_import::test
