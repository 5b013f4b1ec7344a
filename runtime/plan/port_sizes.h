#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/error.h"

namespace axrun::runtime {

/// The dims of a tensor, in no memory of their own.
class Extents {
 public:
  static constexpr size_t most = 16;

  void push_back(int64_t extent) {
    AXRUN_ASSERT(rank_ < most);
    of_[rank_++] = extent;
  }
  void insert(size_t at, int64_t extent) {
    push_back(extent);
    for (size_t d = rank_ - 1; d > at; --d) of_[d] = of_[d - 1];
    of_[at] = extent;
  }
  size_t size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int64_t operator[](size_t d) const { return of_[d]; }
  int64_t& operator[](size_t d) { return of_[d]; }
  int64_t back() const { return of_[rank_ - 1]; }
  const int64_t* begin() const { return of_.data(); }
  const int64_t* end() const { return of_.data() + rank_; }
  /// Elements; of values that exist the product fits.
  int64_t count() const { return count(0, rank_); }
  int64_t count(size_t first, size_t last) const {
    int64_t product = 1;
    for (size_t d = first; d < last; ++d) product *= of_[d];
    return product;
  }
  /// Of a tensor whose elements lie row by row.
  Extents strides() const {
    Extents strides = *this;
    int64_t stride = 1;
    for (size_t d = rank_; d-- > 0; stride *= of_[d]) strides.of_[d] = stride;
    return strides;
  }
  friend bool operator==(const Extents& a, const Extents& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<int64_t, most> of_;
  size_t rank_ = 0;
};

/// The dims of a step's inputs and outputs, where they stand among the numbers of a form (PlanForm::sizes).
struct OpenPorts {
  struct Dim {
    static constexpr size_t nowhere = ~size_t{0};
    size_t place = nowhere;  ///< among the numbers
    int64_t extent = 0;      ///< where that is nowhere

    int64_t at(const std::vector<int64_t>& numbers) const {
      return place == nowhere ? extent : numbers[place];
    }
  };
  using Dims = std::vector<Dim>;
  std::vector<Dims> inputs, outputs;  ///< none for those that are absent
  std::vector<bool> told;             ///< per input: its elements hang on the numbers, too
};

/// The same, once the numbers are known.
class PortSizes {
 public:
  PortSizes(const OpenPorts& ports, const std::vector<int64_t>& numbers) : ports_(ports), numbers_(numbers) {}
  /// Of ports of at most Extents::most dims.
  Extents input(size_t k) const { return extents(ports_.inputs[k]); }
  Extents output(size_t k) const { return extents(ports_.outputs[k]); }
  size_t inputs() const { return ports_.inputs.size(); }
  size_t rank_of_input(size_t k) const { return ports_.inputs[k].size(); }
  int64_t dim_of_input(size_t k, size_t d) const { return ports_.inputs[k][d].at(numbers_); }
  size_t rank_of_output(size_t k) const { return ports_.outputs[k].size(); }
  int64_t dim_of_output(size_t k, size_t d) const { return ports_.outputs[k][d].at(numbers_); }
  /// What a kernel was told of the input's elements may not be so.
  bool is_told(size_t k) const { return k < ports_.told.size() && ports_.told[k]; }

 private:
  Extents extents(const OpenPorts::Dims& dims) const {
    Extents extents;
    for (const OpenPorts::Dim& dim : dims) extents.push_back(dim.at(numbers_));
    return extents;
  }
  const OpenPorts& ports_;
  const std::vector<int64_t>& numbers_;
};

}  // namespace axrun::runtime
