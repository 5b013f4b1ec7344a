#include "verify/bound_body.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/grammar.h"

namespace axrun::verify {
namespace {

using ir::ElementType;
using ir::ScalarOp;

double as_f32(double x) { return static_cast<double>(static_cast<float>(x)); }

/// Members of an argument with one element per lane, so that loops over lanes have no strides.
class Spread {
 public:
  Spread(const Lanes& lanes, const double* data, int count) : data_(data) {
    if (!lanes.uniform || count == 1) return;
    std::fill_n(copies_.begin(), count, data[0]);
    data_ = copies_.data();
  }
  const double* data() const { return data_; }

 private:
  std::array<double, most_lanes> copies_;
  const double* data_;
};

struct Pair {
  const Lanes& a;
  const Lanes& b;
};

/// Two numbers that are certain: the result, and next to it what f32 makes of it.
template <typename Function>
void rounded_pair(const Pair& p, Lanes& result, int count, Function f) {
  const Spread left(p.a, p.a.value.data(), count), right(p.b, p.b.value.data(), count);
  const double* __restrict a = left.data();
  const double* __restrict b = right.data();
  double* __restrict value = result.value.data();
  double* __restrict low = result.low.data();
  double* __restrict high = result.high.data();
  int64_t inexact = 0;
  for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
    const double exact = f(a[k], b[k]);
    const double nearest = as_f32(exact);
    value[k] = exact;
    low[k] = nearest < exact ? nearest : exact;
    high[k] = nearest > exact ? nearest : exact;
    inexact |= nearest == exact ? 0 : 1;
  }
  result.certain = inexact == 0;
}

/// Nothing is rounded. False when an integer is too large.
template <typename Function>
bool plain_pair(const Pair& p, Lanes& result, int count, double limit, Function f) {
  const Spread left(p.a, p.a.value.data(), count), right(p.b, p.b.value.data(), count);
  const double* __restrict a = left.data();
  const double* __restrict b = right.data();
  double* __restrict value = result.value.data();
  int64_t beyond = 0;
  for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
    const double x = f(a[k], b[k]);
    value[k] = x;
    beyond |= std::fabs(x) > limit ? 1 : 0;
  }
  result.certain = true;
  return beyond == 0;
}

/// Intervals of finite numbers; false when one is not.
template <typename Function>
bool finite_pair(const Pair& p, Lanes& result, int count, Function f) {
  const Spread a_value(p.a, p.a.value.data(), count), a_lows(p.a, p.a.lows(), count),
      a_highs(p.a, p.a.highs(), count);
  const Spread b_value(p.b, p.b.value.data(), count), b_lows(p.b, p.b.lows(), count),
      b_highs(p.b, p.b.highs(), count);
  const double *__restrict a = a_value.data(), *__restrict a_low = a_lows.data(),
                           *__restrict a_high = a_highs.data();
  const double *__restrict b = b_value.data(), *__restrict b_low = b_lows.data(),
                           *__restrict b_high = b_highs.data();
  double* __restrict value = result.value.data();
  double* __restrict lows = result.low.data();
  double* __restrict highs = result.high.data();
  int64_t infinite = 0;
  for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
    double low, high;
    value[k] = f(a[k], a_low[k], a_high[k], b[k], b_low[k], b_high[k], low, high);
    const double below = as_f32(low);
    const double above = as_f32(high);
    lows[k] = below < low ? below : low;
    highs[k] = above > high ? above : high;
    // A difference is NaN where one side is, or where both are the same infinity.
    infinite |= highs[k] - lows[k] < infinity ? 0 : 1;
    infinite |= a_high[k] - a_low[k] < infinity ? 0 : 1;
    infinite |= b_high[k] - b_low[k] < infinity ? 0 : 1;
  }
  result.certain = false;
  return infinite == 0;
}

double smaller(double a, double b) { return a < b ? a : b; }
double larger(double a, double b) { return a > b ? a : b; }

