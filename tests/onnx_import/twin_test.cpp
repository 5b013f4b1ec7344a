// Every model of ONNX's own test suite, read by our reader and by ONNX's protobuf classes.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "onnx_import/export.h"
#include "onnx_import/tensor_file.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

namespace fs = std::filesystem;

std::string read_whole(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<fs::path> files_called(const std::string& ending) {
  const fs::path suite = "/usr/share/libonnx-testdata/data";
  std::vector<fs::path> files;
  if (!fs::exists(suite)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(suite)) {
    const std::string name = entry.path().string();
    if (name.size() >= ending.size() &&
        name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void compare_tensor(const ir::Tensor& tensor, const TensorProto& proto) {
  ASSERT_TRUE(tensor.defined());
  ASSERT_EQ(tensor.shape(), ir::Shape(proto.dims().begin(), proto.dims().end()));
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      EXPECT_EQ(tensor.type(), ir::ElementType::f32);
      break;
    case TensorProto::INT64:
      EXPECT_EQ(tensor.type(), ir::ElementType::i64);
      break;
    default:
      break;
  }
  if (proto.has_raw_data()) {
    EXPECT_EQ(std::string(tensor.as<char>(), tensor.bytes()), proto.raw_data());
  }
  for (int k = 0; k < proto.float_data_size(); ++k) EXPECT_EQ(tensor.as<float>()[k], proto.float_data(k));
  for (int k = 0; k < proto.int64_data_size(); ++k) EXPECT_EQ(tensor.get_int(k), proto.int64_data(k));
  for (int k = 0; k < proto.double_data_size(); ++k) EXPECT_EQ(tensor.as<double>()[k], proto.double_data(k));
  for (int k = 0; k < proto.string_data_size(); ++k) EXPECT_EQ(tensor.strings()[k], proto.string_data(k));
}

void compare_graph(const ir::Graph& graph, const GraphProto& proto);

void compare_attribute(const ir::Attribute& attribute, const AttributeProto& proto) {
  using Kind = ir::Attribute::Kind;
  switch (proto.type()) {
    case AttributeProto::INT:
      EXPECT_EQ(attribute.kind, Kind::integer);
      EXPECT_EQ(attribute.integer, proto.i());
      break;
    case AttributeProto::FLOAT:
      EXPECT_EQ(attribute.kind, Kind::real);
      EXPECT_EQ(attribute.real, proto.f());
      break;
    case AttributeProto::STRING:
      EXPECT_EQ(attribute.string, proto.s());
      break;
    case AttributeProto::INTS:
      EXPECT_EQ(attribute.integers, std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
      break;
    case AttributeProto::FLOATS:
      EXPECT_EQ(attribute.reals, std::vector<double>(proto.floats().begin(), proto.floats().end()));
      break;
    case AttributeProto::STRINGS:
      EXPECT_EQ(attribute.strings, std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
      break;
    case AttributeProto::TENSOR:
      compare_tensor(attribute.tensor, proto.t());
      break;
    case AttributeProto::GRAPH:
      ASSERT_TRUE(attribute.graph);
      compare_graph(*attribute.graph, proto.g());
      break;
    default:
      EXPECT_EQ(proto.type(), AttributeProto::TYPE_PROTO);
  }
}

/// The suite's graphs are sorted, so that node follows node.
void compare_graph(const ir::Graph& graph, const GraphProto& proto) {
  std::set<std::string> initializers;
  for (const TensorProto& tensor : proto.initializer()) {
    initializers.insert(tensor.name());
    compare_tensor(value_named(graph, tensor.name()).constant, tensor);
  }
  const auto name = [&](ir::ValueId id) { return id == ir::absent ? std::string() : graph.value(id).name; };
  size_t k = 0;
  for (const NodeProto& expected : proto.node()) {
    if (expected.op_type() == "Constant") {
      const AttributeProto& value = expected.attribute(0);
      if (value.name() == "value") compare_tensor(value_named(graph, expected.output(0)).constant, value.t());
      continue;
    }
    ASSERT_LT(k, graph.nodes.size());
    const ir::Node& node = graph.nodes[k++];
    EXPECT_EQ(node.op, expected.op_type());
    EXPECT_EQ(node.domain, expected.domain());
    ASSERT_EQ(node.inputs.size(), static_cast<size_t>(expected.input_size()));
    ASSERT_EQ(node.outputs.size(), static_cast<size_t>(expected.output_size()));
    for (int i = 0; i < expected.input_size(); ++i)
      EXPECT_EQ(name(node.inputs[static_cast<size_t>(i)]), expected.input(i));
    for (int i = 0; i < expected.output_size(); ++i)
      EXPECT_EQ(name(node.outputs[static_cast<size_t>(i)]), expected.output(i));
    ASSERT_EQ(node.attributes.size(), static_cast<size_t>(expected.attribute_size()));
    for (const AttributeProto& attribute : expected.attribute()) {
      ASSERT_TRUE(node.attributes.contains(attribute.name()));
      compare_attribute(node.attributes.at(attribute.name()), attribute);
    }
  }
  EXPECT_EQ(k, graph.nodes.size());
  std::vector<std::string> inputs;
  for (const auto& input : proto.input()) {
    if (!initializers.contains(input.name())) inputs.push_back(input.name());
  }
  ASSERT_EQ(graph.inputs.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(name(graph.inputs[i]), inputs[i]);
  ASSERT_EQ(graph.outputs.size(), static_cast<size_t>(proto.output_size()));
  for (int i = 0; i < proto.output_size(); ++i)
    EXPECT_EQ(name(graph.outputs[static_cast<size_t>(i)]), proto.output(i).name());
}

TEST(Twin, EveryModelOfTheSuite) {
  const auto files = files_called("model.onnx");
  if (files.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  EXPECT_GT(files.size(), 1000u);
  ImportOptions options;
  options.check_operators = false;
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.string());
    ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(read_whole(file)));
    const ir::Model model = import_file(file.string(), options);
    compare_graph(*model.graph, proto.graph());
    for (const auto& opset : proto.opset_import())
      EXPECT_GE(model.opsets.at(opset.domain()), opset.version());
    if (::testing::Test::HasFailure()) break;
    // Written and read once more it is the same model, but for what bodies are called.
    const ir::Model again = import_bytes(export_memory(model), options);
    ASSERT_EQ(again.graph->nodes.size(), model.graph->nodes.size());
    EXPECT_EQ(summary(*again.graph), summary(*model.graph));
  }
}

TEST(Twin, EveryTensorOfTheSuite) {
  const auto files = files_called(".pb");
  if (files.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  size_t tensors = 0;
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.string());
    TensorProto proto;
    // The file does not say what it is; what is a tensor has an element type and as much data as it needs.
    if (!proto.ParseFromString(read_whole(file)) || !proto.unknown_fields().empty() || proto.data_type() == 0)
      continue;
    NamedTensor tensor;
    try {
      tensor = read_tensor_file(file.string());
    } catch (const Error&) {
      continue;
    }
    ++tensors;
    EXPECT_EQ(tensor.name, proto.name());
    compare_tensor(tensor.tensor, proto);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(tensors, files.size() * 9 / 10);
}

}  // namespace
}  // namespace axrun::onnx_import::test
