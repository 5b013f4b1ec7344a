#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/api.h"

namespace axrun::runtime {

/// A schedule that was tried for an expression, and what came of it.
struct TriedKernel {
  enum class End {
    in_force,       ///< it serves
    overtaken,      ///< it served until a faster one took its place
    undone,         ///< it served until the model turned out slower with it
    slower,         ///< verified; what it would replace is faster, or cannot be told from it
    same_code,      ///< the very code that is in force
    different,      ///< its results are not those of the kernel that it would replace
    not_bit_equal,  ///< the same where only equal bits will do
    no_schedule,    ///< search has none
    not_proved,     ///< the proof was refused, or the solver did not know
    not_passed,     ///< the machine code failed the numeric gate
    no_code,        ///< it could not be compiled
    worker_failed,  ///< the helper process did: a crash, too much time
    not_tried       ///< the session had no room for its code, or was told to stop
  };
  int rank = 0;          ///< 0: the default schedule
  std::string kind;      ///< of the schedule, in one word
  std::string schedule;  ///< what was decided; "default"
  End end = End::not_tried;
  std::string reason;      ///< in words, where it does not serve
  double expected_us = 0;  ///< by the cost model, on one core; 0: the model says nothing of it
  /// What it took, and what that took which it would replace: the least of a few calls; 0: not measured.
  double own_us = 0, present_us = 0;
  double speedup = 0;  ///< the middle of the paired rounds; 0: not measured
  int rounds = 0;
  std::string proof, gate;  ///< as of the kernel
};
AXRUN_API const char* name_of(TriedKernel::End end);

/// What the optimiser knows of one kernel that it generated, or tried to.
struct OptimizedKernel {
  enum class State {
    waiting,  ///< not tried yet
    refused,  ///< `reason` says why the fallback stays
    slower,   ///< verified, but the present kernel is faster
    accepted  ///< in force, or about to be
  };
  std::string ops;   ///< "MatMul+Add"
  std::string kind;  ///< of the schedule: "contraction", "map", ...; empty where there is none
  State state = State::waiting;
  std::string reason;
  int steps = 0;      ///< of the plans in force, looked at so far, that it serves or would
  double share = 0;   ///< part of their plan's time that these steps took when they were timed last
  std::string sizes;  ///< the ones it is claimed for: "n0: 1..16384"; empty for fixed ones
  /// Where its code was tested, as far as that decides: "n0=257, n1=37 | n0=7, n1=4097"; and what it serves
  /// therefore: "n0: 2..514, n1: 2..8194". Empty where there is no code, or the sizes are fixed.
  std::string tested, served;
  std::string proof;  ///< "proved: ..." of its loops; empty: not asked
  std::string gate;   ///< "tested: ..." of its machine code
  double proof_seconds = 0;
  double gate_seconds = 0;
  double compile_seconds = 0;
  double speedup = 0;  ///< time of the kernel that was there before over its own; 0: not measured
  int64_t code_bytes = 0;
  /// Other schedules than the default one: known of, tried, and the one in force (0: the default one).
  int alternatives = 0;
  int alternatives_tried = 0;
  int rank = 0;
  bool from_cache = false;  ///< its machine code, with this evidence; nothing of it was made here
  /// The best of those tried: time of the kernel in force at that time over its own; 0: none was measured.
  double alternative_speedup = 0;
  std::vector<std::string> nodes;   ///< the first node of each of its steps, of so many; in the order met
  std::vector<TriedKernel> trials;  ///< in the order in which they were
};
AXRUN_API const char* name_of(OptimizedKernel::State state);

/// A constant that load has folded with a fallback kernel, and the verified program of it.
struct LoadProgram {
  enum class State {
    waiting,   ///< so far it is the fallback's
    fallback,  ///< it stays that: `reason` says why
    verified   ///< a verified program's result, bit by bit
  };
  std::string what;  ///< "DequantizeLinear 'weights'"
  int64_t bytes = 0;
  State state = State::waiting;
  std::string reason;
  std::string proof, gate;  ///< as for kernels
};
AXRUN_API const char* name_of(LoadProgram::State state);

/// A plan was put in force, or not.
struct PlanSwap {
  double seconds = 0;  ///< after the start of the optimiser
  std::string what;    ///< "swap", "undo: slower in the model", ...
  std::string shapes;  ///< of the inputs
  int generated = 0;   ///< steps with generated kernels in the plan in force since
  double speedup = 0;  ///< of the whole model, over the plan before; 0: not measured
  int64_t tried = 0;   ///< candidates that had been judged by then
};

/// How the layouts of a plan's values were chosen.
struct LayoutReport {
  /// What a step takes in the plain layout and channels-last, microseconds; 0: it was not tried, or cannot.
  struct Price {
    std::string ops;
    double plain = 0, last = 0;
  };
  std::string outcome;  ///< "channels-last", or "plain: ..." with the reason; empty: it was not its turn yet
  int sites = 0;        ///< steps that can work in any layout
  int tried = 0;        ///< expressions of which a kernel was tried that works channels-last
  int priced = 0;       ///< sites that have one,
  int faster = 0;       ///< and those of them that it is faster for
  int values = 0;       ///< values made channels-last in the choice
  double gap = 0;       ///< share of its cost by which the choice may miss the best one
  double expected = 0;  ///< share of the model's time that it was expected to spare
  double speedup = 0;   ///< of the model with it, over the plan before; 0: not measured
  double seconds = 0;   ///< that it took to choose
  std::vector<Price> prices;
};

/// How a plan's graph was rewritten by identities.
struct AlgebraReport {
  struct Rule {
    std::string name, equation;
    bool forward = true;           ///< from left to right
    std::string equality, safety;  ///< how each is known: "proved"
    std::string origin;            ///< the model in which it was found
  };
  /// A part of the graph that is computed in another way.
  struct Window {
    std::vector<std::string> values;  ///< of the model
    std::vector<Rule> rules;
    std::string steps;             ///< what each rule makes of what, in order
    double before = 0, after = 0;  ///< cost, as it was guessed
  };
  std::string
      outcome;        ///< "rewritten", or "as the model: ..." with the reason; empty: it was not its turn yet
  int rules = 0;      ///< that could be used
  int found = 0;      ///< rules that this model has added
  int looked_at = 0;  ///< windows
  std::vector<Window> windows;  ///< of the graph that was tried last
  double speedup = 0;           ///< of the model with it, over the plan before; 0: not measured
  double seconds = 0;           ///< that it took
  std::string trouble;          ///< of the helper, that left something out
};

/// Which convolutions are computed by bilinear algorithms.
struct BilinearReport {
  /// Convolutions that are alike.
  struct Kind {
    std::string sizes;
    int sites = 0;
    int tile = 0;  ///< side of the results that are computed together; 0: as they are
    /// What they take in the model, microseconds: as they are, and by tiles of 4x4 and 2x2; 0: not tried.
    double direct = 0, by_four = 0, by_two = 0;
  };
  std::string outcome;  ///< "bilinear", or "as they are: ..." with the reason; empty: not allowed, or not yet
  std::vector<Kind> kinds;
  double growth = 0;   ///< of rounding errors, next to the largest values of a tile, at most
  double speedup = 0;  ///< of the model with it, over the plan before; 0: not measured
  double seconds = 0;  ///< that it took to choose
};

/// What the optimiser, or its helper process, has spent time on.
struct OptimizerPhase {
  std::string name;              ///< "compare kernels", "helper: prove", ...
  double seconds = 0;            ///< by the clock: where others have the processors, longer than it takes
  double processor_seconds = 0;  ///< of the thread, or of the helper; 0: not known
};

/// Packed constants that a session has made of the model's own, beside those that the cache has of the same.
struct PackedComparison {
  std::vector<std::string> same, different;  ///< keys of their files
};

/// What a session has had from the cache, and left there.
struct CacheUse {
  std::string folder;  ///< empty: there is none, and `reason` says why
  std::string reason;
  /// Why it cannot be used, or only read, though nobody has turned it off.
  std::string trouble;
  bool writable = false;
  bool found = false;    ///< plans of this very model
  bool settled = false;  ///< nothing was left to be done for them
  /// The processor on which a model of this structure has been looked into: what fared well there is tried
  /// first; empty: nothing is known.
  std::string experience;
  int64_t hits = 0, misses = 0;
  int64_t bytes_read = 0, bytes_written = 0;
  /// What was there and not used, what was not stored: how often, by reason.
  std::vector<std::pair<std::string, int64_t>> refused, not_stored;
};

struct OptimizerStatus {
  enum class State {
    off,      ///< never starts: `reason` says why
    waiting,  ///< nothing to do at present
    working,
    paused,  ///< `reason` says for what
    frozen,  ///< told to stop swapping
    stopped  ///< it cannot go on: `reason` says why
  };
  State state = State::off;
  std::string reason;
  std::string priority;  ///< "SCHED_IDLE", ...
  int threads = 0;
  int64_t tried = 0;  ///< candidates that have been judged
  int64_t left = 0;   ///< candidates known of, not judged yet; alternatives, once it is their turn
  int steps = 0;      ///< with a kernel, in the plan looked at last
  int swapped = 0;    ///< of them with a generated kernel
  double speedup =
      0;  ///< of the model under the plan looked at last over the plan it started with; 0: not measured
  int64_t worker_starts = 0;
  int64_t code_bytes = 0;  ///< of machine code in use
  int64_t prepared_bytes =
      0;  ///< of packed constants in use, each counted once: by the kernels' own verified programs
  int64_t kept_bytes = 0;        ///< of prepared_bytes, what a cache folder had
  int64_t packed_bytes = 0;      ///< of the same by the fallback's kernels
  int folded_by_definition = 0;  ///< nodes on constants, evaluated at load by the reference interpreter
  int64_t folded_bytes_by_definition = 0;
  std::vector<LoadProgram> load_programs;  ///< the other ones
  double seconds = 0;                      ///< since its start
  std::vector<OptimizedKernel> kernels;
  /// Of steps that were tried as one, and stay apart.
  std::vector<OptimizedKernel> lost_joints;
  std::vector<PlanSwap> swaps;
  std::vector<OptimizerPhase> phases;  ///< in the order in which they were first entered
  CacheUse cache;
  LayoutReport layouts;     ///< of the plan for which they were chosen last
  AlgebraReport algebra;    ///< of the plan that was rewritten last
  BilinearReport bilinear;  ///< of the plan that was looked at last
};
AXRUN_API const char* name_of(OptimizerStatus::State state);

}  // namespace axrun::runtime
