#pragma once

// Models for the tests, made with ONNX's own protobuf classes: an independent twin of the reader and the
// writer under test.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/graph.h"
#include "onnx_import/import.h"

namespace axrun::onnx_import::test {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

/// An empty model that imports ai.onnx at `opset`.
ModelProto empty_model(int64_t opset = 17);
void add_opset(ModelProto& model, const std::string& domain, int64_t version);

/// A float tensor; dims >= 0 are sizes, "?"-less names come from add_named_input.
void add_input(GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims = {2},
               int32_t type = TensorProto::FLOAT);
void add_output(GraphProto& graph, const std::string& name);
NodeProto& add_node(GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::string& name = {});
AttributeProto& add_attribute(NodeProto& node, const std::string& name, AttributeProto::AttributeType type);
void add_int(NodeProto& node, const std::string& name, int64_t value);
/// A float initializer with raw data, 0, 1, 2, ...
TensorProto& add_initializer(GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims);
TensorProto float_tensor(const std::string& name, const std::vector<int64_t>& dims);

/// x -> Relu 'relu' -> y.
ModelProto relu_model();

ImportedModel import_bytes(const std::string& bytes, const ImportOptions& options = {});
ImportedModel import_proto(const ModelProto& model, const ImportOptions& options = {});

/// The value of that name; fails the test when there is none.
const ir::Value& value_named(const ir::Graph& graph, const std::string& name);
/// "Relu(x) -> y; Add(y, y) -> z"
std::string summary(const ir::Graph& graph);

/// Runs `action`, which must throw Error of that fault with a text that contains `text`.
void expect_error(Fault fault, const std::string& text, const std::function<void()>& action);
void expect_import_error(Fault fault, const std::string& text, const ModelProto& model);

/// A folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file into the folder; answers its path.
  std::string write(const std::string& name, std::string_view bytes) const;

 private:
  std::string path_;
};

}  // namespace axrun::onnx_import::test
