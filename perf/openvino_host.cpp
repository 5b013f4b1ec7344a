// Runs a model in OpenVINO's CPU plugin: the second peer that axrun is measured against.
//
// Its settings are what a user who wants short answers in float32 would choose, and everything else is
// OpenVINO's default, with one exception: it does not pin its threads, because the program that measures pins
// all programs to the same processors. Models keep the open dims that they have in the file.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "perf/host/host.h"
#include "perf/openvino_abi.h"

namespace axrun::perf {
namespace {

using openvino::Owned;

class OpenVinoEngine final : public Engine {
 public:
  explicit OpenVinoEngine(const Options& options)
      : api_(library_path(options, "OPENVINO_LIBRARY", "libopenvino_c.so")),
        core_(api_.free_core),
        model_(api_.free_model),
        compiled_(api_.free_compiled),
        request_(api_.free_request) {
    read_version();
    api_.create_core(core_.out());
    create_session(options);
    read_declarations();
  }

  std::string name() const override { return "openvino"; }
  std::string version() const override { return version_; }
  double session_ms() const override { return session_ms_; }
  std::vector<InputDeclaration> inputs() const override { return inputs_; }

  void bind(const std::vector<Tensor>& inputs) override {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      tensors_.push_back(wrap(inputs[k]));
      api_.set_input(request_.get(), k, tensors_.back().get());
    }
  }

  void run() override { api_.infer(request_.get()); }

  /// Outputs whose shape the model fixes are written into memory of this program from now on. Those of open
  /// shape stay in the request's own memory, which it uses again as long as it is large enough.
  void after_first_run() override {
    for (std::size_t k = 0; k < output_names_.size(); ++k) {
      if (!output_is_fixed_[k]) continue;
      Tensor output = read_output(k);
      if (output.type == Type::string || output.type == Type::undefined) continue;
      tensors_.push_back(wrap(output));
      api_.set_output(request_.get(), k, tensors_.back().get());
      output_memory_.push_back(std::move(output.bytes));
    }
  }

