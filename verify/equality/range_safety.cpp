#include "verify/equality/range_safety.h"

#include <algorithm>
#include <cmath>

#include "ir/arithmetic.h"
#include "ir/types.h"
#include "verify/loop_nest.h"
#include "verify/unproved.h"

namespace axrun::verify::equality {

using ir::Expr;
using ir::ScalarOp;

namespace {

constexpr double largest = 3.4e38, most_exponent = 88, least_exponent = -87;

double finite(double value) { return std::isnan(value) ? 0 : value; }

}  // namespace

RangeSafety::RangeSafety(const ir::Program& program, const std::vector<ir::loop::Size>& sizes,
                         const std::vector<InputRange>& ranges, Meaning& meaning, Algebra& algebra)
    : program_(program), sizes_(sizes), meaning_(meaning), algebra_(algebra), same_(algebra) {
  for (size_t k = 0; k < program.operands.size(); ++k) {
    const ir::TensorId id = program.operands[k];
    if (id == ir::none) continue;
    const ir::ElementType type = program.tensors[static_cast<size_t>(id)].type;
    Bounds whole{-largest, largest};
    if (ir::is_integer(type))
      whole = {static_cast<double>(ir::integer_min(type)), static_cast<double>(ir::integer_max(type))};
    if (type == ir::ElementType::boolean) whole = {0, 1};
    if (k < ranges.size()) {
      whole.low = std::max(whole.low, ranges[k].low);
      whole.high = std::min(whole.high, ranges[k].high);
    }
    tensors_[id] = whole;
  }
  for (size_t number = 0; number < program.stages.size(); ++number) visit(static_cast<int>(number));
}

/// The largest extent that is claimed. Dims grow with their sizes, or the caller gets something larger.
double RangeSafety::most(const ir::Dim& dim) const {
  std::map<std::string, ir::Dim> high;
  for (const ir::loop::Size& size : sizes_) high.emplace(size.name, ir::Dim(size.high));
  const auto value = dim.substitute(high).constant();
  return value ? std::max(1.0, static_cast<double>(*value)) : 1e18;
}

void RangeSafety::hazard(Hazard kind, const Place& at, const std::string& what) {
  hazards_.emplace(kind, "the stage " + program_.stages[static_cast<size_t>(at.stage)].name + " " + what);
}

void RangeSafety::visit(int number) {
  const ir::Stage& stage = program_.stages[static_cast<size_t>(number)];
  const bool plain = stage.kind == ir::StageKind::map ||
                     (stage.kind == ir::StageKind::reduce && stage.monoid.kind != ir::Monoid::Kind::tuple);
  if (!plain) throw Unproved{"the stage " + stage.name + " is neither a map nor a plain reduction"};
  Terms& terms = algebra_.terms();
  Place at{number, {}, algebra_.facts(), {}};
  for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const ir::Axis& axis : *axes) {
      const Term size = meaning_.extent(axis.extent);
      at.axes.push_back(size == terms.integer(1) ? terms.integer(0) : algebra_.variable(axis.name, size));
      append(at.facts, algebra_.range_of(at.axes.back()));
    }
  }
  for (size_t k = 0; k < stage.results.size(); ++k) {
    Bounds result = bounds(stage.body[k], at);
    if (stage.kind == ir::StageKind::reduce) {
      double count = 1;
      for (const ir::Axis& axis : stage.reduce_axes) count *= most(axis.extent);
      if (stage.monoid.kind == ir::Monoid::Kind::sum) {
        const bool real = ir::is_float(program_.tensors[static_cast<size_t>(stage.results[k])].type);
        result.low = result.low < 0 ? result.low * count : result.low;  // at least one term
        result.high = result.high > 0 ? result.high * count : result.high;
        TermList coordinates;
        for (const Term extent : meaning_.dims(stage.results[k]))
          coordinates.push_back(extent == terms.integer(1) ? terms.integer(0)
                                                           : algebra_.variable("e", extent));
        TermList facts = algebra_.facts();
        for (const Term c : coordinates) append(facts, algebra_.range_of(c));
        if (real && result.low < 1 && result.low >= 0 &&
            same_.holds_its_maximum(facts, meaning_.element(stage.results[k], coordinates).sum))
          result.low = 1;
      } else if (stage.monoid.kind == ir::Monoid::Kind::product) {
        const double magnitude =
            std::pow(std::max({1.0, std::abs(result.low), std::abs(result.high)}), count);
        result = {result.low >= 0 ? 0 : -magnitude, magnitude};
      }
    }
    tensors_[stage.results[k]] = checked(result, at);
  }
}

RangeSafety::Bounds RangeSafety::checked(Bounds b, const Place& at) {
  b = {finite(b.low), finite(b.high)};
  if (b.low < -largest || b.high > largest) {
    hazard(Hazard::overflow, at, "may overflow");
    b = {std::max(b.low, -largest), std::min(b.high, largest)};
  }
  return b;
}

RangeSafety::Bounds RangeSafety::bounds(ir::ExprId id, Place& at) {
  const auto known = at.known.find(id);
  if (known != at.known.end()) return known->second;
  const Expr& e = program_.exprs[static_cast<size_t>(id)];
  Bounds made = found(e, id, at);
  if (ir::is_float(e.type) && e.op != ScalarOp::real) made = checked(made, at);
  return at.known[id] = made;
}