bool fast_f32(ScalarOp op, const Pair& p, Lanes& result, int count) {
  if (p.a.certain && p.b.certain) {
    switch (op) {
      case ScalarOp::add:
        rounded_pair(p, result, count, [](double a, double b) { return a + b; });
        return true;
      case ScalarOp::sub:
        rounded_pair(p, result, count, [](double a, double b) { return a - b; });
        return true;
      case ScalarOp::mul:
        rounded_pair(p, result, count, [](double a, double b) { return a * b; });
        return true;
      case ScalarOp::max:
        return plain_pair(p, result, count, infinity, [](double a, double b) { return ir::nan_max(a, b); });
      case ScalarOp::min:
        return plain_pair(p, result, count, infinity, [](double a, double b) { return ir::nan_min(a, b); });
      default:
        return false;
    }
  }
  switch (op) {
    case ScalarOp::add:
      return finite_pair(
          p, result, count,
          [](double a, double al, double ah, double b, double bl, double bh, double& low, double& high) {
            low = al + bl;
            high = ah + bh;
            return a + b;
          });
    case ScalarOp::sub:
      return finite_pair(
          p, result, count,
          [](double a, double al, double ah, double b, double bl, double bh, double& low, double& high) {
            low = al - bh;
            high = ah - bl;
            return a - b;
          });
    case ScalarOp::mul:
      if (&p.a == &p.b) {
        return finite_pair(
            p, result, count,
            [](double a, double al, double ah, double, double, double, double& low, double& high) {
              const double ll = al * al, hh = ah * ah;
              low = al * ah <= 0 ? 0 : smaller(ll, hh);
              high = larger(ll, hh);
              return a * a;
            });
      }
      return finite_pair(
          p, result, count,
          [](double a, double al, double ah, double b, double bl, double bh, double& low, double& high) {
            const double ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
            low = smaller(smaller(ll, lh), smaller(hl, hh));
            high = larger(larger(ll, lh), larger(hl, hh));
            return a * b;
          });
    case ScalarOp::max:
      return finite_pair(
          p, result, count,
          [](double a, double al, double ah, double b, double bl, double bh, double& low, double& high) {
            low = larger(al, bl);
            high = larger(ah, bh);
            return larger(a, b);
          });
    case ScalarOp::min:
      return finite_pair(
          p, result, count,
          [](double a, double al, double ah, double b, double bl, double bh, double& low, double& high) {
            low = smaller(al, bl);
            high = smaller(ah, bh);
            return smaller(a, b);
          });
    default:
      return false;
  }
}

template <typename Function>
bool decision(const Pair& p, Lanes& result, int count, Function f) {
  return plain_pair(p, result, count, 1, [f](double a, double b) { return f(a, b) ? 1.0 : 0.0; });
}

bool fast_comparison(ScalarOp op, const Pair& p, Lanes& result, int count) {
  switch (op) {
    case ScalarOp::equal:
      return decision(p, result, count, [](double a, double b) { return a == b; });
    case ScalarOp::less:
      return decision(p, result, count, [](double a, double b) { return a < b; });
    case ScalarOp::less_equal:
      return decision(p, result, count, [](double a, double b) { return a <= b; });
    case ScalarOp::greater:
      return decision(p, result, count, [](double a, double b) { return a > b; });
    case ScalarOp::greater_equal:
      return decision(p, result, count, [](double a, double b) { return a >= b; });
    case ScalarOp::logical_and:
      return decision(p, result, count, [](double a, double b) { return a != 0 && b != 0; });
    case ScalarOp::logical_or:
      return decision(p, result, count, [](double a, double b) { return a != 0 || b != 0; });
    default:
      return false;
  }
}

bool fast_index(ScalarOp op, const Pair& p, Lanes& result, int count) {
  constexpr double limit = 9007199254740992.0;  // 2^53
  switch (op) {
    case ScalarOp::add:
      return plain_pair(p, result, count, limit, [](double a, double b) { return a + b; });
    case ScalarOp::sub:
      return plain_pair(p, result, count, limit, [](double a, double b) { return a - b; });
    case ScalarOp::mul:
      return plain_pair(p, result, count, limit, [](double a, double b) { return a * b; });
    default:
      return false;
  }
}

bool is_input(ScalarOp op) {
  return op == ScalarOp::axis || op == ScalarOp::parameter || op == ScalarOp::time;
}
bool is_literal(ScalarOp op) {
  return op == ScalarOp::real || op == ScalarOp::integer || op == ScalarOp::extent;
}

}  // namespace

void Lanes::set_uniform(const Interval& interval) {
  uniform = true;
  consecutive = false;
  put(0, interval);
  finish(1);
}

