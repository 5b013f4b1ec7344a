// Runs a model in ONNX Runtime's CPU provider: the peer that axrun is measured against. With --plugin, in a
// plugin execution provider first, such as ours.
//
// Its settings are what a user who wants speed would choose: all graph optimisations, one sequential
// executor, the thread count of the measurement, and inputs and outputs bound to fixed memory. Everything
// else is ONNX Runtime's default (memory arena, memory pattern, spinning workers).
#include <chrono>
#include <cstring>
#include <tuple>
#include <utility>

#include "perf/host/host.h"
#include "perf/ort_abi.h"
#include "perf/ort_plugin.h"

namespace axrun::perf {
namespace {

using ort::Owned;

class OrtEngine final : public Engine {
 public:
  explicit OrtEngine(const Options& options)
      : api_(library_path(options, "ORT_LIBRARY", "libonnxruntime.so")),
        env_(api_, ort::release_env),
        plugin_(api_, env_),
        session_(api_, ort::release_session),
        binding_(api_, ort::release_io_binding) {
    api_.call(ort::create_env, ort::log_error, "ort_host", env_.out());
    api_.call(ort::default_allocator, &allocator_);
    const auto plugin = options.engine.find("plugin");
    if (plugin != options.engine.end()) plugin_.add(plugin->second);
    create_session(options);
    read_declarations();
  }

  std::string name() const override { return "onnxruntime"; }
  std::string version() const override { return api_.version(); }
  double session_ms() const override { return session_ms_; }
  std::vector<InputDeclaration> inputs() const override { return inputs_; }

  void bind(const std::vector<Tensor>& inputs) override {
    for (const Tensor& tensor : inputs) {
      input_values_.push_back(to_value(tensor));
      input_pointers_.push_back(input_values_.back().get());
    }
    output_pointers_.assign(output_names_.size(), nullptr);
    for (std::size_t k = 0; k < output_names_.size(); ++k)
      output_values_.emplace_back(api_, ort::release_value);
  }

  void run() override {
    if (bound_) {
      api_.call(ort::run_with_binding, session_.get(), nullptr, binding_.get());
    } else {
      run_unbound();
    }
  }

  /// ONNX Runtime allocated the outputs of the first run. Their shapes are now known, also where the model
  /// declares none, and the later runs write into the same memory. Only values that are no plain tensors
  /// can't be bound.
  void after_first_run() override {
    for (const Owned<ort::Value>& value : output_values_) {
      if (kind_of(value.get()) != "tensor" || element_type_of(value.get()) == Type::string) return;
    }
    api_.call(ort::create_io_binding, session_.get(), binding_.out());
    for (std::size_t k = 0; k < input_pointers_.size(); ++k) {
      api_.call(ort::bind_input, binding_.get(), input_names_[k], input_pointers_[k]);
    }
    for (std::size_t k = 0; k < output_values_.size(); ++k) {
      api_.call(ort::bind_output, binding_.get(), output_name_pointers_[k], output_values_[k].get());
    }
    try {
      api_.call(ort::run_with_binding, session_.get(), nullptr, binding_.get());
      bound_ = true;
    } catch (const HostError&) {
      binding_.reset();
    }
  }

