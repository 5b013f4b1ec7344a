// What a TensorProto may hold, and what must be refused.

#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "onnx_import/tensor_file.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

TensorProto tensor_of(int32_t type, const std::vector<int64_t>& dims) {
  TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

ir::Tensor read(const TensorProto& tensor) {
  const std::string bytes = tensor.SerializeAsString();
  return read_tensor_memory(bytes.data(), bytes.size(), "test").tensor;
}

void expect_refused(const std::string& text, const TensorProto& tensor, Fault fault = Fault::user) {
  expect_error(fault, text, [&] { read(tensor); });
  // The same tensor in a model is the model's fault.
  ModelProto model = relu_model();
  *model.mutable_graph()->add_initializer() = tensor;
  expect_import_error(fault == Fault::user ? Fault::model : fault, text, model);
}

std::vector<int64_t> ints(const ir::Tensor& tensor) { return tensor.to_ints(); }

TEST(TensorData, RawBytesOfEveryType) {
  for (const auto& [code, type, size] : std::initializer_list<std::tuple<int, ir::ElementType, size_t>>{
           {1, ir::ElementType::f32, 4},
           {2, ir::ElementType::u8, 1},
           {3, ir::ElementType::i8, 1},
           {4, ir::ElementType::u16, 2},
           {5, ir::ElementType::i16, 2},
           {6, ir::ElementType::i32, 4},
           {7, ir::ElementType::i64, 8},
           {10, ir::ElementType::f16, 2},
           {11, ir::ElementType::f64, 8},
           {12, ir::ElementType::u32, 4},
           {13, ir::ElementType::u64, 8},
           {16, ir::ElementType::bf16, 2},
           {17, ir::ElementType::f8e4m3fn, 1},
           {18, ir::ElementType::f8e4m3fnuz, 1},
           {19, ir::ElementType::f8e5m2, 1},
           {20, ir::ElementType::f8e5m2fnuz, 1}}) {
    TensorProto tensor = tensor_of(code, {3});
    std::string raw(3 * size, '\0');
    for (size_t k = 0; k < raw.size(); ++k) raw[k] = static_cast<char>(17 * k + 3);
    tensor.set_raw_data(raw);
    const ir::Tensor result = read(tensor);
    EXPECT_EQ(result.type(), type);
    ASSERT_EQ(result.bytes(), raw.size());
    EXPECT_EQ(std::memcmp(result.data(), raw.data(), raw.size()), 0) << code;
    tensor.set_raw_data(raw + "x");
    expect_refused(
        "takes " + std::to_string(raw.size()) + " bytes, the file has " + std::to_string(raw.size() + 1),
        tensor);
  }
}

TEST(TensorData, NarrowIntegersAndFloatsInInt32Data) {
  const auto with = [](int32_t type, std::initializer_list<int32_t> values) {
    TensorProto tensor = tensor_of(type, {static_cast<int64_t>(values.size())});
    for (const int32_t value : values) tensor.add_int32_data(value);
    return tensor;
  };
  EXPECT_EQ(ints(read(with(TensorProto::INT32, {-1, INT32_MIN}))), (std::vector<int64_t>{-1, INT32_MIN}));
  EXPECT_EQ(ints(read(with(TensorProto::INT16, {-2, 32767}))), (std::vector<int64_t>{-2, 32767}));
  EXPECT_EQ(ints(read(with(TensorProto::INT8, {-128, 127, 255}))), (std::vector<int64_t>{-128, 127, -1}));
  EXPECT_EQ(ints(read(with(TensorProto::UINT8, {200, -1}))), (std::vector<int64_t>{200, 255}));
  EXPECT_EQ(ints(read(with(TensorProto::UINT16, {65535}))), (std::vector<int64_t>{65535}));
  EXPECT_EQ(ints(read(with(TensorProto::BOOL, {0, 1, 7}))), (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(read(with(TensorProto::FLOAT16, {0x3C00, 0xC000})).get_real(1), -2.0);
  EXPECT_EQ(read(with(TensorProto::BFLOAT16, {0x3F80})).get_real(0), 1.0);
  EXPECT_EQ(read(with(17, {0x38})).get_real(0), 1.0) << "float8e4m3fn";
  expect_refused("the element 256 does not fit into uint8", with(TensorProto::UINT8, {256}));
  expect_refused("the element -129 does not fit into int8", with(TensorProto::INT8, {-129}));
  expect_refused("the element 65536 does not fit into float16", with(TensorProto::FLOAT16, {65536}));
}

TEST(TensorData, WideNumbers) {
  TensorProto tensor = tensor_of(TensorProto::INT64, {2});
  tensor.add_int64_data(INT64_MIN);
  tensor.add_int64_data(3);
  EXPECT_EQ(ints(read(tensor)), (std::vector<int64_t>{INT64_MIN, 3}));
  tensor = tensor_of(TensorProto::UINT64, {1});
  tensor.add_uint64_data(UINT64_MAX);
  EXPECT_EQ(read(tensor).as<uint64_t>()[0], UINT64_MAX);
  tensor = tensor_of(TensorProto::UINT32, {1});
  tensor.add_uint64_data(UINT32_MAX);
  EXPECT_EQ(read(tensor).as<uint32_t>()[0], UINT32_MAX);
  tensor.set_uint64_data(0, uint64_t{1} << 32);
  expect_refused("the element 4294967296 does not fit into uint32", tensor);
  tensor = tensor_of(TensorProto::DOUBLE, {1});
  tensor.add_double_data(1e300);
  EXPECT_EQ(read(tensor).as<double>()[0], 1e300);
  tensor = tensor_of(TensorProto::FLOAT, {});
  tensor.add_float_data(0.1f);
  EXPECT_EQ(read(tensor).as<float>()[0], 0.1f);
}

TEST(TensorData, FourBits) {
  TensorProto tensor = tensor_of(22, {3});
  tensor.set_raw_data("\x8f\xf7");
  EXPECT_EQ(ints(read(tensor)), (std::vector<int64_t>{-1, -8, 7}));
  tensor.set_data_type(21);
  EXPECT_EQ(ints(read(tensor)), (std::vector<int64_t>{15, 8, 7}));
  tensor.clear_raw_data();
  tensor.add_int32_data(0x21);
  tensor.add_int32_data(0x03);
  EXPECT_EQ(ints(read(tensor)), (std::vector<int64_t>{1, 2, 3}));
  tensor.add_int32_data(0);
  expect_refused("has more than the 3 elements of its shape", tensor);
  tensor.clear_int32_data();
  tensor.set_raw_data("\x01");
  expect_refused("uint4 of shape [3] takes 2 bytes, the file has 1", tensor);
}

TEST(TensorData, BitsOfOneStream) {
  // Six bits: 1, 2, 3, 4 in three bytes, then 5.
  TensorProto floats = tensor_of(27, {5});
  floats.set_raw_data(std::string("\x81\x30\x10\x05", 4));
  ir::Tensor result = read(floats);
  EXPECT_EQ(result.type(), ir::ElementType::f6e2m3);
  for (int64_t k = 0; k < 5; ++k) EXPECT_EQ(result.as<uint8_t>()[k], k + 1) << k;
  // Two bits: 0, 1, -2, -1, 1.
  TensorProto pairs = tensor_of(26, {5});
  pairs.set_raw_data("\xe4\x01");
  result = read(pairs);
  EXPECT_EQ(result.type(), ir::ElementType::i2);
  EXPECT_EQ(ints(result), (std::vector<int64_t>{0, 1, -2, -1, 1}));
  pairs.clear_raw_data();
  pairs.add_int32_data(0xe4);
  pairs.add_int32_data(1);
  EXPECT_EQ(ints(read(pairs)), (std::vector<int64_t>{0, 1, -2, -1, 1}));
  TensorProto halves = tensor_of(23, {3});
  halves.set_raw_data("\xf1\x02");
  result = read(halves);
  EXPECT_EQ(result.type(), ir::ElementType::f4e2m1);
  EXPECT_EQ(result.get_real(0), 0.5);
  EXPECT_EQ(result.get_real(1), -6);
  EXPECT_EQ(result.get_real(2), 1);
  halves.set_raw_data("\xf1");
  expect_refused("takes 2 bytes, the file has 1", halves);
  floats.clear_raw_data();
  for (int k : {1, 2, 3, 4, 64}) floats.add_int32_data(k);
  expect_refused("the element 64 does not fit into float6e2m3", floats);
}

TEST(TensorData, Strings) {
  TensorProto tensor = tensor_of(TensorProto::STRING, {2});
  tensor.add_string_data("");
  tensor.add_string_data(std::string("a\0b", 3));
  const ir::Tensor result = read(tensor);
  EXPECT_EQ(result.strings()[0], "");
  EXPECT_EQ(result.strings()[1], std::string("a\0b", 3));
  tensor.add_string_data("c");
  expect_refused("has more than the 2 elements of its shape", tensor);
  tensor.clear_string_data();
  expect_refused("is a string tensor with raw data", [&] {
    tensor.set_raw_data("ab");
    return tensor;
  }());
}

TEST(TensorData, BooleansAreZeroOrOne) {
  TensorProto tensor = tensor_of(TensorProto::BOOL, {4});
  tensor.set_raw_data(std::string("\0\1\2\xff", 4));
  EXPECT_EQ(ints(read(tensor)), (std::vector<int64_t>{0, 1, 1, 1}));
}

TEST(TensorData, Empty) {
  EXPECT_EQ(read(tensor_of(TensorProto::FLOAT, {2, 0})).shape(), (ir::Shape{2, 0}));
  EXPECT_EQ(read(tensor_of(TensorProto::STRING, {0})).size(), 0);
  TensorProto tensor = tensor_of(TensorProto::FLOAT, {0});
  tensor.set_raw_data("");
  EXPECT_EQ(read(tensor).size(), 0);
  tensor.set_raw_data("1234");
  expect_refused("takes 0 bytes, the file has 4", tensor);
}

TEST(TensorData, ShapesThatDoNotFit) {
  TensorProto tensor = float_tensor("t", {2});
  tensor.set_dims(0, 3);
  expect_refused("'t': float of shape [3] takes 12 bytes, the file has 8", tensor);
  tensor.set_dims(0, -2);
  expect_refused("'t': has the negative dimension -2", tensor);
  tensor.set_dims(0, INT64_MAX);
  expect_refused("'t': the shape [9223372036854775807] is too large", tensor);
  tensor.add_dims(0);
  expect_refused("'t': the shape [9223372036854775807, 0] is too large", tensor);
  tensor = tensor_of(TensorProto::FLOAT, {int64_t{1} << 50});
  expect_refused("'t': float of shape [1125899906842624] has no data", tensor);
  tensor.add_float_data(1);
  expect_refused("'t': has fewer than the 1125899906842624 elements of its shape", tensor);
  tensor = tensor_of(TensorProto::FLOAT, std::vector<int64_t>(65, 1));
  expect_refused("rank 65", tensor, Fault::unsupported);
}

TEST(TensorData, TypesThatDoNotFit) {
  expect_refused("'t': has no element type", tensor_of(0, {1}));
  expect_refused("'t': has the unknown element type 77", tensor_of(77, {1}));
  expect_refused("'t': has the unknown element type -1", tensor_of(-1, {1}));
  expect_refused("'t': element type complex64", tensor_of(TensorProto::COMPLEX64, {1}), Fault::unsupported);
  expect_refused("'t': element type complex128", tensor_of(TensorProto::COMPLEX128, {1}), Fault::unsupported);
  TensorProto tensor = tensor_of(TensorProto::FLOAT, {1});
  tensor.add_double_data(1);
  expect_refused("'t': has its float elements in double_data", tensor);
  tensor.clear_double_data();
  tensor.add_float_data(1);
  tensor.set_raw_data("1234");
  expect_refused("'t': has its data twice", tensor);
  tensor.clear_raw_data();
  tensor.mutable_segment()->set_begin(0);
  expect_refused("'t': is stored in segments", tensor, Fault::unsupported);
}

TEST(TensorData, UnpackedNumbers) {
  // Protocol Buffers allows every repeated number both packed and not.
  TensorProto tensor = tensor_of(TensorProto::INT64, {3});
  auto* fields = tensor.mutable_unknown_fields();
  fields->AddVarint(7, 5);
  fields->AddLengthDelimited(7, "\x06");
  fields->AddVarint(7, static_cast<uint64_t>(-7));
  EXPECT_EQ(ints(read(tensor)), (std::vector<int64_t>{5, 6, -7}));
}

ModelProto sparse_model(const std::vector<int64_t>& dims, const std::vector<int64_t>& index_dims,
                        const std::vector<int64_t>& indices, int64_t values) {
  ModelProto model = relu_model();
  auto* sparse = model.mutable_graph()->add_sparse_initializer();
  for (const int64_t dim : dims) sparse->add_dims(dim);
  *sparse->mutable_values() = float_tensor("s", {values});
  *sparse->mutable_indices() = tensor_of(TensorProto::INT64, index_dims);
  for (const int64_t index : indices) sparse->mutable_indices()->add_int64_data(index);
  return model;
}

TEST(SparseTensors, AreMadeDense) {
  for (const auto& model :
       {sparse_model({2, 3}, {2}, {0, 4}, 2), sparse_model({2, 3}, {2, 2}, {0, 0, 1, 1}, 2)}) {
    const auto graph = import_proto(model).graph;
    const ir::Tensor tensor = value_named(*graph, "s").constant;
    EXPECT_EQ(tensor.shape(), (ir::Shape{2, 3}));
    EXPECT_EQ(ints(tensor), (std::vector<int64_t>{0, 0, 0, 0, 1, 0}));
  }
}

TEST(SparseTensors, ThatAreWrong) {
  const std::string what = "sparse initializer 's': ";
  expect_import_error(Fault::model, what + "the index 6 is out of range", sparse_model({2, 3}, {1}, {6}, 1));
  expect_import_error(Fault::model, what + "the index -1 is out of range",
                      sparse_model({2, 3}, {1}, {-1}, 1));
  expect_import_error(Fault::model, what + "the index 3 is out of range",
                      sparse_model({2, 3}, {1, 2}, {0, 3}, 1));
  expect_import_error(Fault::model, what + "its indices are not in ascending order",
                      sparse_model({2, 3}, {2}, {4, 4}, 2));
  expect_import_error(Fault::model, what + "the shape of its indices does not fit its values",
                      sparse_model({2, 3}, {1, 3}, {0, 0, 0}, 1));
  expect_import_error(Fault::model, what + "the index 0 is out of range",
                      sparse_model({2, 0}, {1, 2}, {1, 0}, 1));
  expect_import_error(Fault::unsupported, what + "more than 1073741824 bytes of sparse tensors once dense",
                      sparse_model({int64_t{1} << 40}, {1}, {0}, 1));
  expect_import_error(Fault::model, what + "the shape [1099511627776, 1099511627776] is too large",
                      sparse_model({int64_t{1} << 40, int64_t{1} << 40}, {1}, {0}, 1));
}

TEST(Weights, AreBorrowedWhereTheyAreAligned) {
  // One of four shifts of the file by a byte aligns the weights.
  int borrowed = 0;
  for (int shift = 0; shift < 4; ++shift) {
    ModelProto model = relu_model();
    model.set_producer_name(std::string(static_cast<size_t>(shift), 'x'));
    add_initializer(*model.mutable_graph(), "big", {1000});
    add_initializer(*model.mutable_graph(), "small", {2});
    const std::string bytes = model.SerializeAsString();
    const auto owner = std::make_shared<std::string>(bytes);
    const ir::Model imported = import_memory(owner->data(), owner->size(), {}, {}, owner);
    const ir::Value& big = value_named(*imported.graph, "big");
    const auto* data = static_cast<const char*>(big.constant.data());
    const bool inside = data >= owner->data() && data < owner->data() + owner->size();
    borrowed += inside;
    EXPECT_EQ(owner.use_count(), inside ? 2 : 1) << "the weights keep the buffer alive, nothing else does";
    EXPECT_EQ(big.constant.as<float>()[999], 999.0f);
    const auto* small = static_cast<const char*>(value_named(*imported.graph, "small").constant.data());
    EXPECT_FALSE(small >= owner->data() && small < owner->data() + owner->size());
    // Without an owner nothing may be borrowed.
    const ir::Model copied = import_memory(owner->data(), owner->size());
    const auto* copy = static_cast<const char*>(value_named(*copied.graph, "big").constant.data());
    EXPECT_FALSE(copy >= owner->data() && copy < owner->data() + owner->size());
  }
  EXPECT_EQ(borrowed, 1);
}

TEST(Weights, OfAFileOutliveTheModel) {
  const TemporaryFolder folder;
  for (int shift = 0; shift < 4; ++shift) {
    ModelProto model = relu_model();
    model.set_producer_name(std::string(static_cast<size_t>(shift), 'x'));
    add_initializer(*model.mutable_graph(), "big", {100000});
    const std::string path = folder.write("model.onnx", model.SerializeAsString());
    ir::Tensor tensor;
    {
      const ir::Model imported = import_file(path);
      tensor = value_named(*imported.graph, "big").constant;
    }
    std::remove(path.c_str());
    EXPECT_EQ(tensor.as<float>()[99999], 99999.0f);
  }
}

/// The head of a field of `size` bytes.
std::string field_head(int number, uint64_t size) {
  std::string head(1, static_cast<char>(number << 3 | 2));
  for (; size >= 0x80; size >>= 7) head += static_cast<char>(size | 0x80);
  return head + static_cast<char>(size);
}

TEST(Weights, BeyondTheTwoGibibytesOfProtobuf) {
  constexpr int64_t count = int64_t{600} << 20;
  const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(float);
  // Model, graph and tensor end with the weights, so that these can be a hole at the end of the file.
  for (size_t padding = 0; padding < 4; ++padding) {
    TensorProto tensor = tensor_of(TensorProto::FLOAT, {count});
    tensor.set_doc_string(std::string(padding, 'x'));
    const std::string inner = tensor.SerializeAsString() + field_head(9, bytes);
    ModelProto model = relu_model();
    const std::string middle =
        model.graph().SerializeAsString() + field_head(5, inner.size() + bytes) + inner;
    model.clear_graph();
    const std::string head = model.SerializeAsString() + field_head(7, middle.size() + bytes) + middle;
    if (head.size() % sizeof(float) != 0) continue;  // this one would be copied
    const TemporaryFolder folder;
    const std::string path = folder.write("model.onnx", head);
    std::filesystem::resize_file(path, head.size() + bytes);
    const ir::Model imported = import_file(path);
    const ir::Tensor& weights = value_named(*imported.graph, "t").constant;
    EXPECT_EQ(weights.bytes(), bytes);
    EXPECT_EQ(weights.as<float>()[count - 1], 0.0f);
    return;
  }
  FAIL() << "no padding aligns the weights";
}

}  // namespace
}  // namespace axrun::onnx_import::test