void Lanes::put(int lane, const Interval& interval) {
  const auto k = static_cast<size_t>(lane);
  value[k] = interval.value;
  low[k] = interval.low;
  high[k] = interval.high;
}

void Lanes::finish(int count) {
  certain = true;
  for (size_t k = 0; k < static_cast<size_t>(count); ++k)
    certain &= (low[k] == value[k] && high[k] == value[k]) || std::isnan(low[k]);
  if (!certain) return;
  for (size_t k = 0; k < static_cast<size_t>(count); ++k) value[k] = low[k];
}

BoundBody::BoundBody(const ir::Program& program, const std::vector<ir::ExprId>& roots,
                     const std::vector<ir::Shape>& shapes, const std::map<std::string, ir::Dim>& sizes) {
  std::vector<int> number_of(program.exprs.size(), -1);
  const std::vector<ir::ExprId> ids = ir::reachable(program, roots);
  lanes_.resize(ids.size());
  for (ir::ExprId id : ids) {
    const ir::Expr& e = program.exprs[static_cast<size_t>(id)];
    const auto number = static_cast<int>(nodes_.size());
    number_of[static_cast<size_t>(id)] = number;
    Node node;
    node.op = e.op;
    node.type = e.type;
    for (size_t k = 0; k < 3; ++k) {
      if (e.args[k] == ir::none) continue;
      node.args[k] = number_of[static_cast<size_t>(e.args[k])];
      if (k == 0) node.from = program.exprs[static_cast<size_t>(e.args[k])].type;
    }
    for (ir::ExprId index : e.indices) node.indices.push_back(number_of[static_cast<size_t>(index)]);
    Lanes& lanes = lanes_[static_cast<size_t>(number)];
    if (e.type == ElementType::string) throw NoBound{"strings are not followed"};
    if (e.op == ScalarOp::load) {
      node.tensor = static_cast<ir::TensorId>(e.integer);
      node.shape = shapes[static_cast<size_t>(e.integer)];
      node.strides = ir::row_major_strides(node.shape);
    } else if (e.op == ScalarOp::real) {
      lanes.set_uniform(rounded(e.type, Interval::exactly(e.real)));
    } else if (e.op == ScalarOp::integer) {
      lanes.set_uniform(Interval::exactly(ir::integer_to_real(e.type, e.integer)));
    } else if (e.op == ScalarOp::extent) {
      const auto extent = e.dim.substitute(sizes).constant();
      if (!extent) throw NoBound{"the size " + e.dim.to_string() + " is not known"};
      lanes.set_uniform(Interval::exactly(static_cast<double>(*extent)));
    }
    if (is_input(e.op)) {
      auto& inputs = e.op == ScalarOp::axis ? axes_ : e.op == ScalarOp::time ? time_ : parameters_;
      const size_t place = e.op == ScalarOp::time ? 0 : static_cast<size_t>(e.integer);
      if (inputs.size() <= place) inputs.resize(place + 1, -1);
      // Builders share equal nodes; where one does not, all of them must be set.
      if (inputs[place] != -1) {
        number_of[static_cast<size_t>(id)] = inputs[place];
        nodes_.push_back(std::move(node));
        continue;
      }
      inputs[place] = number;
    } else if (!is_literal(e.op)) {
      steps_.push_back(static_cast<size_t>(number));
    }
    nodes_.push_back(std::move(node));
  }
  for (ir::ExprId root : roots) roots_.push_back(static_cast<size_t>(number_of[static_cast<size_t>(root)]));
}

Lanes* BoundBody::axis(size_t number) {
  if (number >= axes_.size() || axes_[number] < 0) return nullptr;
  return &lanes_[static_cast<size_t>(axes_[number])];
}

Lanes* BoundBody::parameter(size_t number) {
  if (number >= parameters_.size() || parameters_[number] < 0) return nullptr;
  return &lanes_[static_cast<size_t>(parameters_[number])];
}

Lanes* BoundBody::time() { return time_.empty() ? nullptr : &lanes_[static_cast<size_t>(time_[0])]; }

void BoundBody::run(int count, ElementSource& source) {
  for (size_t number : steps_) evaluate(number, count, source);
}

