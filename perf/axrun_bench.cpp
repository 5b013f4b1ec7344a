// Runs a model in axrun, in the same program around it as ONNX Runtime's host (perf/host): same command line,
// same inputs, same clock. Outputs are bound after the first run, whose shapes they then have. With --budget
// the optimiser works from the first answer on, and is stopped after so many seconds, before anything is
// timed.
#include <charconv>
#include <chrono>

#include "perf/axrun_values.h"
#include "perf/host/host.h"
#include "runtime/cli/optimiser_report.h"
#include "runtime/cli/optimize.h"
#include "runtime/session.h"
#include "runtime/version.h"

namespace axrun::perf {
namespace {

using runtime::RuntimeValue;
using runtime::Session;

class AxrunEngine final : public Engine {
 public:
  explicit AxrunEngine(const Options& options) {
    const auto begin = std::chrono::steady_clock::now();
    runtime::SessionOptions settings;
    settings.threads = options.threads;
    budget_ = budget_in(options);
    // Nothing of an earlier process, unless that is what is measured.
    const auto cache = options.engine.find("cache");
    settings.use_cache = cache != options.engine.end();
    if (settings.use_cache) settings.cache_dir = cache->second;
    settings.optimize = budget_ > 0 || settings.use_cache;
    const auto tier = options.engine.find("tier");
    if (tier != options.engine.end()) settings.tier = tier_of(tier->second);
    const auto fp = options.engine.find("fp");
    if (fp != options.engine.end()) set_numeric_class(fp->second, settings);
    session_ = translated([&] { return Session::load(options.model, settings); });
    if (settings.optimize && budget_ <= 0) session_->freeze();
    session_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  std::string name() const override { return "axrun"; }
  std::string version() const override { return std::string(runtime::version()); }
  double session_ms() const override { return session_ms_; }

  std::vector<InputDeclaration> inputs() const override { return declarations_of(*session_); }

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

  std::string settle() override {
    if (budget_ <= 0) return Engine::settle();
    cli::Progress silent(false);
    const auto timed_ms = [this] {
      const auto begin = std::chrono::steady_clock::now();
      run();
      return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    };
    std::string line = cli::optimiser_line(cli::optimise(*session_, values_, budget_, timed_ms, silent));
    line.pop_back();
    return line;
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
  /// Seconds; without it there is no optimiser, as what is compared must stay the same.
  static double budget_in(const Options& options) {
    const auto given = options.engine.find("budget");
    if (given == options.engine.end()) return 0;
    const std::string& text = given->second;
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0 && seconds < 1e9))
      throw HostError(HostError::user, "--budget: '" + text + "' is no number of seconds");
    return seconds;
  }

  static void set_numeric_class(const std::string& name, runtime::SessionOptions& settings) {
    settings.deterministic = name == "strict";
    settings.bilinear = name == "bilinear";
    if (!settings.deterministic && !settings.bilinear && name != "reassoc")
      throw HostError(HostError::user, "--fp: '" + name + "' is not strict, reassoc or bilinear");
  }
  static runtime::Tier tier_of(const std::string& name) {
    if (name == "reference") return runtime::Tier::reference;
    if (name == "fallback") return runtime::Tier::fallback;
    if (name == "auto") return runtime::Tier::automatic;
    throw HostError(HostError::user, "--tier: '" + name + "' is not reference, fallback or auto");
  }

  std::unique_ptr<Session> session_;
  double session_ms_ = 0;
  double budget_ = 0;
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
                    {{"tier", "NAME", "reference, fallback or auto (auto)"},
                     {"fp", "CLASS", "strict, reassoc or bilinear (reassoc)"},
                     {"cache", "DIR", "start from what is kept there, and keep what is found"},
                     {"budget", "S", "seconds for the optimiser before runs are timed (0: there is none)"}},
                    [](const Options& options) { return std::make_unique<AxrunEngine>(options); }});
}