RangeSafety::Bounds RangeSafety::found(const Expr& e, ir::ExprId id, Place& at) {
  const auto argument = [&](size_t k) { return bounds(e.args[k], at); };
  const auto join = [](const Bounds& a, const Bounds& b) {
    return Bounds{std::min(a.low, b.low), std::max(a.high, b.high)};
  };
  const Bounds everything{-largest, largest};
  switch (e.op) {
    case ScalarOp::real:
      return {e.real, e.real};
    case ScalarOp::integer:
      return {static_cast<double>(e.integer), static_cast<double>(e.integer)};
    case ScalarOp::extent:
      return {e.dim.constant() ? most(e.dim) : 1, most(e.dim)};
    case ScalarOp::load: {
      const Bounds read = tensors_.at(static_cast<ir::TensorId>(e.integer));
      return e.args[0] == ir::none ? read : join(read, argument(1));
    }
    case ScalarOp::select:
      return join(argument(1), argument(2));
    case ScalarOp::cast:
    case ScalarOp::cast_saturate:
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
    case ScalarOp::truncate: {
      const Bounds b = argument(0);
      return {std::floor(b.low), std::ceil(b.high)};
    }
    case ScalarOp::neg: {
      const Bounds b = argument(0);
      return {-b.high, -b.low};
    }
    case ScalarOp::abs: {
      const Bounds b = argument(0);
      const double magnitude = std::max(std::abs(b.low), std::abs(b.high));
      return {b.low > 0 ? b.low : b.high < 0 ? -b.high : 0, magnitude};
    }
    case ScalarOp::sqrt: {
      const Bounds b = argument(0);
      if (b.low < 0) hazard(Hazard::root, at, "takes a root of what may be negative");
      return {std::sqrt(std::max(0.0, b.low)), std::sqrt(std::max(0.0, b.high))};
    }
    case ScalarOp::exp: {
      Bounds b = argument(0);
      if (b.high > 0 && same_.below_its_maximum(at.facts, meaning_.sum_at(at.stage, e.args[0], at.axes)))
        b.high = 0;
      if (b.high > most_exponent)
        hazard(Hazard::exponential, at, "takes an exponential of what is not bounded");
      return {b.low < least_exponent ? 0 : std::exp(std::min(b.low, most_exponent)),
              std::exp(std::min(b.high, most_exponent))};
    }
    case ScalarOp::log: {
      const Bounds b = argument(0);
      if (b.low <= 0) hazard(Hazard::logarithm, at, "takes a logarithm of what may be 0");
      return {b.low <= 0 ? -largest : std::log(b.low), std::log(std::max(b.high, 1e-45))};
    }
    case ScalarOp::tanh:
    case ScalarOp::erf:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::sign:
      return {-1, 1};
    case ScalarOp::add: {
      const Bounds a = argument(0), b = argument(1);
      return {a.low + b.low, a.high + b.high};
    }
    case ScalarOp::sub: {
      const Bounds a = argument(0), b = argument(1);
      Bounds difference{a.low - b.high, a.high - b.low};
      const bool real = ir::is_float(e.type) && difference.high > 0;
      if (real && same_.below_its_maximum(at.facts, meaning_.sum_at(at.stage, id, at.axes)))
        difference.high = 0;
      return difference;
    }
    case ScalarOp::mul: {
      const Bounds a = argument(0), b = argument(1);
      const double all[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
      Bounds product{*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
      if (e.args[0] == e.args[1]) product.low = std::max(product.low, 0.0);
      return product;
    }
    case ScalarOp::div: {
      const Bounds a = argument(0), b = argument(1);
      if (b.low <= 0 && b.high >= 0) {
        hazard(Hazard::division, at, "divides by what may be 0");
        return everything;
      }
      const double all[] = {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high};
      return {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
    }
    case ScalarOp::pow: {
      const Bounds a = argument(0), b = argument(1);
      if (b.low != b.high) return everything;
      const bool even = std::fmod(b.low, 2) == 0;
      const double x = std::pow(std::abs(a.low), b.low), y = std::pow(std::abs(a.high), b.low);
      if (b.low < 0 && a.low <= 0 && a.high >= 0) {
        hazard(Hazard::division, at, "divides by what may be 0");
        return everything;
      }
      if (a.low >= 0) return {std::min(x, y), std::max(x, y)};
      return even ? Bounds{0, std::max(x, y)} : Bounds{-std::max(x, y), std::max(x, y)};
    }
    case ScalarOp::min: {
      const Bounds a = argument(0), b = argument(1);
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    }
    case ScalarOp::max: {
      const Bounds a = argument(0), b = argument(1);
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    }
    default:
      break;
  }
  if (e.type == ir::ElementType::boolean) {
    for (size_t k = 0; k < e.args.size() && e.args[k] != ir::none; ++k) argument(k);
    return {0, 1};
  }
  for (size_t k = 0; k < e.args.size() && e.args[k] != ir::none; ++k) argument(k);
  return everything;
}

}  // namespace axrun::verify::equality