void BoundBody::evaluate(size_t number, int count, ElementSource& source) {
  const Node& node = nodes_[number];
  Lanes& result = lanes_[number];
  result.uniform = true;
  result.consecutive = false;
  for (int argument : node.args) {
    if (argument >= 0) result.uniform &= lanes_[static_cast<size_t>(argument)].uniform;
  }
  for (int index : node.indices) result.uniform &= lanes_[static_cast<size_t>(index)].uniform;
  const int lanes = result.uniform ? 1 : count;
  if (node.op == ScalarOp::load) return load(node, result, lanes, source);
  if (!fast(node, result, lanes)) general(node, result, lanes);
}

/// Where one index goes on from lane to lane and the others are the same. False where that is not known, or
/// something is not inside.
bool BoundBody::load_run(const Node& node, Lanes& result, int count, ElementSource& source) const {
  int64_t first = 0, step = 0;
  for (size_t d = 0; d < node.indices.size(); ++d) {
    const Lanes& index = lanes_[static_cast<size_t>(node.indices[d])];
    if (!index.certain || (!index.uniform && (!index.consecutive || step != 0))) return false;
    const double x = index.value[0], last = index.uniform ? x : x + (count - 1);
    if (!(x >= 0 && last < static_cast<double>(node.shape[d]))) return false;
    first += static_cast<int64_t>(x) * node.strides[d];
    if (!index.uniform) step = node.strides[d];
  }
  source.read_run(node.tensor, first, step, count, result);
  return true;
}

void BoundBody::load(const Node& node, Lanes& result, int count, ElementSource& source) {
  if (node.args[0] < 0 && load_run(node, result, count, source)) return;
  auto& positions = positions_;
  auto& position = position_;
  auto& outside = outside_;
  bool all_certain = true;
  double base = 0;
  int64_t base_outside = 0;
  for (int number : node.indices) all_certain &= lanes_[static_cast<size_t>(number)].certain;
  std::fill_n(position.begin(), count, 0.0);
  std::fill_n(outside.begin(), count, 0);
  for (size_t d = 0; d < node.indices.size(); ++d) {
    const Lanes& index = lanes_[static_cast<size_t>(node.indices[d])];
    const auto extent = static_cast<double>(node.shape[d]);
    const auto stride = static_cast<double>(node.strides[d]);
    if (index.uniform) {
      base += index.value[0] * stride;
      base_outside |= index.value[0] >= 0 && index.value[0] < extent ? 0 : 1;
      continue;
    }
    const double* __restrict x = index.value.data();
    double* __restrict to = position.data();
    for (size_t k = 0; k < static_cast<size_t>(count); ++k) to[k] += x[k] * stride;
    // Negative where an index is, or is behind the end: whole numbers in the last bits of larger ones,
    // because comparisons would not be done in vectors. What is too large for these bits is far outside.
    constexpr double offset = 0x1.8p52;
    const auto last = static_cast<uint64_t>(node.shape[d] - 1);
    uint64_t bits = 0;
    for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
      const uint64_t i = std::bit_cast<uint64_t>(x[k] + offset) - std::bit_cast<uint64_t>(offset);
      bits |= i | (last - i);
    }
    const auto any = static_cast<int64_t>(bits);
    for (size_t k = 0; any < 0 && k < static_cast<size_t>(count); ++k)
      outside[k] |= (x[k] >= 0 ? 0 : 1) | (x[k] < extent ? 0 : 1);
  }
  int64_t any_outside = base_outside;
  for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
    position[k] += base;
    outside[k] |= base_outside;
    any_outside |= outside[k];
  }
  const bool guarded = node.args[0] >= 0;
  if (!guarded && all_certain) {
    if (any_outside != 0) throw NoBound{"data leads out of bounds"};
    // Adding 2^52 leaves a whole number below it in the lowest 52 bits.
    for (size_t k = 0; k < static_cast<size_t>(count); ++k)
      positions[k] = std::bit_cast<int64_t>(position[k] + 0x1p52) & ((int64_t{1} << 52) - 1);
    source.read(node.tensor, positions.data(), count, result);
    return;
  }
  if (guarded && all_certain && argument(node, 0).certain && argument(node, 1).certain) {
    const Lanes &guard = argument(node, 0), &otherwise = argument(node, 1);
    int64_t stray = 0;
    for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
      const bool reads = guard.value[guard.uniform ? 0 : k] != 0;
      stray |= reads ? outside[k] : 0;
      positions[k] = reads ? std::bit_cast<int64_t>(position[k] + 0x1p52) & ((int64_t{1} << 52) - 1) : -1;
    }
    if (stray != 0) throw NoBound{"data leads out of bounds"};
    source.read(node.tensor, positions.data(), count, result);
    for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
      if (positions[k] >= 0) continue;
      result.value[k] = otherwise.value[otherwise.uniform ? 0 : k];
      if (!result.certain) result.low[k] = result.high[k] = result.value[k];
    }
    return;
  }
  // Lanes that read for certain, those that do not, and those that may read anything or nothing.
  std::array<bool, most_lanes> unsure;
  for (int lane = 0; lane < count; ++lane) {
    const auto k = static_cast<size_t>(lane);
    const Interval guard = guarded ? argument(node, 0).at(lane) : Interval::exactly(1);
    bool sure_index = true;
    for (int index : node.indices) sure_index &= lanes_[static_cast<size_t>(index)].at(lane).is_certain();
    unsure[k] = guard.high != 0 && !sure_index;
    const bool reads = guard.high != 0 && sure_index;
    if (reads && outside[k] != 0 && guard.low != 0) throw NoBound{"data leads out of bounds"};
    positions[k] = reads && outside[k] == 0 ? static_cast<int64_t>(position[k]) : -1;
  }
  source.read(node.tensor, positions.data(), count, result);
  for (int lane = 0; lane < count; ++lane) {
    const auto k = static_cast<size_t>(lane);
    const Interval guard = guarded ? argument(node, 0).at(lane) : Interval::exactly(1);
    const Interval otherwise = guarded ? argument(node, 1).at(lane) : Interval::exactly(0);
    Interval loaded = Interval{result.value[k], result.lows()[k], result.highs()[k]};
    if (unsure[k]) loaded = Interval::anything(loaded.value);
    if (!unsure[k] && positions[k] < 0) loaded = otherwise;
    result.put(lane, verify::select(guard, loaded, otherwise));
  }
  result.finish(count);
}

