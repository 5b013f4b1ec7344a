#pragma once

#include <stdexcept>
#include <string>

#include "runtime/optimizer/rewritten_graph.h"
#include "runtime/optimizer/worker_process.h"

namespace axrun::runtime {

/// A search came to nothing: the helper refused, or failed.
class SearchFailed : public std::runtime_error {
 public:
  enum class Why : uint8_t {
    refused,      ///< by search/: an exception
    failed,       ///< the helper crashed, hung, or sent what makes no sense: that is what was asked
    ended,        ///< by others, each time: that says nothing of what was asked
    unavailable,  ///< it cannot be started, and nobody tries again
    stopped
  };
  SearchFailed(Why why, const std::string& reason) : std::runtime_error(reason), why_(why) {}
  Why why() const { return why_; }

 private:
  Why why_;
};

/// What the helper may take, and where what goes wrong is kept.
struct SearchTerms {
  double processor_seconds = 30;  ///< between two signs of life: an endless loop ends then
  double answer_seconds = 30;     ///< without a sign of life of an idle helper: it hangs
  double proof_seconds = 2;       ///< of one proof, by the clock
  std::string reproducers;        ///< folder; empty: it is not kept
};

/// The helper's answer to a question about search/, asked again where it was ended from outside or could not
/// be started. Throws SearchFailed.
WorkerAnswer ask_search(WorkerProcess& worker, const StopSignal& stop, WorkerStage search,
                        const std::string& question, const SearchTerms& terms,
                        const SearchListener& listener = {});

/// The graph with these windows, written by a helper of its own, which is started where a graph is wanted.
MakeGraph graphs_by_helper(WorkerOptions options);

}  // namespace axrun::runtime
