#include "tests/onnx_suite/random_check.h"

#include <fmt/format.h>

#include <cmath>

#include "onnx_import/import.h"

namespace axrun::tests {
namespace {

using ir::Tensor;
using runtime::RuntimeValue;

/// What a run gave where it can be told: 1 for drawn, 0 for not, -1 for an element that shows nothing (0
/// dropped or kept).
using Draw = std::vector<int>;

std::string read_bernoulli(const Tensor& probability, bool above, const std::vector<RuntimeValue>& outputs,
                           Draw& draw) {
  const Tensor& y = outputs[0].tensor;
  for (int64_t i = 0; i < y.size(); ++i) {
    const double value = y.get_real(i), given = probability.get_real(i), p = above ? 1 - given : given;
    if (value != 0 && value != 1) return fmt::format("element {} is {}, neither 0 nor 1", i, value);
    if ((p == 0 && value != 0) || (p == 1 && value != 1)) {
      return fmt::format("element {} is {} with probability {}", i, value, p);
    }
    draw.push_back(value != 0 ? 1 : 0);
  }
  return {};
}

std::string read_dropout(const Tensor& x, double ratio, const std::vector<RuntimeValue>& outputs,
                         Draw& draw) {
  const Tensor& y = outputs[0].tensor;
  const bool with_mask = outputs.size() > 1 && outputs[1].tensor.defined();
  constexpr double rounding = 1e-6;
  for (int64_t i = 0; i < y.size(); ++i) {
    const double value = y.get_real(i), kept = x.get_real(i) / (1 - ratio);
    const bool is_kept = std::fabs(value - kept) <= rounding * std::fabs(kept);
    if (!is_kept && value != 0) return fmt::format("element {} is {}, neither 0 nor {}", i, value, kept);
    int drawn = kept == 0 ? -1 : is_kept ? 1 : 0;
    if (with_mask) {
      const int mask = outputs[1].tensor.get_int(i) != 0 ? 1 : 0;
      if (drawn >= 0 && drawn != mask) return fmt::format("element {} of the mask does not fit {}", i, value);
      drawn = mask;
    }
    draw.push_back(drawn);
  }
  return {};
}

/// The ratio, which is input 1 or 0.5.
double ratio_of(const runtime::Session& session, const std::vector<RuntimeValue>& inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto& port = session.inputs()[k];
    if (k > 0 && ir::is_float(port.type) && inputs[k].tensor.size() == 1) return inputs[k].tensor.get_real(0);
  }
  return 0.5;
}

}  // namespace

std::string random_mistake(const std::string& model, const runtime::SessionOptions& options, Draws draws,
                           std::vector<RuntimeValue> inputs) {
  constexpr int64_t repeated = 1000;
  const bool dropout = draws == Draws::dropout;
  ir::Model larger = onnx_import::import_file(model);
  larger.graph = std::make_shared<ir::Graph>(*larger.graph);
  const Tensor x = runtime::concatenate(std::vector<Tensor>(repeated, inputs[0].tensor), 0);
  larger.graph->value(larger.graph->inputs[0]).dims = ir::to_dims(x.shape());
  inputs[0] = RuntimeValue(x);
  const auto session = runtime::Session::load_model(std::move(larger), options);
  const double ratio = dropout ? ratio_of(*session, inputs) : 0;
  const std::vector<RuntimeValue> outputs = session->run(inputs);
  Draw draw;
  const std::string why = dropout ? read_dropout(x, ratio, outputs, draw)
                                  : read_bernoulli(x, draws == Draws::above, outputs, draw);
  if (!why.empty()) return why;
  double drawn = 0, expected = 0, variance = 0;
  for (size_t i = 0; i < draw.size(); ++i) {
    if (draw[i] < 0) continue;
    const double given = dropout ? ratio : x.get_real(static_cast<int64_t>(i));
    const double p = draws == Draws::bernoulli ? given : 1 - given;
    drawn += draw[i];
    expected += p;
    variance += p * (1 - p);
  }
  constexpr double deviations = 6;
  if (std::fabs(drawn - expected) <= deviations * std::sqrt(variance)) return {};
  return fmt::format("{} of {} were drawn, {:.1f} expected, with a deviation of {:.1f}", drawn, draw.size(),
                     expected, std::sqrt(variance));
}

}  // namespace axrun::tests
