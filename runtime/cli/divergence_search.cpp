#include "runtime/cli/divergence_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ir/error.h"
#include "runtime/run_control.h"

namespace axrun::cli {
namespace {

constexpr std::chrono::seconds longest_search{30};

}  // namespace

void search_divergence(Record& record, runtime::Session& session, const Options& options,
                       const Inputs& inputs, Clock::time_point deadline, Progress& progress) {
  const size_t nodes = session.model().graph->nodes.size();
  size_t agree = 0;
  const auto show = [&] {
    progress.show(fmt::format("looking for the first node that differs from the reference: {} of {} agree",
                              agree, nodes));
  };
  show();
  const Clock::time_point end = std::min(deadline, Clock::now() + longest_search);
  runtime::RunControl control;
  control.set_deadline(end);
  const Tolerance tolerance = tolerance_of(options);
  try {
    const runtime::DivergenceSearch found =
        session.first_divergence(inputs.values, tolerance.relative, &control, [&](size_t so_far) {
          agree = so_far;
          if (progress.due()) show();
        });
    record.divergence = found.first;
    if (found.first) return;
    // Nodes were computed one by one for that, while the run joins some of them and lets them share memory.
    const auto expected = gather_expected(session, options, record.measurement.outputs);
    bool reference_fits = true;
    for (size_t k = 0; k < found.reference.size(); ++k) {
      reference_fits &= !expected[k] || compare(*expected[k], found.reference[k], tolerance).ok;
    }
    record.search =
        reference_fits
            ? "every node by itself agrees with the reference: the error arises where several nodes share "
              "a kernel or a buffer"
            : "every node agrees with the reference, which differs from the expected values too";
  } catch (const runtime::RunEnded&) {
    record.search = fmt::format(
        "the first node that differs from the reference was not found in time: {} of {} nodes were compared, "
        "and agree",
        agree, nodes);
  } catch (const Error& error) {
    record.search =
        fmt::format("looking for the first node that differs from the reference failed: {}", error.what());
  }
}

}  // namespace axrun::cli