  std::vector<Output> outputs() override {
    std::vector<Output> outputs;
    for (std::size_t k = 0; k < output_names_.size(); ++k) {
      Output output{output_names_[k], "tensor", read_output(k)};
      // Strings are objects of the library's C++ side, which this program can't read.
      if (output.tensor.type == Type::string) output.kind = "string tensor";
      if (output.tensor.type == Type::undefined) output.kind = "other";
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

 private:
  void read_version() {
    openvino::Version version;
    api_.get_version(&version);
    version_ = version.build ? version.build : "";
    api_.free_version(&version);
    if (std::atoi(version_.c_str()) < 2026) {
      throw HostError(HostError::user, "OpenVINO " + version_ + " is older than 2026");
    }
    version_ = version_.substr(0, version_.find('-'));
  }

  void create_session(const Options& options) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string threads = std::to_string(options.threads);
    const openvino::Property settings[] = {
        {"PERFORMANCE_HINT", "LATENCY"},
        {"NUM_STREAMS", "1"},
        {"INFERENCE_NUM_THREADS", threads.c_str()},
        {"ENABLE_CPU_PINNING", "NO"},
        {"INFERENCE_PRECISION_HINT", "f32"},
    };
    api_.read_model(core_.get(), options.model.c_str(), nullptr, model_.out());
    api_.compile(core_.get(), model_.get(), "CPU", std::size(settings), settings, compiled_.out());
    api_.create_request(compiled_.get(), request_.out());
    session_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  void read_declarations() {
    std::size_t count = 0;
    api_.input_count(model_.get(), &count);
    for (std::size_t k = 0; k < count; ++k) {
      Owned<openvino::Port> port(api_.free_port);
      api_.input_port(model_.get(), k, port.out());
      inputs_.push_back(declaration(port.get()));
    }
    api_.output_count(model_.get(), &count);
    for (std::size_t k = 0; k < count; ++k) {
      Owned<openvino::Port> port(api_.free_port);
      api_.output_port(model_.get(), k, port.out());
      const InputDeclaration output = declaration(port.get());
      output_names_.push_back(output.name);
      output_is_fixed_.push_back(std::ranges::find(output.shape, -1) == output.shape.end());
    }
  }

  /// Name, type and shape of an input or output; one of open rank is taken for one open dim.
  InputDeclaration declaration(const openvino::Port* port) const {
    InputDeclaration result;
    char* name = nullptr;
    api_.port_name(port, &name);
    result.name = name;
    api_.free_text(name);
    int type = 0;
    api_.port_type(port, &type);
    result.type = openvino::type_of(type);
    openvino::PartialShape shape;
    api_.port_shape(port, &shape);
    if (shape.rank.least == shape.rank.most) {
      for (std::int64_t axis = 0; axis < shape.rank.least; ++axis) {
        const openvino::Dimension& dim = shape.dims[axis];
        result.shape.push_back(dim.least == dim.most ? dim.least : -1);
      }
    } else {
      result.shape.push_back(-1);
    }
    api_.free_partial_shape(&shape);
    result.dim_names.resize(result.shape.size());
    return result;
  }

  /// A tensor over the same memory; strings are copied.
  Owned<openvino::OvTensor> wrap(const Tensor& tensor) const {
    Owned<openvino::OvTensor> result(api_.free_tensor);
    std::vector<std::int64_t> dims = tensor.shape;
    const openvino::Shape shape{static_cast<std::int64_t>(dims.size()), dims.data()};
    if (tensor.type == Type::string) {
      std::vector<const char*> strings;
      for (const std::string& text : tensor.strings) strings.push_back(text.c_str());
      api_.create_strings(strings.data(), strings.size(), shape, result.out());
      return result;
    }
    const int type = openvino::number_of(tensor.type);
    if (type < 0) {
      throw HostError(HostError::model, "'" + tensor.name + "': OpenVINO has no element type " +
                                            std::string(name_of(tensor.type)));
    }
    api_.wrap_tensor(type, shape, tensor.bytes.data(), result.out());
    return result;
  }

  /// A copy of the K-th output of the last run. Its type is string or undefined when it can't be copied.
  Tensor read_output(std::size_t index) const {
    Owned<openvino::OvTensor> value(api_.free_tensor);
    api_.get_output(request_.get(), index, value.out());
    int type = 0;
    api_.tensor_type(value.get(), &type);
    Tensor tensor;
    tensor.type = openvino::type_of(type);
    if (tensor.type == Type::string || tensor.type == Type::undefined) return tensor;
    openvino::Shape shape;
    api_.tensor_shape(value.get(), &shape);
    tensor = make_tensor(output_names_[index], tensor.type, {shape.dims, shape.dims + shape.rank});
    api_.free_shape(&shape);
    std::size_t bytes = 0;
    api_.tensor_bytes(value.get(), &bytes);
    if (bytes != tensor.bytes.size()) {
      throw HostError(HostError::model, "output '" + tensor.name + "' has not the size of its shape");
    }
    void* data = nullptr;
    if (bytes == 0) return tensor;
    api_.tensor_data(value.get(), &data);
    std::memcpy(tensor.bytes.data(), data, bytes);
    return tensor;
  }

  // Destroyed in reverse order: tensors before the request, the request before the model, the core last.
  openvino::Api api_;
  std::string version_;
  double session_ms_ = 0;
  Owned<openvino::Core> core_;
  Owned<openvino::Model> model_;
  Owned<openvino::CompiledModel> compiled_;
  Owned<openvino::InferRequest> request_;

  std::vector<InputDeclaration> inputs_;
  std::vector<std::string> output_names_;
  std::vector<bool> output_is_fixed_;
  std::vector<Buffer> output_memory_;
  std::vector<Owned<openvino::OvTensor>> tensors_;
};

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  using namespace axrun::perf;
  return host_main(
      argc, argv,
      {"openvino_host",
       {{"library", "PATH", "libopenvino_c.so of the wheel (or OPENVINO_LIBRARY in the environment)"}},
       [](const Options& options) { return std::make_unique<OpenVinoEngine>(options); }});
}
