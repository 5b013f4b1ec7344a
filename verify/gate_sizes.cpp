#include "verify/gate_sizes.h"

#include <algorithm>
#include <utility>

#include "ir/operation_count.h"

namespace axrun::verify {
namespace {

/// What small sizes may take, where those at hand take no more: operands and results.
constexpr double most_bytes = 64 << 20;
/// What a border may take that no size at hand asks for: memory, and operations of one call. The gate calls
/// a candidate some ten times at each size.
constexpr double little_memory = 16 << 20, little_work = 16e6;

int64_t product_of(const SizeAssignment& sizes) {
  int64_t product = 1;
  for (const auto& [name, value] : sizes) {
    if (value > 0 && __builtin_mul_overflow(product, value, &product)) return INT64_MAX;
  }
  return product;
}

/// The nearest value that is claimed.
int64_t claimed(const ir::loop::Size& range, int64_t value) {
  const int64_t first = (range.low + range.divisor - 1) / range.divisor * range.divisor;
  const int64_t last = range.high / range.divisor * range.divisor;
  return std::clamp((value + range.divisor - 1) / range.divisor * range.divisor, first,
                    std::max(first, last));
}

std::map<std::string, ir::Dim> as_dims(const SizeAssignment& sizes) {
  std::map<std::string, ir::Dim> values;
  for (const auto& [name, value] : sizes) values.emplace(name, ir::Dim(value));
  return values;
}

/// What operands and results take.
double bytes_at(const ir::Program& expression, const SizeAssignment& sizes) {
  const std::map<std::string, ir::Dim> values = as_dims(sizes);
  std::vector<ir::TensorId> tensors = expression.operands;
  tensors.insert(tensors.end(), expression.outputs.begin(), expression.outputs.end());
  double bytes = 0;
  for (const ir::TensorId id : tensors) {
    if (id == ir::none) continue;
    const ir::TensorDecl& tensor = expression.tensors[static_cast<size_t>(id)];
    auto here = static_cast<double>(ir::size_of(tensor.type));
    for (const ir::Dim& dim : tensor.dims)
      here *= static_cast<double>(dim.substitute(values).constant().value_or(1));
    bytes += here;
  }
  return bytes;
}

double operations_at(const ir::Program& expression, const SizeAssignment& sizes) {
  const std::map<std::string, ir::Dim> values = as_dims(sizes);
  ir::Program program = expression;
  for (ir::TensorDecl& tensor : program.tensors) {
    for (ir::Dim& dim : tensor.dims) dim = dim.substitute(values);
  }
  for (ir::Expr& expr : program.exprs) expr.dim = expr.dim.substitute(values);
  for (ir::Stage& stage : program.stages) {
    for (auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (ir::Axis& axis : *axes) axis.extent = axis.extent.substitute(values);
    }
  }
  const ir::OperationCount count = ir::count_operations(program);
  return count.floating() + count.integer();
}

bool takes_little(const ir::Program& expression, const SizeAssignment& sizes) {
  return bytes_at(expression, sizes) <= little_memory && operations_at(expression, sizes) <= little_work;
}

void add_new(std::vector<SizeAssignment>& all, SizeAssignment sizes) {
  if (std::find(all.begin(), all.end(), sizes) == all.end()) all.push_back(std::move(sizes));
}

void add_tails(const ir::Program& expression, const std::vector<ir::loop::Size>& ranges,
               const SizeAssignment& at_hand, SizesToTry& all) {
  const double most = std::max(most_bytes, bytes_at(expression, at_hand));
  // Within, at and beyond the ends of small tiles, the first ones thoroughly; 0 stands for the lower end of
  // the range.
  constexpr std::array<int64_t, 7> wanted = {0, 7, 16, 37, 3, 9, 15};
  constexpr size_t thorough = 4;
  for (size_t start = 0; start < wanted.size(); ++start) {
    SizeAssignment sizes;
    for (size_t k = 0; k < ranges.size(); ++k) {
      // Every size gets every value, in other company each time; of two sizes the large values of one go with
      // the small ones of the other, so that no product of the two is large, or as small as can be.
      const size_t turned = (k % 2 == 0 ? start : wanted.size() - 1 - start) + k / 2 * 3;
      sizes[ranges[k].name] = claimed(ranges[k], wanted[turned % wanted.size()]);
    }
    if (bytes_at(expression, sizes) > most) {
      for (const auto& [name, value] : at_hand) sizes[name] = std::min(sizes[name], value);
    }
    add_new(all.sizes, std::move(sizes));
    if (start < thorough) all.thorough = all.sizes.size();
  }
}

/// One size at a value, next to others as large as takes little; false where even small ones take more.
bool add_thin(const ir::Program& expression, const std::vector<ir::loop::Size>& ranges, size_t axis,
              int64_t value, std::vector<SizeAssignment>& all) {
  // Two vectors and a tail, or less than one.
  constexpr std::array<int64_t, 3> others = {37, 7, 2};
  for (const int64_t other : others) {
    SizeAssignment sizes;
    for (size_t k = 0; k < ranges.size(); ++k)
      sizes[ranges[k].name] = claimed(ranges[k], k == axis ? value : other);
    if (!takes_little(expression, sizes)) continue;
    add_new(all, std::move(sizes));
    return true;
  }
  return false;
}

void add_borders(const ir::Program& expression, const std::vector<ir::loop::Size>& ranges,
                 const TestedSizes& tested, std::vector<SizeAssignment>& all) {
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    bool little = true;
    for (const int64_t border : size_borders) {
      for (const int64_t value : {border, border + 1}) {
        if (value > ranges[axis].high || value <= tested.largest(ranges[axis].name)) continue;
        little = little && add_thin(expression, ranges, axis, value, all);
      }
    }
  }
}

}  // namespace

