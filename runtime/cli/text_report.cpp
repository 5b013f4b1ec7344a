#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/cli/record.h"
#include "runtime/cli/time_text.h"
#include "runtime/cli/values.h"
#include "runtime/version.h"

namespace axrun::cli {

using runtime::RuntimeValue;

namespace {

constexpr int64_t shown_elements = 6;

/// "[0.1, -2.5, 3, ...]": the first elements.
std::string preview(const RuntimeValue& value) {
  if (value.kind != ir::ValueKind::tensor || !value.tensor.defined()) return "";
  const ir::Tensor& tensor = value.tensor;
  std::string text = " [";
  for (int64_t k = 0; k < std::min(tensor.size(), shown_elements); ++k) {
    text += k == 0 ? "" : ", ";
    if (tensor.type() == ir::ElementType::string) {
      text += fmt::format("\"{}\"", tensor.strings()[k]);
    } else if (ir::is_float(tensor.type())) {
      text += fmt::format("{:.4g}", tensor.get_real(k));
    } else {
      text += fmt::format("{}", tensor.get_int(k));
    }
  }
  return text + (tensor.size() > shown_elements ? ", ...]" : "]");
}

std::string comparison_text(const Comparison& comparison) {
  if (comparison.ok) return fmt::format("as expected, largest error {:.3g}", comparison.max_abs_error);
  return "DIFFERS: " + comparison.why;
}

std::string opsets_text(const std::map<std::string, int>& opsets) {
  std::string text;
  for (const auto& [domain, version] : opsets) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", domain.empty() ? "opset" : domain, version);
  }
  return text;
}

class Page {
 public:
  /// A line with its heading in the left column; an empty heading continues the one above.
  template <class... Arguments>
  void line(const char* heading, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += fmt::format("{:<9}{}\n", heading, fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Where another schedule than the default one serves; empty where none has been tried.
std::string schedules_text(const runtime::OptimizerStatus& status) {
  int tried = 0, in_force = 0;
  std::string kernels;
  for (const runtime::OptimizedKernel& kernel : status.kernels) {
    tried += kernel.alternatives_tried;
    if (kernel.rank == 0 || kernel.state != runtime::OptimizedKernel::State::accepted) continue;
    ++in_force;
    kernels += fmt::format("{}{} of {} (number {}, {:.2f} x)", kernels.empty() ? "" : ", ", kernel.kind,
                           kernel.ops, kernel.rank, kernel.alternative_speedup);
  }
  if (tried == 0) return "";
  return fmt::format("{} besides the default ones tried, {} in force{}{}", tried, in_force,
                     in_force > 0 ? ": " : "", kernels);
}

/// "; 2 streams, on processors 0, 1"; empty for runs one after another, wherever they like.
std::string streams_text(const Measurement& measurement) {
  std::string text;
  if (measurement.spread.streams > 1) text = fmt::format("; {} streams", measurement.spread.streams);
  if (measurement.spread.processors.empty()) return text;
  return fmt::format("{}{} processor{} {}", text, text.empty() ? "; on" : ", on",
                     measurement.spread.processors.size() == 1 ? "" : "s",
                     fmt::join(measurement.spread.processors, ", "));
}

}  // namespace

const char* tier_name(runtime::Tier tier) {
  switch (tier) {
    case runtime::Tier::reference:
      return "reference";
    case runtime::Tier::fallback:
      return "fallback";
    case runtime::Tier::automatic:
      return "auto";
  }
  return "unknown";
}

bool Record::matches() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputRecord& output) { return !output.comparison || output.comparison->ok; });
}

ExitCode Record::exit_code() const {
  return matches() && measurement.differs.empty() ? exit_ok : exit_mismatch;
}

std::string text_report(const Record& record, const Options& options) {
  Page page;
  const runtime::Machine& machine = record.machine;
  page.line("model", "{}{}: {} nodes, {}", record.model, record.demonstration ? " (demonstration)" : "",
            record.nodes, opsets_text(record.opsets));
  page.line("with", "axrun {}, tier {}, {} thread{}, {} kernels", runtime::version(), tier_name(options.tier),
            record.threads, record.threads == 1 ? "" : "s", machine.isa);
  page.line("on", "{}, {} of {} processors{}", machine.cpu, machine.available_processors, machine.processors,
            streams_text(record.measurement));
  for (size_t k = 0; k < record.inputs.size(); ++k) page.line(k == 0 ? "inputs" : "", "{}", record.inputs[k]);
  for (size_t k = 0; k < record.outputs.size(); ++k) {
    const OutputRecord& output = record.outputs[k];
    page.line(k == 0 ? "outputs" : "", "{}: {}{}", output.name, describe(output.value),
              preview(output.value));
    if (output.comparison) page.line("", "  {}", comparison_text(*output.comparison));
  }
  if (!options.save.empty()) page.line("saved", "{}", options.save);

  const Optimisation& optimisation = record.measurement.optimisation;
  if (optimisation.asked) {
    const runtime::OptimizerStatus& status = optimisation.status;
    page.line("swapped", "{} of {} steps run generated kernels; {} candidates tried in {:.1f} s, {} left",
              status.swapped, status.steps, status.tried, optimisation.seconds, status.left);
    page.line("", "{}", gain_text(optimisation));
    if (const std::string text = schedules_text(status); !text.empty()) page.line("schedule", "{}", text);
    if (!optimisation.evidence.empty())
      page.line("evidence", "{}; by a run's time", evidence_text(optimisation.evidence));
  }
  const Latency& latency = record.latency;
  const size_t runs = record.measurement.times_ms.size();
  page.line("start", "load {}, plan {}, first answer {} after the process started", time_text(record.load_ms),
            time_text(record.measurement.plan_ms), time_text(record.start_to_first_ms));
  if (runs == 1) {
    page.line("time", "{}: a single run{}", time_text(latency.mean),
              record.measurement.warmup_runs > 0 ? " after warm-up" : ", the first one");
  } else {
    const TimeUnit unit(latency.p50);
    page.line("time", "{} (median)   min {}  mean {}  p90 {}  p95 {}  p99 {}  max {}", unit(latency.p50),
              unit(latency.min), unit(latency.mean), unit(latency.p90), unit(latency.p95), unit(latency.p99),
              unit(latency.max));
    page.line("", "{} runs after {} to warm up, deviation {}, {:.4g} runs per second", runs,
              record.measurement.warmup_runs, unit(latency.stddev), record.measurement.runs_per_second);
  }
  page.line(
      "", "timed: single runs {}, {}{}",
      record.measurement.spread.streams > 1 ? "side by side" : "one after another",
      record.measurement.bound ? "inputs and outputs in fixed buffers" : "outputs allocated by each run",
      options.profiling() ? ", with every step's clock read (slower)" : "");
  page.line("memory", "{:.1f} MiB at most", static_cast<double>(record.peak_rss_bytes) / (1 << 20));
  for (size_t k = 0; k < record.notes.size(); ++k) page.line(k == 0 ? "note" : "", "{}", record.notes[k]);
  return page.text();
}

std::string search_text(const Record& record) {
  Page page;
  if (record.divergence) {
    const runtime::Divergence& first = *record.divergence;
    page.line("differs",
              "first node that differs from the reference: {} '{}', output '{}', error {:.3g} of {:.3g}",
              first.op, first.node, first.output, first.max_error, first.scale);
  }
  if (!record.search.empty()) page.line("differs", "{}", record.search);
  return page.text();
}

}  // namespace axrun::cli
