#include "tests/onnx_import/models.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace axrun::onnx_import::test {

ModelProto empty_model(int64_t opset) {
  ModelProto model;
  model.set_ir_version(8);
  add_opset(model, "", opset);
  model.mutable_graph()->set_name("main");
  return model;
}

void add_opset(ModelProto& model, const std::string& domain, int64_t version) {
  auto* import = model.add_opset_import();
  import->set_domain(domain);
  import->set_version(version);
}

void add_input(GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims, int32_t type) {
  auto* input = graph.add_input();
  input->set_name(name);
  auto* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const int64_t dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

void add_output(GraphProto& graph, const std::string& name) { graph.add_output()->set_name(name); }

NodeProto& add_node(GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::string& name) {
  NodeProto* node = graph.add_node();
  node->set_op_type(op);
  for (const auto& input : inputs) node->add_input(input);
  for (const auto& output : outputs) node->add_output(output);
  if (!name.empty()) node->set_name(name);
  return *node;
}

AttributeProto& add_attribute(NodeProto& node, const std::string& name, AttributeProto::AttributeType type) {
  AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return *attribute;
}

void add_int(NodeProto& node, const std::string& name, int64_t value) {
  add_attribute(node, name, AttributeProto::INT).set_i(value);
}

TensorProto float_tensor(const std::string& name, const std::vector<int64_t>& dims) {
  TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  int64_t count = 1;
  for (const int64_t dim : dims) {
    tensor.add_dims(dim);
    count *= dim;
  }
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

TensorProto& add_initializer(GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims) {
  *graph.add_initializer() = float_tensor(name, dims);
  return *graph.mutable_initializer(graph.initializer_size() - 1);
}

ModelProto relu_model() {
  ModelProto model = empty_model();
  add_input(*model.mutable_graph(), "x");
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"}, "relu");
  add_output(*model.mutable_graph(), "y");
  return model;
}

ImportedModel import_bytes(const std::string& bytes, const ImportOptions& options) {
  return import_memory(bytes.data(), bytes.size(), {}, options);
}

ImportedModel import_proto(const ModelProto& model, const ImportOptions& options) {
  return import_bytes(model.SerializeAsString(), options);
}

const ir::Value& value_named(const ir::Graph& graph, const std::string& name) {
  static const ir::Value none;
  for (const ir::Value& value : graph.values) {
    if (value.name == name) return value;
  }
  ADD_FAILURE() << "no value called " << name;
  return none;
}

std::string summary(const ir::Graph& graph) {
  const auto list = [&](const std::vector<ir::ValueId>& ids) {
    std::string text;
    for (const ir::ValueId id : ids) {
      text += (text.empty() ? "" : ", ") + (id == ir::absent ? std::string("-") : graph.value(id).name);
    }
    return text;
  };
  std::string text;
  for (const ir::Node& node : graph.nodes) {
    text += (text.empty() ? "" : "; ") + node.op + "(" + list(node.inputs) + ") -> " + list(node.outputs);
  }
  return text;
}

void expect_error(Fault fault, const std::string& text, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown where this was expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.fault()), static_cast<int>(fault)) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
        << "expected: " << text << "\nthrown: " << error.what();
  }
}

void expect_import_error(Fault fault, const std::string& text, const ModelProto& model) {
  expect_error(fault, text, [&] { import_proto(model); });
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "axrun_test_XXXXXX").string();
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, std::string_view bytes) const {
  std::ofstream stream(file(name), std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(stream.good());
  return file(name);
}

}  // namespace axrun::onnx_import::test