  std::vector<Output> outputs() override {
    std::vector<Output> outputs;
    for (std::size_t k = 0; k < output_names_.size(); ++k) {
      Output output{output_names_[k], kind_of(output_values_[k].get()), {}};
      if (output.kind == "tensor") output.tensor = to_tensor(output_names_[k], output_values_[k].get());
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

 private:
  void create_session(const Options& options) {
    const auto begin = std::chrono::steady_clock::now();
    Owned<ort::SessionOptions> settings(api_, ort::release_session_options);
    api_.call(ort::create_session_options, settings.out());
    api_.call(ort::set_optimization_level, settings.get(), ort::optimize_all);
    api_.call(ort::set_execution_mode, settings.get(), ort::sequential);
    api_.call(ort::set_intra_op_threads, settings.get(), options.threads);
    api_.call(ort::set_inter_op_threads, settings.get(), 1);
    const auto chosen = options.engine.find("plugin-options");
    plugin_.choose(settings.get(), chosen == options.engine.end() ? "" : chosen->second);
    api_.call(ort::create_session, env_.get(), options.model.c_str(), settings.get(), session_.out());
    session_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  void read_declarations() {
    std::size_t count = 0;
    api_.call(ort::session_input_count, session_.get(), &count);
    for (std::size_t k = 0; k < count; ++k) inputs_.push_back(declaration(k));
    for (const InputDeclaration& input : inputs_) input_names_.push_back(input.name.c_str());
    api_.call(ort::session_output_count, session_.get(), &count);
    for (std::size_t k = 0; k < count; ++k)
      output_names_.push_back(name_of_value(ort::session_output_name, k));
    for (const std::string& name : output_names_) output_name_pointers_.push_back(name.c_str());
  }

  template <class Function>
  std::string name_of_value(const Function& function, std::size_t index) {
    char* text = nullptr;
    api_.call(function, session_.get(), index, allocator_, &text);
    std::string name = text;
    api_.call(ort::allocator_free, allocator_, static_cast<void*>(text));
    return name;
  }

  InputDeclaration declaration(std::size_t index) {
    InputDeclaration input;
    input.name = name_of_value(ort::session_input_name, index);
    Owned<ort::TypeInfo> info(api_, ort::release_type_info);
    api_.call(ort::session_input_type, session_.get(), index, info.out());
    int kind = 0;
    api_.call(ort::onnx_type_of_info, info.get(), &kind);
    if (kind != ort::onnx_tensor) {
      throw HostError(HostError::model, "input '" + input.name + "' is not a tensor");
    }
    const ort::TensorInfo* tensor = nullptr;  // owned by info
    api_.call(ort::as_tensor_info, info.get(), &tensor);
    std::tie(input.type, input.shape) = type_and_shape(tensor);
    std::vector<const char*> names(input.shape.size());
    api_.call(ort::symbolic_dims, tensor, names.data(), names.size());
    for (const char* name : names) input.dim_names.emplace_back(name ? name : "");
    return input;
  }

  std::pair<Type, std::vector<std::int64_t>> type_and_shape(const ort::TensorInfo* info) const {
    int type = 0;
    std::size_t rank = 0;
    api_.call(ort::element_type, info, &type);
    api_.call(ort::dim_count, info, &rank);
    std::vector<std::int64_t> shape(rank);
    api_.call(ort::get_dims, info, shape.data(), rank);
    return {static_cast<Type>(type), std::move(shape)};
  }

  /// A value over the tensor's own memory; strings are copied.
  Owned<ort::Value> to_value(const Tensor& tensor) {
    Owned<ort::Value> value(api_, ort::release_value);
    const int type = static_cast<int>(tensor.type);
    if (tensor.type == Type::string) {
      std::vector<const char*> strings;
      for (const std::string& text : tensor.strings) strings.push_back(text.c_str());
      api_.call(ort::create_tensor, allocator_, tensor.shape.data(), tensor.shape.size(), type, value.out());
      api_.call(ort::fill_strings, value.get(), strings.data(), strings.size());
      return value;
    }
    Owned<ort::MemoryInfo> memory(api_, ort::release_memory_info);
    api_.call(ort::create_cpu_memory_info, ort::arena_allocator, ort::default_memory, memory.out());
    api_.call(ort::wrap_tensor, memory.get(), static_cast<void*>(tensor.bytes.data()), tensor.bytes.size(),
              tensor.shape.data(), tensor.shape.size(), type, value.out());
    return value;
  }

  std::string kind_of(const ort::Value* value) const {
    int kind = 0;
    api_.call(ort::onnx_type_of_value, value, &kind);
    switch (kind) {
      case ort::onnx_tensor:
        return "tensor";
      case ort::onnx_sequence:
        return "sequence";
      case ort::onnx_map:
        return "map";
      case ort::onnx_optional:
        return "optional";
      default:
        return "other";
    }
  }

  Type element_type_of(const ort::Value* value) const {
    Owned<ort::TensorInfo> info(api_, ort::release_tensor_info);
    api_.call(ort::tensor_info, value, info.out());
    return type_and_shape(info.get()).first;
  }

  Tensor to_tensor(const std::string& name, ort::Value* value) const {
    Owned<ort::TensorInfo> info(api_, ort::release_tensor_info);
    api_.call(ort::tensor_info, value, info.out());
    auto [type, shape] = type_and_shape(info.get());
    Tensor tensor = make_tensor(name, type, std::move(shape));
    if (type == Type::string) {
      for (std::size_t k = 0; k < tensor.strings.size(); ++k) {
        std::size_t length = 0;
        api_.call(ort::string_length, value, k, &length);
        tensor.strings[k].resize(length);
        api_.call(ort::string_content, value, length, k, static_cast<void*>(tensor.strings[k].data()));
      }
      return tensor;
    }
    void* data = nullptr;
    api_.call(ort::tensor_data, value, &data);
    if (tensor.bytes.size() > 0) std::memcpy(tensor.bytes.data(), data, tensor.bytes.size());
    return tensor;
  }

  void run_unbound() {
    // ONNX Runtime writes into values that are not null, and allocates the others.
    for (Owned<ort::Value>& value : output_values_) value.reset();
    output_pointers_.assign(output_pointers_.size(), nullptr);
    api_.call(ort::run, session_.get(), nullptr, input_names_.data(), input_pointers_.data(),
              input_pointers_.size(), output_name_pointers_.data(), output_name_pointers_.size(),
              output_pointers_.data());
    for (std::size_t k = 0; k < output_pointers_.size(); ++k) *output_values_[k].out() = output_pointers_[k];
  }

  // Destroyed in reverse order: values and bindings before the session, the session before what it runs in.
  ort::Api api_;
  Owned<ort::Env> env_;
  ort::Plugin plugin_;
  ort::Allocator* allocator_ = nullptr;  // the library's own, never released
  double session_ms_ = 0;
  Owned<ort::Session> session_;

  std::vector<InputDeclaration> inputs_;
  std::vector<const char*> input_names_;
  std::vector<std::string> output_names_;
  std::vector<const char*> output_name_pointers_;

  std::vector<Owned<ort::Value>> input_values_;
  std::vector<const ort::Value*> input_pointers_;
  std::vector<Owned<ort::Value>> output_values_;
  std::vector<ort::Value*> output_pointers_;
  Owned<ort::IoBinding> binding_;
  bool bound_ = false;
};

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  using namespace axrun::perf;
  return host_main(
      argc, argv,
      {"ort_host",
       {{"library", "PATH", "libonnxruntime.so of the wheel (or ORT_LIBRARY in the environment)"},
        {"plugin", "PATH", "a plugin that nodes are offered to first"},
        {"plugin-options", "KEY=VALUE,...", "its options"}},
       [](const Options& options) { return std::make_unique<OrtEngine>(options); }});
}
