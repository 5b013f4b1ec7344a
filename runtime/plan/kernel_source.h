#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// Where a plan may find better kernels than the factories make.
class KernelSource {
 public:
  struct Found {
    std::shared_ptr<const Kernel> kernel;  ///< null: none
    bool open = false;                     ///< a better one may yet be found: worth asking again later
    bool beyond = false;                   ///< there is one, which may yet be tested at these sizes
  };
  virtual ~KernelSource() = default;
  /// For the nodes (by position) that the step is made of. Quick: one look-up; nothing is compiled or
  /// measured.
  virtual Found find(const ir::Graph& graph, const std::vector<int>& nodes, const StepContext& context) = 0;
  /// The same at any sizes of the step's ports, asked again and again. Safe from many threads.
  class Question {
   public:
    virtual ~Question() = default;
    virtual Found at(const PortSizes& ports) const = 0;
    /// What is new since it was asked has nothing to do with it; otherwise it is to be asked anew.
    virtual bool holds() const = 0;
  };
  /// For a step none of whose inputs is known but by the graph; lives no longer than the source. Null where
  /// find() has to be asked each time.
  virtual std::shared_ptr<const Question> ask(const ir::Graph&, const std::vector<int>& /*nodes*/,
                                              const StepContext&) {
    return nullptr;
  }
  /// Sets of nodes (by position, in order) that had better be one step where `find` has a kernel for them.
  /// Each is made of groups that fusion forms, or of such groups and earlier sets.
  virtual std::vector<std::vector<int>> joined_groups(const ir::Graph&) { return {}; }
  /// A number that no source of the process had before what this one answers last changed; nothing where it
  /// keeps no count of that: then it is asked every time.
  virtual std::optional<uint64_t> version() const { return std::nullopt; }
  /// The same of joined_groups() alone; of sources that have a version.
  virtual uint64_t joined_version() const { return 0; }
};

}  // namespace axrun::runtime
