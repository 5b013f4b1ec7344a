#include "onnx_import/tensor_file.h"

#include <onnx/onnx-data_pb.h>

#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

ir::Tensor sample(ir::ElementType type) {
  if (type == ir::ElementType::string) return ir::Tensor::from_strings({2, 1}, {"text", ""});
  ir::Tensor tensor = ir::Tensor::allocate(type, {3, 1});
  for (int k = 0; k < 3; ++k) tensor.set_real(k, k == 2 ? 0 : k + 1);
  return tensor;
}

TEST(TensorFile, EveryTypeComesBack) {
  const TemporaryFolder folder;
  for (int code = 1; code <= static_cast<int>(ir::ElementType::string); ++code) {
    const auto type = static_cast<ir::ElementType>(code);
    const ir::Tensor tensor = sample(type);
    write_tensor_file(folder.file("t.pb"), "name", tensor);
    const NamedTensor back = read_tensor_file(folder.file("t.pb"));
    EXPECT_EQ(back.name, "name");
    EXPECT_EQ(back.tensor.type(), type);
    ASSERT_EQ(back.tensor.shape(), tensor.shape());
    for (int64_t k = 0; k < tensor.size(); ++k) {
      if (type == ir::ElementType::string) {
        EXPECT_EQ(back.tensor.strings()[k], tensor.strings()[k]);
      } else {
        EXPECT_EQ(back.tensor.get_real(k), tensor.get_real(k)) << ir::name_of(type);
      }
    }
  }
}

TEST(TensorFile, IsReadByOnnx) {
  TensorProto tensor;
  ASSERT_TRUE(tensor.ParseFromString(tensor_to_bytes("t", sample(ir::ElementType::f32))));
  EXPECT_EQ(tensor.name(), "t");
  EXPECT_EQ(tensor.dims(0), 3);
  EXPECT_EQ(tensor.raw_data().size(), 12u);
  expect_error(Fault::user, "the tensor 't' is empty", [] { tensor_to_bytes("t", {}); });
}

TEST(TensorFile, ThatIsWrong) {
  const TemporaryFolder folder;
  expect_error(Fault::user, "missing.pb' cannot be opened",
               [&] { read_tensor_file(folder.file("missing.pb")); });
  const std::string path =
      folder.write("cut.pb", tensor_to_bytes("t", sample(ir::ElementType::f32)).substr(0, 12));
  expect_error(Fault::user, "cut.pb': not an ONNX data file of this kind, or damaged at byte",
               [&] { read_tensor_file(path); });
  expect_error(Fault::user, "empty.pb': tensor: has no element type",
               [&] { read_tensor_file(folder.write("empty.pb", "")); });
  TensorProto tensor = float_tensor("t", {2});
  tensor.mutable_unknown_fields()->AddVarint(50, 1);
  expect_error(Fault::unsupported,
               "new.pb': the file uses 1 thing that axrun does not support:\n  field 50 of TensorProto",
               [&] { read_tensor_file(folder.write("new.pb", tensor.SerializeAsString())); });
}

DataValue tensor_value(const std::string& name, const ir::Tensor& tensor) {
  DataValue value;
  value.name = name;
  value.tensor = tensor;
  return value;
}

DataValue container(ir::ValueKind kind, std::vector<DataValue> elements) {
  DataValue value;
  value.kind = kind;
  value.elements = std::move(elements);
  return value;
}

std::string text_of(const DataValue& value) {
  if (value.kind == ir::ValueKind::tensor) return std::string(ir::name_of(value.tensor.type()));
  std::string text;
  for (size_t k = 0; k < value.elements.size(); ++k) {
    text += k == 0 ? "" : " ";
    if (value.kind == ir::ValueKind::map) {
      const auto position = static_cast<int64_t>(k);
      text += value.keys.type() == ir::ElementType::string ? value.keys.strings()[k]
                                                           : std::to_string(value.keys.get_int(position));
      text += ":";
    }
    text += text_of(value.elements[k]);
  }
  const char* names[] = {"tensor", "sequence", "optional", "map"};
  return std::string(names[static_cast<int>(value.kind)]) + "(" + text + ")";
}

TEST(ValueFile, TreesComeBack) {
  using Kind = ir::ValueKind;
  const DataValue f32 = tensor_value("a", sample(ir::ElementType::f32));
  const DataValue i64 = tensor_value("b", sample(ir::ElementType::i64));
  DataValue map = container(Kind::map, {f32, i64});
  map.keys = ir::Tensor::from_i64({-4, 9});
  DataValue string_map = container(Kind::map, {f32});
  string_map.keys = ir::Tensor::from_strings({1}, {"key"});
  for (const DataValue& value : {f32, container(Kind::sequence, {f32, i64}), container(Kind::sequence, {}),
                                 container(Kind::optional, {f32}), container(Kind::optional, {}),
                                 container(Kind::optional, {container(Kind::sequence, {i64})}), map,
                                 string_map, container(Kind::sequence, {map, string_map}),
                                 container(Kind::sequence, {container(Kind::optional, {i64})})}) {
    const TemporaryFolder folder;
    write_value_file(folder.file("v.pb"), value);
    EXPECT_EQ(text_of(read_value_file(folder.file("v.pb"), value.kind)), text_of(value));
  }
}

TEST(ValueFile, IsWhatOnnxWrites) {
  onnx::SequenceProto sequence;
  sequence.set_name("s");
  sequence.set_elem_type(onnx::SequenceProto::MAP);
  auto* map = sequence.add_map_values();
  map->set_key_type(TensorProto::INT64);
  map->add_keys(5);
  map->mutable_values()->set_elem_type(onnx::SequenceProto::TENSOR);
  *map->mutable_values()->add_tensor_values() = float_tensor("", {1});
  std::string bytes = sequence.SerializeAsString();
  const DataValue value = read_value_memory(bytes.data(), bytes.size(), ir::ValueKind::sequence, "test");
  EXPECT_EQ(value.name, "s");
  EXPECT_EQ(text_of(value), "sequence(map(5:f32))");

  map->add_keys(6);
  bytes = sequence.SerializeAsString();
  expect_error(Fault::user, "a map has 2 keys and 1 values",
               [&] { read_value_memory(bytes.data(), bytes.size(), ir::ValueKind::sequence, "test"); });
  map->add_string_keys("x");
  bytes = sequence.SerializeAsString();
  expect_error(Fault::user, "test: not an ONNX data file of this kind, or damaged at byte",
               [&] { read_value_memory(bytes.data(), bytes.size(), ir::ValueKind::sequence, "test"); });

  onnx::OptionalProto optional;
  *optional.mutable_tensor_value() = float_tensor("", {1});
  *optional.mutable_sequence_value() = onnx::SequenceProto();
  bytes = optional.SerializeAsString();
  expect_error(Fault::user, "an optional holds more than one value",
               [&] { read_value_memory(bytes.data(), bytes.size(), ir::ValueKind::optional, "test"); });
}

TEST(ValueFile, NestingIsLimited) {
  std::string bytes;
  for (int k = 0; k < 70; ++k) {
    onnx::SequenceProto sequence;
    EXPECT_TRUE(sequence.add_sequence_values()->ParseFromString(bytes));
    bytes = sequence.SerializeAsString();
  }
  expect_error(Fault::user, "values are nested too deeply",
               [&] { read_value_memory(bytes.data(), bytes.size(), ir::ValueKind::sequence, "test"); });
}

}  // namespace
}  // namespace axrun::onnx_import::test
