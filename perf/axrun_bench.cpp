// Runs a model in axrun, in the same program around it as ONNX Runtime's host (perf/host): same command line,
// same inputs, same clock. Outputs are bound after the first run, whose shapes they then have.
#include <chrono>
#include <cstring>
#include <utility>

#include "ir/error.h"
#include "perf/host/host.h"
#include "runtime/session.h"
#include "runtime/version.h"

namespace axrun::perf {
namespace {

using runtime::RuntimeValue;
using runtime::Session;

/// perf's element types and axrun's, both ways. Types of either side that the other lacks are left out.
constexpr std::pair<Type, ir::ElementType> types[] = {
    {Type::float32, ir::ElementType::f32},
    {Type::uint8, ir::ElementType::u8},
    {Type::int8, ir::ElementType::i8},
    {Type::uint16, ir::ElementType::u16},
    {Type::int16, ir::ElementType::i16},
    {Type::int32, ir::ElementType::i32},
    {Type::int64, ir::ElementType::i64},
    {Type::string, ir::ElementType::string},
    {Type::boolean, ir::ElementType::boolean},
    {Type::float16, ir::ElementType::f16},
    {Type::float64, ir::ElementType::f64},
    {Type::uint32, ir::ElementType::u32},
    {Type::uint64, ir::ElementType::u64},
    {Type::bfloat16, ir::ElementType::bf16},
    {Type::float8e4m3fn, ir::ElementType::f8e4m3fn},
    {Type::float8e4m3fnuz, ir::ElementType::f8e4m3fnuz},
    {Type::float8e5m2, ir::ElementType::f8e5m2},
    {Type::float8e5m2fnuz, ir::ElementType::f8e5m2fnuz},
    {Type::uint4, ir::ElementType::u4},
    {Type::int4, ir::ElementType::i4},
};

Type type_of(ir::ElementType type) {
  for (const auto& [outside, inside] : types) {
    if (inside == type) return outside;
  }
  return Type::undefined;
}

ir::ElementType type_of(Type type) {
  for (const auto& [outside, inside] : types) {
    if (outside == type) return inside;
  }
  return ir::ElementType::undefined;
}

/// axrun's failures with the exit code that they have there.
template <class Body>
auto translated(Body body) {
  try {
    return body();
  } catch (const Error& error) {
    constexpr int internal_error = 70;
    const bool of_model = error.fault() == Fault::model || error.fault() == Fault::unsupported;
    throw HostError(error.fault() == Fault::user ? HostError::user
                    : of_model                   ? HostError::model
                                                 : internal_error,
                    error.what());
  }
}

/// The tensor over the same memory; strings are copied, and 4-bit elements unpacked to one per byte.
ir::Tensor to_axrun(const Tensor& tensor) {
  const ir::ElementType type = type_of(tensor.type);
  if (tensor.type == Type::string) return ir::Tensor::from_strings(tensor.shape, tensor.strings);
  if (ir::bits_of(type) != 4) return ir::Tensor::borrow(type, tensor.shape, tensor.bytes.data());
  ir::Tensor unpacked = ir::Tensor::allocate(type, tensor.shape);
  for (int64_t k = 0; k < unpacked.size(); ++k) {
    const auto pair = static_cast<uint8_t>(tensor.bytes.data()[k / 2]);
    const int nibble = k % 2 == 0 ? pair & 15 : pair >> 4;
    unpacked.set_int(k, type == ir::ElementType::i4 && nibble >= 8 ? nibble - 16 : nibble);
  }
  return unpacked;
}

Tensor to_host(const std::string& name, const ir::Tensor& tensor) {
  Tensor result = make_tensor(name, type_of(tensor.type()), tensor.shape());
  if (tensor.type() == ir::ElementType::string) {
    result.strings.assign(tensor.strings(), tensor.strings() + tensor.size());
  } else if (ir::bits_of(tensor.type()) == 4) {
    std::memset(result.bytes.data(), 0, result.bytes.size());
    for (int64_t k = 0; k < tensor.size(); ++k) {
      const auto nibble = static_cast<uint8_t>(tensor.get_int(k) & 15);
      result.bytes.data()[k / 2] |= static_cast<std::byte>(k % 2 == 0 ? nibble : nibble << 4);
    }
  } else if (tensor.bytes() > 0) {
    std::memcpy(result.bytes.data(), tensor.data(), tensor.bytes());
  }
  return result;
}

class AxrunEngine final : public Engine {
 public:
  explicit AxrunEngine(const Options& options) {
    const auto begin = std::chrono::steady_clock::now();
    runtime::SessionOptions settings;
    settings.threads = options.threads;
    const auto tier = options.engine.find("tier");
    if (tier != options.engine.end()) settings.tier = tier_of(tier->second);
    session_ = translated([&] { return Session::load(options.model, settings); });
    session_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  std::string name() const override { return "axrun"; }
  std::string version() const override { return std::string(runtime::version()); }
  double session_ms() const override { return session_ms_; }

  std::vector<InputDeclaration> inputs() const override {
    std::vector<InputDeclaration> declarations;
    for (const runtime::Port& port : session_->inputs()) {
      if (port.kind != ir::ValueKind::tensor || !port.dims) {
        throw HostError(HostError::model, "input '" + port.name + "' is not a tensor of known rank");
      }
      InputDeclaration declaration{port.name, type_of(port.type), {}, {}};
      for (const ir::Dim& dim : *port.dims) {
        declaration.shape.push_back(dim.constant().value_or(-1));
        declaration.dim_names.push_back(dim.is_constant() ? "" : dim.to_string());
      }
      declarations.push_back(std::move(declaration));
    }
    return declarations;
  }

  void bind(const std::vector<Tensor>& inputs) override {
    for (const Tensor& tensor : inputs) {
      inputs_.push_back(to_axrun(tensor));
      values_.emplace_back(inputs_.back());
    }
  }

  void run() override {
    translated([&] {
      if (bound_) {
        session_->run_into(inputs_, outputs_);
      } else {
        results_ = session_->run(values_);
      }
    });
  }

  void after_first_run() override {
    for (const RuntimeValue& result : results_) {
      if (result.kind != ir::ValueKind::tensor || result.type == ir::ElementType::string) return;
    }
    for (const RuntimeValue& result : results_) outputs_.push_back(result.tensor.clone());
    bound_ = true;
  }

  std::vector<Output> outputs() override {
    std::vector<Output> outputs;
    for (size_t k = 0; k < session_->outputs().size(); ++k) {
      const std::string& name = session_->outputs()[k].name;
      const bool tensor = bound_ || results_[k].kind == ir::ValueKind::tensor;
      Output output{name, tensor ? "tensor" : "other", {}};
      if (tensor) output.tensor = to_host(name, bound_ ? outputs_[k] : results_[k].tensor);
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

 private:
  static runtime::Tier tier_of(const std::string& name) {
    if (name == "reference") return runtime::Tier::reference;
    if (name == "fallback") return runtime::Tier::fallback;
    if (name == "auto") return runtime::Tier::automatic;
    throw HostError(HostError::user, "--tier: '" + name + "' is not reference, fallback or auto");
  }

  std::unique_ptr<Session> session_;
  double session_ms_ = 0;
  std::vector<ir::Tensor> inputs_, outputs_;
  std::vector<RuntimeValue> values_, results_;
  bool bound_ = false;
};

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  using namespace axrun::perf;
  return host_main(argc, argv,
                   {"axrun_bench",
                    {{"tier", "NAME", "reference, fallback or auto (auto)"}},
                    [](const Options& options) { return std::make_unique<AxrunEngine>(options); }});
}
