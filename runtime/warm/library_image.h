#pragma once

#include <functional>
#include <memory>
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
  /// right. resumes: more is to be tried for steps that have been.
  static bool read(cache::Reader& in, KernelLibrary& library, const Graphs& graphs, bool resumes);

  /// Calls with every verified kernel of a default schedule, by what it computes for which sizes.
  static void for_kernels(const KernelLibrary& library,
                          const std::function<void(const std::string& key, const GeneratedCode& code,
                                                   const OptimizedKernel& record)>& call);
  /// Adds what has been tried, how it has ended, and which groups of the graph's nodes serve as one step.
  static void learn(const KernelLibrary& library, const ir::Graph& graph, Experience& experience);

  /// One kernel by itself.
  static void write(cache::Writer& out, const GeneratedCode& code);
  static bool read(cache::Reader& in, GeneratedCode& code);
  static void write(cache::Writer& out, const OptimizedKernel& record);
  static void read(cache::Reader& in, OptimizedKernel& record);
};

}  // namespace axrun::runtime
