#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/cache/bytes.h"
#include "runtime/optimizer/kernel_library.h"
#include "runtime/warm/experience.h"

namespace axrun::runtime {

/// What a library knows, as bytes and back: the expressions of groups of nodes, what has come of each, the
/// machine code of those in force, and which groups are joined. Nodes are told by the position of their graph
/// among `graphs`, which must be equal ones on both sides (identity_of).
class LibraryImage {
 public:
  using Graphs = std::vector<std::shared_ptr<const ir::Graph>>;

  /// in_force: the code that plans run. What is verified and not in force yet is written as not tried, unless
  /// `all` is to serve.
  static void write(cache::Writer& out, const KernelLibrary& library, const Graphs& graphs,
                    const std::set<const jit::KernelCode*>& in_force, bool all);
  /// Into a library that knows nothing of these graphs: all, or nothing and false for bytes that cannot be
  /// right. owner: of what is read, kept as long as its code. resumes: more is to be tried for steps that
  /// have been.
  static bool read(cache::Reader& in, const std::shared_ptr<const void>& owner, KernelLibrary& library,
                   const Graphs& graphs, bool resumes);

  /// A verified kernel: of what it is made, and for what.
  struct Kernel {
    std::string key;
    StepExpression expression;  ///< without its program where that was read
    search::Sizes ranges;
    OptimizedKernel record;
    GeneratedCode code;
  };
  /// Those of default schedules.
  static std::vector<Kernel> kernels_of(const KernelLibrary& library);
  /// Those of an image, whatever model it is of; nothing for bytes that cannot be right. What comes after
  /// them is not looked at.
  static std::optional<std::vector<Kernel>> kernels_in(cache::Reader& in,
                                                       const std::shared_ptr<const void>& owner);
  /// Adds what has been tried, how it has ended, and which groups of the graph's nodes serve as one step.
  static void learn(const KernelLibrary& library, const ir::Graph& graph, Experience& experience);

  /// One kernel by itself, but for its key.
  static void write(cache::Writer& out, const Kernel& kernel);
  static bool read(cache::Reader& in, Kernel& kernel, std::shared_ptr<const void> owner);
  static void write(cache::Writer& out, const GeneratedCode& code);
  static bool read(cache::Reader& in, GeneratedCode& code, std::shared_ptr<const void> owner);
  static void write(cache::Writer& out, const OptimizedKernel& record);
  static void read(cache::Reader& in, OptimizedKernel& record);

 private:
  /// Fewer than there are where the reader has failed.
  static std::vector<std::shared_ptr<KernelLibrary::Entry>> read_entries(
      cache::Reader& in, const std::shared_ptr<const void>& owner);
};

}  // namespace axrun::runtime
