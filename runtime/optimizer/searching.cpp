#include "runtime/optimizer/searching.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "runtime/optimizer/algebra_question.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/graph_outline.h"
#include "runtime/optimizer/reproducer.h"
#include "runtime/warm/graph_image.h"

namespace axrun::runtime {
namespace {

using Why = SearchFailed::Why;

}  // namespace

WorkerAnswer ask_search(WorkerProcess& worker, const StopSignal& stop, WorkerStage search,
                        const std::string& question, const SearchTerms& terms,
                        const SearchListener& listener) {
  WorkerRequest request;
  request.search = search;
  request.question = question;
  request.target.name = "none";
  request.processor_seconds = terms.processor_seconds;
  request.proof_seconds = terms.proof_seconds;
  request.solver_milliseconds = milliseconds_of_identity;
  const auto fail = [&](Why why, const std::string& reason) {
    write_reproducer(terms.reproducers, request, fmt::format("{} failed", name_of(search)), reason);
    throw SearchFailed(why, reason);
  };
  for (int kills = 0;;) {
    WorkerAnswer answer = worker.ask(request, terms.answer_seconds, stop, listener);
    if (answer.failure == WorkerFailure::none) {
      if (answer.found) return answer;
      fail(Why::refused, fmt::format("{}: {}", name_of(search), answer.reply.refusal));
    }
    if (answer.failure == WorkerFailure::stopped || stop.requested())
      throw SearchFailed(Why::stopped, "stopped");
    const std::string reason =
        fmt::format("the helper process {}: {}", name_of(answer.failure), answer.reason);
    if (answer.failure == WorkerFailure::killed) {
      if (++kills >= most_kills) throw SearchFailed(Why::ended, reason);
    } else if (worker.failed_starts() == 0) {
      fail(Why::failed, reason);
    } else if (worker.is_given_up()) {
      throw SearchFailed(Why::unavailable, reason);
    }
  }
}

MakeGraph graphs_by_helper(WorkerOptions options) {
  options.schedules = nullptr;
  return [worker = std::make_shared<WorkerProcess>(std::move(options))](
             const ir::Graph& from,
             const std::vector<search::algebra::WindowRecipe>& windows) -> std::shared_ptr<ir::Graph> {
    const StopSignal nobody;
    const ir::Inference facts(from, ir::Inference::Options{});
    const std::string question =
        write(GraphQuestion{write_outline(facts, ConstantContents::unknown), windows});
    const WorkerAnswer answer =
        ask_search(*worker, nobody, WorkerStage::writing_graph, question, SearchTerms());
    return read_graph(*answer.found, from);
  };
}

}  // namespace axrun::runtime
