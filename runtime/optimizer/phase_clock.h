#pragma once

#include <utility>
#include <vector>

#include "runtime/optimizer/status_board.h"

namespace axrun::runtime {

/// What the optimiser's thread spends its time on, and the helper process its own, for the status. For the
/// optimiser's thread; every moment counts for the innermost phase only.
class PhaseClock {
 public:
  explicit PhaseClock(StatusBoard& board) : board_(board), last_(now()) {}
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  enum class Kind { work, wait };
  /// From construction to destruction the thread is in this phase. `name` must live for good.
  class In {
   public:
    In(PhaseClock& clock, const char* name, Kind kind = Kind::work) : clock_(clock) {
      clock_.enter(name, kind);
    }
    ~In() { clock_.leave(); }
    In(const In&) = delete;
    In& operator=(const In&) = delete;

   private:
    PhaseClock& clock_;
  };
  /// What somebody else has spent on it.
  void add(const char* name, double seconds, double processor_seconds);

  struct Times {
    double seconds = 0, processor_seconds = 0;
  };
  /// Of all phases so far in which the thread works.
  const Times& worked() const { return worked_; }

 private:
  static Times now();
  void enter(const char* name, Kind kind);
  void leave();
  void count_since_last();

  StatusBoard& board_;
  std::vector<std::pair<const char*, Kind>> inside_;
  Times last_, worked_;
};

}  // namespace axrun::runtime
