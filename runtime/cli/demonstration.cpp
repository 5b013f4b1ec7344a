#include "runtime/cli/demonstration.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "ir/error.h"
#include "onnx_import/export.h"
#include "runtime/cache/location.h"
#include "runtime/random.h"

namespace axrun::cli {

using ir::Attribute;
using ir::ElementType;
using ir::Tensor;
using ir::ValueId;

namespace {

constexpr int opset = 13;
constexpr const char* demonstration_file = "demonstration_1.onnx";

Attribute integer(int64_t value) {
  Attribute attribute;
  attribute.integer = value;
  return attribute;
}

Attribute integers(std::vector<int64_t> values) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::integers;
  attribute.integers = std::move(values);
  return attribute;
}

class NetworkBuilder {
 public:
  ValueId input(const std::string& name, ir::Dims dims) {
    ir::Value value;
    value.name = name;
    value.type = ElementType::f32;
    value.dims = std::move(dims);
    const ValueId id = graph_->add_value(std::move(value));
    graph_->inputs.push_back(id);
    return id;
  }

  ValueId convolution(const std::string& name, ValueId x, int64_t from, int64_t to, int64_t side,
                      int64_t stride, int64_t groups = 1) {
    const ir::Shape shape = {to, from / groups, side, side};
    // He's initialisation: activations keep their size from layer to layer.
    const double scale = std::sqrt(6.0 / static_cast<double>(from / groups * side * side));
    const int64_t pad = side / 2;
    return node("Conv", name, {x, weights(name + ".weight", shape, scale)},
                {{"kernel_shape", integers({side, side})},
                 {"strides", integers({stride, stride})},
                 {"pads", integers({pad, pad, pad, pad})},
                 {"group", integer(groups)}});
  }

  ValueId normalization(const std::string& name, ValueId x, int64_t channels) {
    return node("BatchNormalization", name,
                {x, weights(name + ".scale", {channels}, 0.2, 1.0), weights(name + ".bias", {channels}, 0.1),
                 weights(name + ".mean", {channels}, 0.1), weights(name + ".variance", {channels}, 0.3, 1.0)},
                {});
  }

  ValueId fully_connected(const std::string& name, ValueId x, int64_t from, int64_t to) {
    const double scale = std::sqrt(6.0 / static_cast<double>(from));
    return node("Gemm", name,
                {x, weights(name + ".weight", {to, from}, scale), weights(name + ".bias", {to}, 0.1)},
                {{"transB", integer(1)}});
  }

  ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
               std::map<std::string, Attribute> attributes) {
    ir::Value value;
    value.name = name;
    value.type = ElementType::f32;
    ir::Node made;
    made.name = name;
    made.op = op;
    made.version = opset;
    made.inputs = std::move(inputs);
    made.outputs = {graph_->add_value(std::move(value))};
    made.attributes = std::move(attributes);
    graph_->nodes.push_back(std::move(made));
    return graph_->nodes.back().outputs[0];
  }

  ir::Model finish(ValueId output) {
    graph_->outputs = {output};
    graph_->name = "axrun demonstration";
    ir::Model model;
    model.graph = graph_;
    model.ir_version = 7;
    model.opsets[""] = opset;
    model.producer = "axrun";
    return model;
  }

 private:
  /// Uniform in [middle - scale, middle + scale).
  ValueId weights(const std::string& name, const ir::Shape& shape, double scale, double middle = 0) {
    ir::Value value;
    value.name = name;
    value.type = ElementType::f32;
    value.dims = ir::to_dims(shape);
    value.constant = Tensor::allocate_uninitialized(ElementType::f32, shape);
    runtime::Random random(1, name);
    for (int64_t k = 0; k < value.constant.size(); ++k) {
      value.constant.as<float>()[k] = static_cast<float>(middle + scale * (2 * random.uniform() - 1));
    }
    return graph_->add_value(std::move(value));
  }

  std::shared_ptr<ir::Graph> graph_ = std::make_shared<ir::Graph>();
};

}  // namespace

ir::Model demonstration_model() {
  NetworkBuilder b;
  ValueId x = b.input("image", {ir::Dim::symbol("batch"), 3, 32, 32});
  x = b.convolution("stem", x, 3, 16, 3, 1);
  x = b.normalization("stem_norm", x, 16);
  x = b.node("Relu", "stem_relu", {x}, {});

  const ValueId skip = x;
  x = b.convolution("block_1", x, 16, 16, 3, 1);
  x = b.normalization("block_1_norm", x, 16);
  x = b.node("Relu", "block_1_relu", {x}, {});
  x = b.convolution("block_2", x, 16, 16, 3, 1);
  x = b.normalization("block_2_norm", x, 16);
  x = b.node("Add", "block_sum", {x, skip}, {});
  x = b.node("Relu", "block_relu", {x}, {});

  x = b.node("MaxPool", "pool", {x}, {{"kernel_shape", integers({2, 2})}, {"strides", integers({2, 2})}});
  x = b.convolution("depthwise", x, 16, 16, 3, 2, 16);
  x = b.normalization("depthwise_norm", x, 16);
  x = b.node("Relu", "depthwise_relu", {x}, {});
  x = b.convolution("pointwise", x, 16, 32, 1, 1);
  x = b.node("Relu", "pointwise_relu", {x}, {});

  x = b.node("GlobalAveragePool", "average", {x}, {});
  x = b.node("Flatten", "features", {x}, {});
  x = b.fully_connected("classifier", x, 32, 10);
  x = b.node("Softmax", "scores", {x}, {{"axis", integer(1)}});
  return b.finish(x);
}

std::string write_demonstration(const std::string& cache_dir, bool keep) {
  namespace fs = std::filesystem;
  const ir::Model model = demonstration_model();
  const std::string folder = !cache_dir.empty() ? cache_dir : keep ? cache::standard_folder().string() : "";
  if (!folder.empty()) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    const std::string path = (fs::path(folder) / demonstration_file).string();
    try {
      onnx_import::export_file(model, path);
      return path;
    } catch (const Error&) {
      // A folder that the user names must work; without a home, the temporary folder does.
      if (!cache_dir.empty()) throw;
    }
  }
  const std::string path =
      (fs::temp_directory_path() / fmt::format("axrun_{}_{}", getpid(), demonstration_file)).string();
  onnx_import::export_file(model, path);
  return path;
}

}  // namespace axrun::cli
