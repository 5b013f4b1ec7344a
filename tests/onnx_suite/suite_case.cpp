#include "tests/onnx_suite/suite_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "ir/error.h"
#include "onnx_import/import.h"
#include "onnx_import/tensor_file.h"
#include "tests/onnx_suite/derived_bound.h"
#include "tests/onnx_suite/random_check.h"
#include "tests/onnx_suite/stored_mistakes.h"

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;
using runtime::RuntimeValue;

/// A case may have its own in a file `tolerance`: relative, then absolute.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

Tolerance tolerance_of(const fs::path& folder) {
  Tolerance tolerance;
  std::ifstream(folder / "tolerance") >> tolerance.relative >> tolerance.absolute;
  return tolerance;
}

RuntimeValue value_of(const onnx_import::DataValue& data) {
  std::vector<RuntimeValue> items;
  for (const auto& element : data.elements) items.push_back(value_of(element));
  switch (data.kind) {
    case ir::ValueKind::sequence:
      return RuntimeValue::sequence(std::move(items));
    case ir::ValueKind::optional:
      return RuntimeValue::optional(std::move(items));
    default:
      return RuntimeValue(data.tensor);
  }
}

/// Why the tensors differ; empty when they agree.
std::string difference(const ir::Tensor& got, const ir::Tensor& want, const Tolerance& tolerance,
                       bool types_only) {
  if (got.type() != want.type() || got.shape() != want.shape()) {
    return fmt::format("{} {}, expected {} {}", ir::name_of(got.type()), ir::to_string(got.shape()),
                       ir::name_of(want.type()), ir::to_string(want.shape()));
  }
  if (types_only) return {};
  for (int64_t i = 0; i < want.size(); ++i) {
    if (want.type() == ir::ElementType::string) {
      if (got.strings()[i] != want.strings()[i])
        return fmt::format("element {} is '{}', expected '{}'", i, got.strings()[i], want.strings()[i]);
      continue;
    }
    if (!ir::is_float(want.type())) {
      if (got.get_int(i) != want.get_int(i))
        return fmt::format("element {} is {}, expected {}", i, got.get_int(i), want.get_int(i));
      continue;
    }
    const double g = got.get_real(i), w = want.get_real(i);
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    if (!(std::fabs(g - w) <= tolerance.absolute + tolerance.relative * std::fabs(w)) || std::isinf(w)) {
      return fmt::format("element {} is {}, expected {}", i, g, w);
    }
  }
  return {};
}

std::string difference(const RuntimeValue& got, const RuntimeValue& want, const Tolerance& tolerance,
                       bool types_only) {
  if (want.kind == ir::ValueKind::tensor) {
    if (got.kind != ir::ValueKind::tensor || !got.tensor.defined()) return "not a tensor";
    return difference(got.tensor, want.tensor, tolerance, types_only);
  }
  if (got.kind != want.kind && want.kind == ir::ValueKind::optional && want.items->size() == 1) {
    return difference(got, (*want.items)[0], tolerance, types_only);
  }
  if (got.kind != want.kind || !got.items) return "another kind of value";
  if (got.items->size() != want.items->size()) {
    return fmt::format("{} elements, expected {}", got.items->size(), want.items->size());
  }
  for (size_t k = 0; k < want.items->size(); ++k) {
    const std::string why = difference((*got.items)[k], (*want.items)[k], tolerance, types_only);
    if (!why.empty()) return fmt::format("element {}: {}", k, why);
  }
  return {};
}

/// True when the outputs come from a random generator that no specification fixes.
bool is_random(const ir::Graph& graph) {
  static const std::set<std::string> generators = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                                   "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node& node) {
    if (generators.count(node.op) > 0) return true;
    if (node.op != "Dropout" || node.version < 12 || node.inputs.size() < 3 || node.inputs[2] == ir::absent)
      return false;
    const ir::Tensor& training = graph.value(node.inputs[2]).constant;
    const ir::Tensor ratio =
        node.inputs[1] == ir::absent ? ir::Tensor() : graph.value(node.inputs[1]).constant;
    const bool never = ratio.defined() && ratio.get_real(0) == 0;
    return !never && (!training.defined() || training.get_int(0) != 0);
  });
}

/// input_K.pb or output_K.pb of a data set, as the graph's kinds say. A file may be missing or empty: not
/// present.
std::vector<RuntimeValue> read_values(const fs::path& folder, const std::string& prefix,
                                      const std::vector<runtime::Port>& ports) {
  std::vector<RuntimeValue> values(ports.size());
  for (size_t k = 0; k < ports.size(); ++k) {
    const fs::path file = folder / fmt::format("{}_{}.pb", prefix, k);
    if (!fs::exists(file)) continue;
    values[k] = value_of(onnx_import::read_value_file(file.string(), ports[k].kind));
    // The suite stores bf16 as its bits.
    ir::Tensor& tensor = values[k].tensor;
    if (ports[k].type == ir::ElementType::bf16 && tensor.type() == ir::ElementType::u16) {
      const auto owner = std::make_shared<ir::Tensor>(tensor);
      values[k] =
          RuntimeValue(ir::Tensor::borrow(ir::ElementType::bf16, tensor.shape(), owner->data(), owner));
    }
  }
  return values;
}

/// "node", domain, operator, opset version and type of the first tensor it reads (else writes), for every
/// node.
std::string nodes_text(const ir::Graph& graph) {
  std::string text;
  for (const ir::Node& node : graph.nodes) {
    ir::ElementType type = ir::ElementType::undefined;
    for (const auto& values : {node.inputs, node.outputs}) {
      for (const ir::ValueId id : values) {
        if (id == ir::absent || type != ir::ElementType::undefined) continue;
        const ir::Value& value = graph.value(id);
        type = value.constant.defined() ? value.constant.type() : value.type;
      }
    }
    text += fmt::format("node\t{}\t{}\t{}\t{}\n", node.domain, node.op, node.version, ir::name_of(type));
  }
  return text;
}

