#include "perf/generated/model_step.h"

#include <utility>

#include "ir/error.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/plan/plan.h"
#include "runtime/session.h"

namespace axrun::perf {
namespace {

double operations(const ir::Program& program) {
  double sum = 0;
  for (const ir::Stage& stage : program.stages) {
    if (stage.reduce_axes.empty()) continue;
    double terms = 2;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const ir::Axis& axis : *axes) terms *= static_cast<double>(axis.extent.value());
    }
    sum += terms;
  }
  return sum;
}

}  // namespace

std::optional<GeneratedCase> model_step_case(const std::string& name) {
  const std::string word = "step:";
  const size_t end = name.find(':', word.size());
  if (!name.starts_with(word) || end == std::string::npos) return std::nullopt;
  const std::string node = name.substr(word.size(), end - word.size());
  runtime::SessionOptions options;
  options.threads = 1;
  options.tier = runtime::Tier::fallback;
  const auto session = runtime::Session::load(name.substr(end + 1), options);
  std::vector<runtime::RuntimeValue> inputs;
  std::vector<ir::Shape> shapes;
  for (const runtime::Port& input : session->inputs()) {
    ir::Shape shape;
    for (const ir::Dim& dim : input.dims.value()) shape.push_back(dim.is_constant() ? dim.value() : 1);
    inputs.emplace_back(ir::Tensor::allocate(input.type, shape));
    shapes.push_back(std::move(shape));
  }
  session->run(inputs);
  const auto plan = session->current_plan(shapes);
  const ir::Inference facts = runtime::facts_of(*plan);
  for (const runtime::Step& step : plan->steps()) {
    if (step.work->node->name != node) continue;
    std::string reason;
    auto expression = runtime::express(facts, step, reason);
    if (!expression) throw Error(Fault::unsupported, name + ": " + reason);
    GeneratedCase one;
    one.name = node;
    one.constant = expression->constant;
    one.flops = operations(expression->program);
    one.make = [program = std::move(expression->program)] { return program; };
    return one;
  }
  throw Error(Fault::user, name + ": no step begins with this node");
}

}  // namespace axrun::perf
