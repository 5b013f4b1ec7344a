#include "tests/fuzz/graphs/trial.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ir/error.h"
#include "onnx_import/export.h"
#include "onnx_import/import.h"
#include "onnx_import/tensor_file.h"
#include "runtime/session.h"
#include "tests/fuzz/graphs/unread.h"

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;
using runtime::RuntimeValue;
using runtime::Session;
using Values = std::vector<RuntimeValue>;

template <class Run>
Outcome outcome_of(const Run& run) {
  Outcome outcome;
  try {
    outcome.values = run();
  } catch (const Error& error) {
    outcome.refusal = error.what();
    outcome.internal = error.fault() == Fault::internal;
  } catch (const std::exception& error) {
    outcome.refusal = std::string("an exception that is no error of ours: ") + error.what();
    outcome.internal = true;
  }
  return outcome;
}

/// A session, or why there is none.
struct Tier {
  std::unique_ptr<Session> session;
  Outcome refusal;

  Tier(const std::string& bytes, runtime::Tier tier) {
    runtime::SessionOptions options;
    options.threads = 1;
    options.tier = tier;
    options.use_cache = false;
    options.memory_limit = int64_t{1} << 28;
    refusal = outcome_of([&] {
      session = Session::load_memory(bytes.data(), bytes.size(), options);
      return Values();
    });
  }
  Outcome run(const Values& inputs) {
    return session ? outcome_of([&] { return session->run(inputs); }) : refusal;
  }
};

/// Whether the node that refuses in the reference, be it in a body, does so here, too, when its results are
/// wanted: else they decide nothing (only their sizes are asked for), and it need not run.
bool refuses_when_wanted(const GrownModel& grown, const Values& inputs, const std::string& refusal) {
  GrownModel wanted = grown;
  wanted.model.graph = std::make_shared<ir::Graph>(*grown.model.graph);
  const Shown shown = show_refusing(*wanted.model.graph, refusal);
  if (shown.results.empty()) return false;
  wanted.model.graph->outputs = shown.results;
  const Outcome outcome = Tier(onnx_import::export_memory(wanted.model), runtime::Tier::fallback).run(inputs);
  return outcome.refusal.find("'" + shown.node + "'") != std::string::npos;
}

std::vector<onnx_import::DataValue> data_of(const Values& values);
onnx_import::DataValue data_of(const RuntimeValue& value) {
  onnx_import::DataValue data;
  data.kind = value.kind;
  data.tensor = value.tensor;
  if (value.items) data.elements = data_of(*value.items);
  return data;
}
std::vector<onnx_import::DataValue> data_of(const Values& values) {
  std::vector<onnx_import::DataValue> all;
  for (const RuntimeValue& value : values) all.push_back(data_of(value));
  return all;
}

bool holds_maps(const RuntimeValue& value) {
  return value.kind == ir::ValueKind::map ||
         (value.items && std::any_of(value.items->begin(), value.items->end(), holds_maps));
}

/// Maps are left out.
void write_values(const fs::path& folder, const std::string& prefix, const Values& values) {
  fs::create_directories(folder);
  for (size_t k = 0; k < values.size(); ++k) {
    if (holds_maps(values[k]) || !values[k].present()) continue;
    onnx_import::write_value_file((folder / (prefix + "_" + std::to_string(k) + ".pb")).string(),
                                  data_of(values[k]));
  }
}

Values read_inputs(const fs::path& folder, size_t count) {
  Values values;
  for (size_t k = 0; k < count; ++k) {
    const fs::path file = folder / ("input_" + std::to_string(k) + ".pb");
    if (fs::exists(file)) values.emplace_back(onnx_import::read_tensor_file(file.string()).tensor);
  }
  return values;
}

}  // namespace

const Judgement* Trial::fault() const {
  for (const Judgement& run : runs) {
    if (run.verdict == Verdict::different) return &run;
  }
  return nullptr;
}

