#include "verify/gate_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_set>
#include <utility>

#include "ir/element_access.h"
#include "ir/grammar.h"
#include "verify/checks.h"
#include "verify/interval.h"

namespace axrun::verify {
namespace {

using ir::ElementType;
using ir::Shape;

std::map<std::string, ir::Dim> as_dims(const std::map<std::string, int64_t>& sizes) {
  std::map<std::string, ir::Dim> dims;
  for (const auto& [name, value] : sizes) dims.emplace(name, ir::Dim(value));
  return dims;
}

int64_t extent(const ir::Dim& dim, const std::map<std::string, ir::Dim>& sizes) {
  const auto value = dim.substitute(sizes).constant();
  if (!value || *value < 0) throw NoBound{"the size " + dim.to_string() + " is not known"};
  return *value;
}

/// For each tensor of integers that index expressions read, directly or through other stages: the extent of
/// the smallest dimension that they lead into; 0: none.
std::vector<int64_t> index_limits(const ir::Program& program, const std::map<std::string, ir::Dim>& sizes) {
  std::vector<int64_t> limits(program.tensors.size(), 0);
  auto restrict_to = [&](ir::ExprId index, int64_t limit) {
    bool changed = false;
    for (ir::ExprId id : ir::reachable(program, {index})) {
      const ir::Expr& e = program.exprs[static_cast<size_t>(id)];
      if (e.op != ir::ScalarOp::load || ir::is_float(e.type)) continue;
      int64_t& known = limits[static_cast<size_t>(e.integer)];
      if (known != 0 && known <= limit) continue;
      known = limit;
      changed = true;
    }
    return changed;
  };
  for (const ir::Expr& e : program.exprs) {
    for (size_t d = 0; d < e.indices.size(); ++d) {
      const auto& dims = program.tensors[static_cast<size_t>(e.integer)].dims;
      restrict_to(e.indices[d], std::max<int64_t>(extent(dims[d], sizes), 1));
    }
  }
  for (auto stage = program.stages.rbegin(); stage != program.stages.rend(); ++stage) {
    for (size_t r = 0; r < stage->results.size() && r < stage->body.size(); ++r) {
      const int64_t limit = limits[static_cast<size_t>(stage->results[r])];
      if (limit != 0) restrict_to(stage->body[r], limit);
    }
  }
  return limits;
}

/// How many numbers are drawn before they repeat; all that there are where those are few. Rows and planes do
/// not begin anew with the same numbers: a kernel that takes one for another is noticed.
int64_t period_of(const OperandPlan& operand, const FillOptions& o) {
  const int64_t count = ir::element_count(operand.shape);
  const Shape strides = ir::row_major_strides(operand.shape);
  if (!checks::on("gate.no_period") && strides.size() > 1) return std::min(count, strides[0]);
  for (const int64_t prime : {65521, 1048573, 16777213}) {
    const bool varied =
        std::none_of(strides.begin(), strides.end(), [&](int64_t stride) { return stride % prime == 0; });
    // Specials are in every repetition, and not in every reduction.
    const bool long_enough = static_cast<double>(prime) * o.special_share >= 2;
    if (2 * prime <= count && varied && long_enough) return prime;
  }
  return count;
}

/// The first `period` elements over and over.
void repeat(void* data, int64_t period, int64_t count, ElementType type) {
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements) * ir::size_of(type); };
  auto* to = static_cast<char*>(data);
  for (int64_t k = period; k < count; k += period)
    std::memcpy(to + bytes(k), to, bytes(std::min(period, count - k)));
}

