// NonZero, Compress and Unique.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"

namespace axrun::ir {
namespace {

bool is_nonzero(const Tensor& x, int64_t position) {
  if (x.type() == ElementType::string) return !x.strings()[position].empty();
  return is_float(x.type()) ? x.get_real(position) != 0 : x.get_int(position) != 0;
}

/// A tensor as outer x axis x inner, whole slices along the axis being what is selected.
struct Slices {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  Slices(const Tensor& x, int axis) {
    if (axis < 0) {
      count = x.size();
      return;
    }
    for (int d = 0; d < x.rank(); ++d) {
      (d < axis ? outer : d == axis ? count : inner) *= x.shape()[static_cast<size_t>(d)];
    }
  }
};

/// The slices at `positions`, in that order.
Tensor take_slices(const Tensor& x, int axis, const Slices& slices, const std::vector<int64_t>& positions) {
  Shape shape = axis < 0 ? Shape{0} : x.shape();
  const auto taken = static_cast<int64_t>(positions.size());
  shape[axis < 0 ? 0 : static_cast<size_t>(axis)] = taken;
  if (x.type() == ElementType::string) {
    std::vector<std::string> strings;
    for (int64_t o = 0; o < slices.outer; ++o) {
      for (int64_t p : positions) {
        const std::string* first = x.strings() + (o * slices.count + p) * slices.inner;
        strings.insert(strings.end(), first, first + slices.inner);
      }
    }
    return Tensor::from_strings(shape, std::move(strings));
  }
  Tensor result = Tensor::allocate_uninitialized(x.type(), shape);
  const size_t bytes = static_cast<size_t>(slices.inner) * size_of(x.type());
  if (result.size() == 0) return result;
  char* to = result.as<char>();
  for (int64_t o = 0; o < slices.outer; ++o) {
    for (int64_t p : positions) {
      std::memcpy(to, x.as<char>() + static_cast<size_t>(o * slices.count + p) * bytes, bytes);
      to += bytes;
    }
  }
  return result;
}

/// Orders slices element by element. NaN is equal to itself and above every number.
class SliceOrder {
 public:
  SliceOrder(const Tensor& x, const Slices& slices) : x_(x), slices_(slices) {}

  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < slices_.outer; ++o) {
      for (int64_t k = 0; k < slices_.inner; ++k) {
        const int order = compare_elements((o * slices_.count + a) * slices_.inner + k,
                                           (o * slices_.count + b) * slices_.inner + k);
        if (order != 0) return order;
      }
    }
    return 0;
  }

 private:
  template <typename T>
  static int three_way(const T& a, const T& b) {
    return a < b ? -1 : b < a ? 1 : 0;
  }

  int compare_elements(int64_t a, int64_t b) const {
    if (x_.type() == ElementType::string) return three_way(x_.strings()[a], x_.strings()[b]);
    if (x_.type() == ElementType::u64) {
      return three_way(static_cast<uint64_t>(x_.get_int(a)), static_cast<uint64_t>(x_.get_int(b)));
    }
    if (!is_float(x_.type())) return three_way(x_.get_int(a), x_.get_int(b));
    const double left = x_.get_real(a);
    const double right = x_.get_real(b);
    if (std::isnan(left) || std::isnan(right)) return three_way(std::isnan(left), std::isnan(right));
    return three_way(left, right);
  }

  const Tensor& x_;
  const Slices& slices_;
};

}  // namespace

Tensors nonzero_function(const Stage&, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  std::vector<int64_t> positions;
  for (int64_t k = 0; k < x.size(); ++k) {
    if (is_nonzero(x, k)) positions.push_back(k);
  }
  const auto count = static_cast<int64_t>(positions.size());
  Tensor result = Tensor::allocate(ElementType::i64, {x.rank(), count});
  const Shape strides = row_major_strides(x.shape());
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = positions[static_cast<size_t>(n)];
    for (int64_t d = 0; d < x.rank(); ++d) {
      const int64_t stride = strides[static_cast<size_t>(d)];
      result.as<int64_t>()[d * count + n] = rest / stride;
      rest %= stride;
    }
  }
  return {result};
}

Tensors compress_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const Tensor& condition = arguments.at(1);
  const int axis = payload_of<SelectionAxis>(stage).axis;
  const Slices slices(x, axis);
  if (condition.size() > slices.count) {
    for (int64_t k = slices.count; k < condition.size(); ++k) {
      if (condition.get_int(k) != 0) {
        throw Error(Fault::user, "Compress: the condition selects element " + std::to_string(k) + " of " +
                                     std::to_string(slices.count));
      }
    }
  }
  std::vector<int64_t> positions;
  for (int64_t k = 0; k < std::min(condition.size(), slices.count); ++k) {
    if (condition.get_int(k) != 0) positions.push_back(k);
  }
  return {take_slices(x, axis, slices, positions)};
}

Tensors unique_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& parameters = payload_of<UniqueParameters>(stage);
  const Slices slices(x, parameters.axis);
  const SliceOrder order(x, slices);
  std::vector<int64_t> sorted(static_cast<size_t>(slices.count));
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](int64_t a, int64_t b) { return order.compare(a, b) < 0; });

  // Groups of equal slices, each by the position of its first one.
  std::vector<int64_t> first;
  std::vector<int64_t> counts;
  std::vector<int64_t> group_of(sorted.size());
  for (size_t k = 0; k < sorted.size(); ++k) {
    if (k == 0 || order.compare(sorted[k - 1], sorted[k]) != 0) {
      first.push_back(sorted[k]);
      counts.push_back(0);
    }
    ++counts.back();
    group_of[static_cast<size_t>(sorted[k])] = static_cast<int64_t>(first.size()) - 1;
  }
  std::vector<size_t> listed(first.size());
  std::iota(listed.begin(), listed.end(), size_t{0});
  if (!parameters.sorted) {
    std::sort(listed.begin(), listed.end(), [&](size_t a, size_t b) { return first[a] < first[b]; });
  }
  std::vector<int64_t> place(listed.size());
  std::vector<int64_t> listed_first;
  std::vector<int64_t> listed_counts;
  for (size_t k = 0; k < listed.size(); ++k) {
    place[listed[k]] = static_cast<int64_t>(k);
    listed_first.push_back(first[listed[k]]);
    listed_counts.push_back(counts[listed[k]]);
  }
  for (int64_t& group : group_of) group = place[static_cast<size_t>(group)];
  return {take_slices(x, parameters.axis, slices, listed_first), Tensor::from_i64(listed_first),
          Tensor::from_i64(group_of), Tensor::from_i64(listed_counts)};
}

}  // namespace axrun::ir