/// "kernel", operators joined by "+", and what they run on, for every step of a profile.
std::string kernels_text(const runtime::Session& session) {
  std::string text;
  for (const runtime::StepProfile& step : session.profile()) {
    const bool interpreted = step.kernel.starts_with("interpreter");
    text += fmt::format("kernel\t{}\t{}\n", step.op,
                        !step.proof.empty() ? "generated"
                        : interpreted       ? "interpreted"
                                            : "precompiled");
  }
  return text;
}

/// Runs the session until nothing is left that could be swapped in.
void swap_everything(runtime::Session& session, const std::vector<RuntimeValue>& inputs) {
  constexpr double patience = 120;
  for (int k = 0; k < 2; ++k) session.run(inputs);
  if (!session.wait_for_optimizer(patience)) throw std::runtime_error("the optimiser came to no end");
}

}  // namespace

std::vector<std::string> find_cases(const std::string& root) {
  std::vector<std::string> folders;
  if (!fs::exists(root)) return folders;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() == "model.onnx") folders.push_back(entry.path().parent_path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

bool is_packaged(const std::string& folder) { return folder.starts_with("/usr/share/libonnx-testdata/"); }

CaseResult run_case(const std::string& folder, Answering answering, bool with_evidence) {
  CaseResult result;
  result.name = fs::path(folder).filename().string();
  const StoredMistake* mistake = is_packaged(folder) ? find_mistake(result.name) : nullptr;
  if (mistake != nullptr) {
    result.outcome = Outcome::contradictory;
    result.why = mistake->what;
  }
  try {
    runtime::SessionOptions options;
    using runtime::Tier;
    options.tier = answering == Answering::reference  ? Tier::reference
                   : answering == Answering::fallback ? Tier::fallback
                                                      : Tier::automatic;
    options.threads = 1;
    options.profile = with_evidence;
    // The session may fold the generator: the file says.
    ir::Model model = onnx_import::import_file(folder + "/model.onnx");
    const auto graph = std::make_shared<ir::Graph>(*model.graph);
    if (mistake != nullptr && mistake->model != nullptr) mistake->model(*model.graph);
    const auto session = runtime::Session::load_model(std::move(model), options);
    const bool random = is_random(*graph);
    if (with_evidence) {
      onnx_import::ImportOptions as_written;
      as_written.check_operators = false;
      result.evidence = nodes_text(*onnx_import::import_file(folder + "/model.onnx", as_written).graph);
    }
    if (random) result.outcome = Outcome::random;
    const Tolerance tolerance = tolerance_of(folder);
    for (int set = 0;; ++set) {
      const fs::path data = fs::path(folder) / fmt::format("test_data_set_{}", set);
      if (!fs::exists(data)) break;
      const auto want = read_values(data, "output", session->outputs());
      auto inputs = read_values(data, "input", session->inputs());
      if (mistake != nullptr && mistake->inputs != nullptr) mistake->inputs(inputs);
      if (answering == Answering::generated) swap_everything(*session, inputs);
      if (with_evidence) session->reset_profile();
      auto got = session->run(inputs);
      if (mistake != nullptr && mistake->answer != nullptr) mistake->answer(inputs, got[0].tensor);
      if (random) {
        const auto has = [&](const char* op) {
          return std::any_of(graph->nodes.begin(), graph->nodes.end(),
                             [&](const ir::Node& node) { return node.op == op; });
        };
        const Draws draws = has("Dropout")   ? Draws::dropout
                            : has("Greater") ? Draws::above
                                             : Draws::bernoulli;
        result.why = random_mistake(folder + "/model.onnx", options, draws, inputs);
        if (!result.why.empty()) {
          result.outcome = Outcome::wrong;
          return result;
        }
      }
      if (with_evidence && set == 0) result.evidence += kernels_text(*session);
      if (answering == Answering::generated) {
        const runtime::OptimizerStatus status = session->optimizer_status();
        result.generated += status.swapped;
        result.steps += status.steps;
      }
      for (size_t k = 0; k < want.size(); ++k) {
        if (!want[k].present()) continue;
        const std::string why = difference(got[k], want[k], tolerance, random);
        if (why.empty()) continue;
        result.why = fmt::format("output {}: {}", k, why);
        const bool same_form = want[k].tensor.defined() && got[k].tensor.defined() &&
                               got[k].tensor.type() == want[k].tensor.type() &&
                               got[k].tensor.shape() == want[k].tensor.shape();
        if (same_form && ir::is_float(want[k].tensor.type())) {
          const DerivedBound bound = derived_bound(folder, inputs, k, got[k].tensor, want[k].tensor);
          if (bound.why_none.empty() && bound.outside.empty()) {
            result.outcome = Outcome::bounded;
            result.why +=
                fmt::format("; ours uses {:.2f} of its bound of {:.2g}, the stored one {:.2f} of {:.2g}",
                            bound.ours.share, bound.ours.bound, bound.stored.share, bound.stored.bound);
            continue;
          }
          result.why += bound.outside.empty() ? "; no bound: " + bound.why_none : "; " + bound.outside;
        }
        result.outcome = Outcome::wrong;
        return result;
      }
    }
  } catch (const Error& error) {
    result.outcome = error.fault() == Fault::unsupported ? Outcome::refused : Outcome::failed;
    result.why = error.what();
  } catch (const std::exception& error) {
    result.outcome = Outcome::failed;
    result.why = error.what();
  }
  return result;
}

}  // namespace axrun::tests
