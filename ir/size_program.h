#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/dim.h"

namespace axrun::ir {

struct DimAtom;

/// Expressions over named sizes as one straight program over 64-bit integers: every expression, and every
/// part that several of them share, is computed once. Arithmetic saturates, as Dim's does.
class SizeProgram {
 public:
  /// names: the sizes that run() is given, in order.
  explicit SizeProgram(std::vector<std::string> names);

  /// Where run() leaves the value. Throws Error(internal) for a name that is none of these.
  size_t add(const Dim& dim);
  size_t size() const { return steps_.size(); }

  /// values: those of the names first; grown to size() and filled. A division by 0 gives 0: no guard that
  /// holds lets one through.
  void run(std::vector<int64_t>& values) const;

 private:
  enum class Op : uint8_t { given, constant, add, multiply, floor_div, floor_mod, min, max };
  struct Step {
    Op op;
    int64_t constant;
    size_t a, b;
    friend bool operator==(const Step&, const Step&) = default;
  };
  size_t add_atom(const DimAtom& atom);
  size_t emit(Op op, size_t a, size_t b, int64_t constant = 0);

  std::vector<std::string> names_;
  std::vector<Step> steps_;
};

}  // namespace axrun::ir