bool BoundBody::fast(const Node& node, Lanes& result, int count) {
  if (node.args[1] < 0) return false;
  const Lanes& a = argument(node, 0);
  const Lanes& b = argument(node, 1);
  if (node.op == ScalarOp::select) {
    const Lanes& c = argument(node, 2);
    if (!a.certain || !b.certain || !c.certain) return false;
    for (int k = 0; k < count; ++k) {
      const Lanes& chosen = a.value[static_cast<size_t>(a.uniform ? 0 : k)] != 0 ? b : c;
      result.value[static_cast<size_t>(k)] = chosen.value[static_cast<size_t>(chosen.uniform ? 0 : k)];
    }
    result.certain = true;
    return true;
  }
  const Pair pair{a, b};
  if (a.certain && b.certain && fast_comparison(node.op, pair, result, count)) return true;
  if (node.from == ElementType::f32) return fast_f32(node.op, pair, result, count);
  if (node.from != ElementType::i64 || !a.certain || !b.certain) return false;
  const bool shifted =
      (a.consecutive && b.uniform && (node.op == ScalarOp::add || node.op == ScalarOp::sub)) ||
      (a.uniform && b.consecutive && node.op == ScalarOp::add);
  result.consecutive = shifted;
  return fast_index(node.op, pair, result, count);
}

void BoundBody::general(const Node& node, Lanes& result, int count) {
  const Lanes& a = argument(node, 0);
  for (int lane = 0; lane < count; ++lane) {
    switch (node.op) {
      case ScalarOp::select:
        result.put(lane, verify::select(a.at(lane), argument(node, 1).at(lane), argument(node, 2).at(lane)));
        break;
      case ScalarOp::cast:
      case ScalarOp::cast_saturate:
        result.put(lane, verify::cast(node.from, node.type, node.op == ScalarOp::cast_saturate, a.at(lane)));
        break;
      default:
        if (ir::argument_count(node.op) == 1) {
          result.put(lane, apply(node.op, node.from, a.at(lane)));
        } else {
          result.put(lane, apply(node.op, node.from, a.at(lane), argument(node, 1).at(lane),
                                 node.args[0] == node.args[1]));
        }
    }
  }
  result.finish(count);
}

}  // namespace axrun::verify