Trial try_model(const GrownModel& grown, Answering answering, bool tests_judge) {
  Trial trial;
  const std::string bytes = onnx_import::export_memory(grown.model);
  Tier reference(bytes, runtime::Tier::reference);
  const bool optimized = answering == Answering::optimized;
  Tier other(bytes, optimized ? runtime::Tier::automatic : runtime::Tier::fallback);
  const bool has_others = grown.other_inputs.size() == grown.inputs.size();
  if (optimized && other.session) {
    constexpr double patience = 60;
    for (int k = 0; k < 2; ++k) other.run(grown.inputs);
    if (!other.session->wait_for_optimizer(patience))
      trial.runs.push_back({Verdict::different, "the optimiser came to no end"});
  }
  const auto imported = reference.session ? reference.session->model().graph : grown.model.graph;
  const auto compare = [&](const Outcome& want, const Values& inputs) {
    Roundings roundings(*imported, inputs);
    const Outcome got = other.run(inputs);
    Judgement judgement = judge(want, got, roundings);
    const bool may_be_skipped = judgement.verdict == Verdict::different && want.refused() && !got.refused();
    if (may_be_skipped && (is_unread(*imported, imported->outputs, want.refusal) ||
                           refuses_when_wanted(grown, inputs, want.refusal)))
      judgement.verdict = Verdict::both_refuse;
    if (tests_judge && judgement.verdict <= Verdict::explained) {
      Outcome wrong = got;
      runtime::Random random(bytes.size());
      if (make_mistake(wrong, random)) {
        ++trial.mistakes;
        trial.noticed += judge(want, wrong, roundings).verdict == Verdict::different ? 1 : 0;
      }
    }
    trial.runs.push_back(std::move(judgement));
    if (trial.runs.back().verdict <= Verdict::explained)
      trial.outputs += static_cast<int>(want.values.size());
  };
  const Outcome want = reference.run(grown.inputs);
  compare(want, grown.inputs);
  if (has_others) compare(reference.run(grown.other_inputs), grown.other_inputs);
  compare(want, grown.inputs);  // in frames and plans that are used again
  if (optimized && other.session) trial.generated = other.session->optimizer_status().swapped;
  return trial;
}

void write_case(const GrownModel& grown, const std::string& folder, bool expected) {
  fs::create_directories(folder);
  onnx_import::export_file(grown.model, (fs::path(folder) / "model.onnx").string());
  const Values* sets[] = {&grown.inputs, &grown.other_inputs};
  const std::string bytes = onnx_import::export_memory(grown.model);
  for (size_t set = 0; set < 2; ++set) {
    if (sets[set]->size() != grown.inputs.size()) continue;
    const fs::path data = fs::path(folder) / ("test_data_set_" + std::to_string(set));
    write_values(data, "input", *sets[set]);
    if (expected && set == 0) {
      const Outcome want = Tier(bytes, runtime::Tier::reference).run(*sets[set]);
      write_values(data, "output", want.values);
      Roundings roundings(*grown.model.graph, *sets[set], Transforms::in_their_type);
      std::ofstream spreads(data / "spreads");
      if (want.refused()) {
        spreads << "refused " << want.refusal << "\n";
      } else {
        for (const Roundings::Output& output : roundings.outputs()) {
          spreads << (output.decided ? "decided" : "within");
          for (const double spread : output.spreads) spreads << " " << spread;
          spreads << "\n";
        }
      }
    }
  }
}

GrownModel read_case(const std::string& folder) {
  GrownModel grown;
  grown.model = onnx_import::import_file((fs::path(folder) / "model.onnx").string());
  const size_t count = grown.model.graph->inputs.size();
  grown.inputs = read_inputs(fs::path(folder) / "test_data_set_0", count);
  grown.other_inputs = read_inputs(fs::path(folder) / "test_data_set_1", count);
  return grown;
}

}  // namespace axrun::tests
