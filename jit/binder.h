#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/size_program.h"
#include "jit/signature.h"

namespace axrun::jit {

/// What binding a kernel to sizes takes beside the sizes: worked out once for a signature and its constants.
class Binder {
 public:
  /// constant: one flag per input buffer; those that are missing are not.
  Binder(const Signature& signature, const std::vector<bool>& constant);

  std::vector<int> inputs, outputs;  ///< buffers
  size_t parts = 0;                  ///< phases at the beginning that are computed once
  std::vector<int> prepared_by;      ///< per buffer: the phase that has prepared it, none where it is not
  std::vector<bool> unread;          ///< per input: by phases that are not prepared

  /// What depends on the sizes alone.
  struct AtSizes {
    std::vector<int64_t> values;  ///< of the signature's sizes, in order; grows by what is found on the way
    std::vector<size_t> bytes;    ///< per buffer
    std::vector<int64_t> iterations;  ///< per phase
    std::vector<double> lanes;        ///< per phase: about how many operations of vector lanes it takes
  };
  /// Of its values, in the memory that it has. Throws Error(user) for sizes that no memory holds.
  void find(AtSizes& at) const;

 private:
  static constexpr size_t unknown = ~size_t{0};
  struct Term {
    double lanes;
    std::vector<std::pair<size_t, int64_t>> loops;  ///< extent, step
  };
  struct Phase {
    size_t extent;
    int64_t step;
    std::vector<Term> lanes;
  };
  void find_prepared(const Signature& signature, const std::vector<bool>& constant);
  size_t place_of(const ir::Dim& dim);

  std::vector<std::string> names_;
  ir::SizeProgram sizes_;
  std::vector<std::pair<size_t, size_t>> buffers_;  ///< elements, bytes of one
  std::vector<Phase> phases_;
};

}  // namespace axrun::jit
