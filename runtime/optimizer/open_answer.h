#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/kernel_library.h"

namespace axrun::runtime {

/// What the library says of one expression for a range of sizes, in numbers, for as long as its version stays
/// the same: the kernel, where there is one, and what decides whether it serves some sizes. Immutable.
class OpenAnswer {
 public:
  struct Verdict {
    SizeValues sizes;
    bool use;
  };
  struct Known {
    std::shared_ptr<const StepExpression> expression;
    std::vector<int> outputs;  ///< of the step
    search::Sizes ranges;
    /// What kernels are made from, and one of them; null: none has served so far.
    std::shared_ptr<const JitKernelParts> parts = nullptr;
    std::shared_ptr<const jit::BoundKernel> kernel = nullptr;
    std::optional<verify::TestedSizes> tested = {};  ///< of the code; none: there is none
    std::vector<Verdict> verdicts = {};
    bool open_anyway = false;
  };
  /// Null where sizes do not tell one another one by one.
  static std::unique_ptr<const OpenAnswer> of(Known known);

  enum class Says : uint8_t {
    found,      ///< what it has found
    ask,        ///< that the library has to be asked
    not_for_it  ///< that the expression is not for such ports
  };
  Says at(const PortSizes& ports, KernelSource::Found& found) const;
  bool has_kernel() const { return known_.kernel != nullptr; }

 private:
  static constexpr size_t most_sizes = 8;
  /// Of a size: the dim of a port that tells it, once those told before are known.
  struct Source {
    size_t size;
    StepExpression::Port port;
    size_t dim;
    int64_t factor;
  };
  struct Limits {
    int64_t low, high, divisor, served;
  };
  struct Judged {
    std::vector<double> sizes;
    bool use;
  };
  /// The next size that a dim tells; false where none does.
  bool find_source();
  void read_limits();
  bool read_verdicts();
  bool read_order();
  bool has_ranks(const PortSizes& ports) const;
  int64_t extent(const PortSizes& ports, const StepExpression::Port& port, size_t d) const;
  /// Of ports of such ranks.
  bool solve(const PortSizes& ports, int64_t* values) const;
  bool fits(const PortSizes& ports, const int64_t* values) const;
  /// The expression's range, and how far the code was tested.
  bool is_in_range(const int64_t* values) const;
  bool is_covered(const int64_t* values) const;
  const Judged* nearest(const int64_t* values) const;

  Known known_;
  std::vector<StepExpression::Port> ports_;
  std::vector<Source> sources_;  ///< in the order in which they are told
  std::vector<Limits> limits_;
  int64_t most_product_ = 0;
  std::vector<Judged> verdicts_;
  /// Of a size of the code's: which of the expression's it is; none: always the same.
  struct OfCode {
    std::optional<size_t> size;
    int64_t fixed = 0;
  };
  std::vector<OfCode> order_;
};

}  // namespace axrun::runtime