/// Real operands: calls set(k, value) for the first `period`, then `repeat_all`, then set again where one
/// number among all is singled out.
template <typename Set, typename Repeat>
void fill_reals(int64_t count, int64_t period, ElementType type, const FillOptions& o, Set set,
                Repeat repeat_all) {
  Random random(o.seed);
  auto uniform = [&] { return static_cast<int32_t>(random.next()) * 0x1p-31; };
  auto sign = [&] { return (random.next() & 1) != 0 ? 1.0 : -1.0; };
  constexpr double ordinary = 0.5;
  const double infinity = checks::on("gate.infinities") ? std::numeric_limits<double>::infinity() : ordinary;
  const double nan = checks::on("gate.nans") ? std::numeric_limits<double>::quiet_NaN() : ordinary;
  const double negative_zero = checks::on("gate.negative_zeros") ? -0.0 : 0.0;
  const double largest =
      type == ElementType::f16 ? 65504 : static_cast<double>(std::numeric_limits<float>::max());
  const double most = checks::on("gate.largest") ? largest : ordinary;
  auto denormal = [&] {
    if (!checks::on("gate.denormals")) return ordinary;
    return sign() * std::ldexp(1 + random.unit(), -127 - static_cast<int>(random.below(22)));
  };
  auto magnitude = [&](int exponent) {
    if (!checks::on("gate.magnitudes")) exponent = 0;
    const double direction = sign();
    return direction * std::ldexp(1 + random.unit(), exponent);
  };
  auto sprinkled = [&](auto special) {
    for (int64_t k = 0; k < period; ++k) set(k, random.unit() < o.special_share ? special() : uniform());
    repeat_all();
    // However few there are, one is at either end or in between.
    if (count > 0)
      set(random.below(3) == 0 ? 0 : random.below(2) == 0 ? count - 1 : random.below(count), special());
  };
  switch (o.distribution) {
    case Distribution::small_integers:
      for (int64_t k = 0; k < period; ++k) {
        if (o.magnitude == 0) {
          set(k, random.below(8) == 0 ? sign() : 0.0);
        } else {
          set(k, static_cast<double>(random.below(2 * o.magnitude + 1) - o.magnitude));
        }
      }
      return repeat_all();
    case Distribution::uniform:
      for (int64_t k = 0; k < period; ++k) set(k, uniform());
      return repeat_all();
    case Distribution::wide_exponents:
      for (int64_t k = 0; k < period; ++k) set(k, magnitude(static_cast<int>(random.below(49)) - 24));
      return repeat_all();
    case Distribution::mostly_zeros:
      for (int64_t k = 0; k < period; ++k) set(k, random.below(10) == 0 ? uniform() : 0.0);
      return repeat_all();
    case Distribution::all_positive:
      for (int64_t k = 0; k < period; ++k) set(k, 1 - random.unit());
      return repeat_all();
    case Distribution::large:
      for (int64_t k = 0; k < period; ++k) set(k, magnitude(40 + static_cast<int>(random.below(26))));
      return repeat_all();
    case Distribution::nans:
      return sprinkled([&] { return nan; });
    case Distribution::positive_infinities:
      return sprinkled([&] { return infinity; });
    case Distribution::negative_infinities:
      return sprinkled([&] { return -infinity; });
    case Distribution::signed_zeros:
      for (int64_t k = 0; k < period; ++k)
        set(k, random.below(2) == 0 ? uniform() : sign() < 0 ? negative_zero : 0.0);
      return repeat_all();
    case Distribution::denormals:
      for (int64_t k = 0; k < period; ++k)
        set(k, o.singled_out && (o.special_share >= 1 || random.unit() < o.special_share) ? denormal()
                                                                                          : uniform());
      return repeat_all();
    case Distribution::largest:
      return sprinkled([&] { return sign() * most; });
    case Distribution::all_specials:
      return sprinkled([&] {
        const double specials[] = {nan, infinity, -infinity, 0.0, negative_zero, denormal(), most, -most};
        return specials[random.below(8)];
      });
  }
}

int64_t any_integer(const OperandPlan& operand, const FillOptions& o, Random& random) {
  if (operand.limit > 0) return random.below(operand.limit);
  const bool is_signed = ir::is_signed_integer(operand.type);
  int64_t most = 1000;
  if (ir::bits_of(operand.type) <= 16) most = ir::integer_max(operand.type);
  if (o.distribution == Distribution::small_integers)
    most = std::min<int64_t>(most, std::max(o.magnitude, 1));
  const int64_t least = is_signed && o.distribution != Distribution::all_positive ? -most : 0;
  if (o.distribution == Distribution::mostly_zeros && random.below(10) != 0) return 0;
  return least + random.below(most - least + 1);
}

bool any_boolean(const FillOptions& o, Random& random) {
  if (o.distribution == Distribution::mostly_zeros) return random.below(10) == 0;
  if (o.distribution == Distribution::all_positive) return random.below(10) != 0;
  return random.below(2) == 0;
}

}  // namespace

const char* name_of(Distribution distribution) {
  constexpr const char* names[] = {"small integers",
                                   "uniform in [-1, 1)",
                                   "wide exponents",
                                   "mostly zeros",
                                   "all positive",
                                   "large magnitudes",
                                   "NaN here and there",
                                   "+infinity here and there",
                                   "-infinity here and there",
                                   "zeros of both signs",
                                   "an operand of denormals",
                                   "largest numbers here and there",
                                   "special values of all kinds"};
  return names[static_cast<size_t>(distribution)];
}