int64_t served_up_to(int64_t largest) {
  int64_t most = largest > INT64_MAX / 2 ? INT64_MAX : 2 * largest;
  for (const int64_t border : size_borders) {
    // Where the border itself is the largest that was tested, nothing says how it goes on.
    if (largest <= border) return std::min(most, std::max(largest, border - 1));
  }
  return most;
}

int64_t TestedSizes::largest(const std::string& name) const {
  int64_t largest = 0;
  for (const SizeAssignment& one : sizes_) {
    const auto found = one.find(name);
    if (found != one.end()) largest = std::max(largest, found->second);
  }
  return largest;
}

int64_t TestedSizes::largest_product() const {
  int64_t largest = 0;
  for (const SizeAssignment& one : sizes_) largest = std::max(largest, product_of(one));
  return largest;
}

void TestedSizes::add(const SizeAssignment& sizes) {
  const bool new_name = std::any_of(sizes.begin(), sizes.end(),
                                    [&](const auto& size) { return size.second > largest(size.first); });
  if (!sizes_.empty() && !new_name && product_of(sizes) <= largest_product()) return;
  sizes_.push_back(sizes);
  // What is the largest in nothing any more is left out.
  for (size_t k = 0; k + 1 < sizes_.size();) {
    TestedSizes others;
    others.sizes_ = sizes_;
    others.sizes_.erase(others.sizes_.begin() + static_cast<std::ptrdiff_t>(k));
    const bool matters = std::any_of(sizes_[k].begin(), sizes_[k].end(), [&](const auto& size) {
      return size.second > others.largest(size.first);
    });
    if (matters || product_of(sizes_[k]) > others.largest_product()) {
      ++k;
    } else {
      *this = std::move(others);
    }
  }
}

bool TestedSizes::cover(const SizeAssignment& sizes) const {
  if (sizes_.empty()) return false;
  const bool each = std::all_of(sizes.begin(), sizes.end(), [&](const auto& size) {
    return size.second <= served_up_to(largest(size.first));
  });
  return each && product_of(sizes) <= served_up_to(largest_product());
}

SizesToTry sizes_to_try(const ir::Program& expression, const std::vector<ir::loop::Size>& ranges,
                        const SizeAssignment& at_hand, const TestedSizes& tested) {
  SizesToTry all = {{at_hand}, 1};
  if (ranges.empty()) return all;
  if (tested.sizes().empty()) add_tails(expression, ranges, at_hand, all);
  add_borders(expression, ranges, tested, all.sizes);
  return all;
}

}  // namespace axrun::verify
