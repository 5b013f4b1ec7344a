#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/target.h"
#include "runtime/cache/survey.h"
#include "runtime/optimizer/rewritten_graph.h"
#include "runtime/optimizer/stop_signal.h"
#include "runtime/optimizer/worker_process.h"
#include "runtime/warm/library_image.h"

namespace axrun::runtime {

/// What came of looking at something stored once more. The worst comes last.
enum class Recheck : uint8_t {
  right,          ///< proved and tested anew, and its machine code is what its program gives
  not_checkable,  ///< here, or without the model that it is of
  damaged,        ///< it is not what it says: its bytes, or what belongs together
  unknown,        ///< the proof came to nothing
  wrong,          ///< the machine code computes something else
  refuted,        ///< the loop program does
};
std::string_view name_of(Recheck outcome);

/// Of one kernel.
struct RecheckedKernel {
  std::string ops, kind, sizes;
  Recheck outcome = Recheck::right;
  std::string reason;       ///< where it is not right
  std::string proof, gate;  ///< what was found this time
};
/// Of a part of a model's graph that is computed in another way.
struct RecheckedWindow {
  std::vector<std::string> values, rules;  ///< by name
  Recheck outcome = Recheck::right;
  std::string reason;
};
/// Of one entry of the cache: as its worst kernel or window.
struct RecheckedEntry {
  std::string where, what;
  bool is_of_kernels = false;  ///< otherwise there is nothing to be looked at: lists of files, names
  Recheck outcome = Recheck::right;
  std::string reason;
  std::vector<RecheckedKernel> kernels;
  std::vector<RecheckedWindow> windows;
};

/// Looks at stored kernels once more, with what is stored beside them as a hint at most: every obligation is
/// made anew of the texts of the tensor expression and of the loop program, proved and tested in the helper
/// process; machine code is compiled anew and compared byte by byte. Kernels that several entries have are
/// looked at once. Rules by which graphs were rewritten are proved anew, and have to lead from what a window
/// computed to what it computes now.
class Rechecker {
 public:
  /// generator, machine: what this process makes entries for. Others' are not checkable.
  Rechecker(std::string generator, std::string machine, jit::Target target, WorkerOptions worker);

  /// Of an entry of code.
  RecheckedEntry check(const cache::StoredEntry& entry);
  RecheckedKernel check(const LibraryImage::Kernel& kernel);
  std::vector<RecheckedWindow> check(const AlgebraRecipe& recipe);

 private:
  /// Its reason is empty where nothing is wrong so far.
  void prove_and_test(const LibraryImage::Kernel& kernel, RecheckedKernel& result);
  void compare_code(const LibraryImage::Kernel& kernel, RecheckedKernel& result) const;

  const std::string generator_, machine_;
  const jit::Target target_;
  const StopSignal stop_;
  WorkerProcess worker_;
  std::map<std::string, RecheckedKernel> known_;  ///< by everything that was looked at
};

}  // namespace axrun::runtime