std::vector<OperandPlan> plan_operands(const ir::Program& program,
                                       const std::map<std::string, int64_t>& given) {
  const auto sizes = as_dims(given);
  const std::vector<int64_t> limits = index_limits(program, sizes);
  std::vector<OperandPlan> plans;
  for (ir::TensorId id : program.operands) {
    if (id == ir::none) continue;
    const ir::TensorDecl& declared = program.tensors[static_cast<size_t>(id)];
    if (declared.type == ElementType::string || declared.type == ElementType::undefined)
      throw NoBound{"the operand " + declared.name + " is not of numbers"};
    OperandPlan plan{declared.type, {}, limits[static_cast<size_t>(id)]};
    for (const ir::Dim& dim : declared.dims) plan.shape.push_back(extent(dim, sizes));
    plans.push_back(std::move(plan));
  }
  return plans;
}

int64_t longest_reduction(const ir::Program& program, const std::map<std::string, int64_t>& given) {
  const auto sizes = as_dims(given);
  int64_t longest = 1;
  for (const ir::Stage& stage : program.stages) {
    int64_t points = 1;
    for (const ir::Axis& axis : stage.reduce_axes) points *= std::max<int64_t>(extent(axis.extent, sizes), 1);
    longest = std::max(longest, points);
  }
  return longest;
}

void fill(void* data, const OperandPlan& operand, const FillOptions& options) {
  const int64_t count = ir::element_count(operand.shape);
  const int64_t period = period_of(operand, options);
  const auto repeat_all = [&] { repeat(data, period, count, operand.type); };
  if (operand.type == ElementType::f32) {
    auto* to = static_cast<float*>(data);
    return fill_reals(
        count, period, operand.type, options,
        [to](int64_t k, double value) { to[k] = static_cast<float>(value); }, repeat_all);
  }
  ir::visit_element(operand.type, [&]<typename Row>(Row) {
    if (ir::is_float(operand.type)) {
      return fill_reals(
          count, period, operand.type, options,
          [data](int64_t k, double value) { ir::store_element(data, k, Row::from_real(value)); }, repeat_all);
    }
    Random random(options.seed);
    for (int64_t k = 0; k < period; ++k) {
      const int64_t value = operand.type == ElementType::boolean ? any_boolean(options, random) ? 1 : 0
                                                                 : any_integer(operand, options, random);
      ir::store_element(data, k, Row::from_integer(value));
    }
    repeat_all();
  });
}

std::vector<int64_t> sample_positions(const Shape& shape, int64_t count, uint64_t seed) {
  const int64_t elements = ir::element_count(shape);
  std::vector<int64_t> positions;
  if (elements == 0) return positions;
  const bool all = elements <= count;
  const int64_t wanted = all ? elements : count;
  Random random(seed);
  const Shape strides = ir::row_major_strides(shape);
  std::unordered_set<int64_t> seen;
  auto take = [&](int64_t position) {
    if (seen.insert(position).second) positions.push_back(position);
  };
  constexpr size_t most_corner_dims = 6;
  const uint32_t corners =
      checks::on("gate.corners") ? uint32_t{1} << std::min(shape.size(), most_corner_dims) : 0;
  for (uint32_t corner = 0; corner < corners; ++corner) {
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      position += (corner >> std::min(d, most_corner_dims) & 1) != 0 ? (shape[d] - 1) * strides[d] : 0;
    take(position);
  }
  auto border = [&](int64_t n) {
    switch (random.below(4)) {
      case 0:
        return random.below(2) == 0 ? int64_t{0} : n - 1;
      case 1:
        return std::max<int64_t>(n - 1 - random.below(17), 0);
      default:
        break;
    }
    const int64_t tile = int64_t{4} << random.below(5);
    const int64_t near = random.below(n / tile + 1) * tile - random.below(2);
    return std::clamp<int64_t>(near, 0, n - 1);
  };
  // Small outputs have few borders: give up on new ones after a while.
  const int64_t most_tries = all ? wanted / 2 : 4 * wanted;
  for (int64_t tries = 0; static_cast<int64_t>(positions.size()) < wanted && tries < most_tries; ++tries) {
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      const bool all = d + 1 < shape.size() || checks::on("gate.last_columns");
      const int64_t extent = all ? shape[d] : std::max<int64_t>(shape[d] - 17, 1);
      position += (random.below(2) == 0 ? border(extent) : random.below(extent)) * strides[d];
    }
    take(position);
  }
  if (!all) return positions;
  // The others in any order: where there is time for few, they are from everywhere.
  const size_t chosen = positions.size();
  for (int64_t k = 0; k < elements; ++k) take(k);
  for (size_t k = positions.size(); k > chosen + 1; --k) {
    const auto other = static_cast<size_t>(random.below(static_cast<int64_t>(k - chosen)));
    std::swap(positions[k - 1], positions[chosen + other]);
  }
  return positions;
}

}  // namespace axrun::verify
