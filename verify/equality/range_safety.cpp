#include "verify/equality/range_safety.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/arithmetic.h"
#include "ir/types.h"
#include "verify/checks.h"
#include "verify/loop_nest.h"
#include "verify/unproved.h"

namespace axrun::verify::equality {

using ir::Expr;
using ir::ScalarOp;

namespace {

constexpr double most_exponent = 88, least_exponent = -87;

double finite(double value) { return std::isnan(value) ? 0 : value; }
double magnitude(const RangeSafety::Bounds& b) { return std::max(std::abs(b.low), std::abs(b.high)); }

RangeSafety::Bounds wrapped(RangeSafety::Bounds b, ir::ElementType type) {
  const auto low = static_cast<double>(ir::integer_min(type)),
             high = static_cast<double>(ir::integer_max(type));
  if (b.low < low || b.high > high) b = {low, high, b.error};
  return b;
}

/// What may be 0 and must not is a hazard; that said, it is taken to be no nearer to 0 than this, so that
/// what follows is still compared.
constexpr double least = 1.0 / 1024;

RangeSafety::Bounds apart_from_zero(const RangeSafety::Bounds& a, const RangeSafety::Bounds& b) {
  const double quotient = magnitude(a) / least;
  return {-quotient, quotient, (a.error + b.error * quotient) / least};
}

/// Whether a kind of hazard counts.
bool asked(Hazard kind) {
  switch (kind) {
    case Hazard::overflow:
      return checks::on("safety.overflow");
    case Hazard::exponential:
      return checks::on("safety.exponential");
    case Hazard::division:
      return checks::on("safety.division");
    case Hazard::logarithm:
      return checks::on("safety.logarithm");
    default:
      return checks::on("safety.root");
  }
}

/// Of finite values.
double largest_of(ir::ElementType type) {
  switch (type) {
    case ir::ElementType::f64:
      return 1.7e308;
    case ir::ElementType::f16:
      return 65504;
    case ir::ElementType::f8e4m3fn:
      return 448;
    case ir::ElementType::f8e4m3fnuz:
      return 240;
    case ir::ElementType::f8e5m2:
    case ir::ElementType::f8e5m2fnuz:
      return 57344;
    case ir::ElementType::f4e2m1:
      return 6;
    case ir::ElementType::f6e2m3:
      return 7.5;
    case ir::ElementType::f6e3m2:
      return 28;
    default:
      return largest_f32;
  }
}

}  // namespace

RangeSafety::RangeSafety(const ir::Program& program, Meaning& meaning, Algebra& algebra)
    : program_(program), meaning_(meaning), algebra_(algebra), same_(algebra) {
  for (size_t number = 0; number < program.stages.size(); ++number) {
    const ir::Stage& stage = program.stages[number];
    const bool plain = stage.kind == ir::StageKind::map ||
                       (stage.kind == ir::StageKind::reduce && stage.monoid.kind != ir::Monoid::Kind::tuple);
    if (!plain) throw Unproved{"the stage " + stage.name + " is neither a map nor a plain reduction"};
    Place at;
    at.stage = static_cast<int>(number);
    at.facts = algebra_.facts();
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const ir::Axis& axis : *axes) {
        const Term size = meaning_.extent(axis.extent);
        const bool one = size == algebra_.terms().integer(1);
        at.axes.push_back(one ? algebra_.terms().integer(0) : algebra_.variable(axis.name, size));
        append(at.facts, algebra_.range_of(at.axes.back()));
      }
    }
    places_.push_back(std::move(at));
  }
}

RangeSafety::Findings RangeSafety::within(const std::vector<InputRange>& ranges,
                                          const std::map<std::string, ir::Dim>& sizes) {
  sizes_ = sizes;
  hazards_.clear();
  tensors_.clear();
  for (size_t k = 0; k < program_.operands.size(); ++k) {
    const ir::TensorId id = program_.operands[k];
    if (id == ir::none) continue;
    const ir::ElementType type = program_.tensors[static_cast<size_t>(id)].type;
    Bounds whole{-largest_of(type), largest_of(type)};
    if (ir::is_integer(type))
      whole = {static_cast<double>(ir::integer_min(type)), static_cast<double>(ir::integer_max(type))};
    if (type == ir::ElementType::boolean) {
      whole = {0, 1};
    } else if (k < ranges.size()) {
      whole.low = std::clamp(ranges[k].low, whole.low, whole.high);
      whole.high = std::clamp(ranges[k].high, whole.low, whole.high);
    }
    tensors_[id] = whole;
  }
  for (Place& at : places_) {
    at.known.clear();
    visit(at);
  }
  Findings findings{hazards_, {}};
  for (const ir::TensorId id : program_.outputs) findings.outputs.push_back(tensors_.at(id));
  return findings;
}

double RangeSafety::value_of(const ir::Dim& dim) const {
  const auto value = dim.substitute(sizes_).constant();
  return value ? std::max(1.0, static_cast<double>(*value)) : 1e18;
}

void RangeSafety::hazard(Hazard kind, const Place& at, const std::string& what, size_t form) {
  if (!asked(kind)) return;
  hazards_.emplace(std::pair{kind, form},
                   "the stage " + program_.stages[static_cast<size_t>(at.stage)].name + " " + what);
}

/// Of the value of an expression, in each case that is not one of data.
const std::set<size_t>& RangeSafety::forms(ir::ExprId id, Place& at) {
  const auto [known, added] = at.forms.emplace(id, std::set<size_t>());
  if (!added) return known->second;
  for (const auto& [conditions, values] : algebra_.cases({meaning_.sum_at(at.stage, id, at.axes)})) {
    size_t form = 0;
    for (const Piece& piece : values[0].pieces)
      form += (algebra_.shape_of(piece) * 31 + std::hash<double>{}(piece.coefficient.get_d())) * 1000003;
    known->second.insert(form);
  }
  return known->second;
}

bool RangeSafety::below_its_maximum(ir::ExprId id, Place& at) {
  const auto [known, added] = at.below_maximum.emplace(id, false);
  if (added) known->second = same_.below_its_maximum(at.facts, meaning_.sum_at(at.stage, id, at.axes));
  return known->second;
}

bool RangeSafety::holds_its_maximum(size_t result, Place& at) {
  const auto [known, added] = at.holds_maximum.emplace(result, false);
  if (!added) return known->second;
  const ir::TensorId id = program_.stages[static_cast<size_t>(at.stage)].results[result];
  Terms& terms = algebra_.terms();
  TermList coordinates, facts = algebra_.facts();
  for (const Term extent : meaning_.dims(id))
    coordinates.push_back(extent == terms.integer(1) ? terms.integer(0) : algebra_.variable("e", extent));
  for (const Term c : coordinates) append(facts, algebra_.range_of(c));
  known->second = same_.holds_its_maximum(facts, meaning_.element(id, coordinates).sum);
  return known->second;
}

void RangeSafety::visit(Place& at) {
  const ir::Stage& stage = program_.stages[static_cast<size_t>(at.stage)];
  for (size_t k = 0; k < stage.results.size(); ++k) {
    Bounds result = bounds(stage.body[k], at);
    if (stage.kind == ir::StageKind::reduce) result = added_up(result, stage, k, at);
    const ir::ElementType type = program_.tensors[static_cast<size_t>(stage.results[k])].type;
    tensors_[stage.results[k]] = ir::is_float(type) ? checked(result, type, at) : result;
  }
}

RangeSafety::Bounds RangeSafety::added_up(Bounds term, const ir::Stage& stage, size_t result, Place& at) {
  double count = 1, least_count = 1;
  for (const ir::Axis& axis : stage.reduce_axes) {
    count *= value_of(axis.extent);
    if (axis.extent.substitute(sizes_).is_constant()) least_count *= value_of(axis.extent);
  }
  if (stage.monoid.kind == ir::Monoid::Kind::sum) {
    const ir::ElementType type = program_.tensors[static_cast<size_t>(stage.results[result])].type;
    const bool real = ir::is_float(type);
    term.low *= term.low < 0 ? count : least_count;
    term.high *= term.high > 0 ? count : least_count;
    if (real || term.error > 0) term.error = term.error * count + magnitude(term);
    if (ir::is_integer(type)) term = wrapped(term, type);
    if (real && term.low < 1 && term.low >= 0 && holds_its_maximum(result, at)) term.low = 1;
  } else if (stage.monoid.kind == ir::Monoid::Kind::product) {
    const double most = std::pow(std::max(1.0, magnitude(term)), count);
    term = {term.low >= 0 ? 0 : -most, most, (term.error + 1) * most * count};
  }
  return term;
}

RangeSafety::Bounds RangeSafety::checked(Bounds b, ir::ElementType type, const Place& at) {
  const double most = largest_of(type);
  b = {finite(b.low), finite(b.high), finite(b.error)};
  if (b.low < -most || b.high > most) {
    hazard(Hazard::overflow, at, "may overflow");
    b = {std::clamp(b.low, -most, most), std::clamp(b.high, -most, most), b.error};
  }
  return b;
}

RangeSafety::Bounds RangeSafety::bounds(ir::ExprId id, Place& at) {
  const auto known = at.known.find(id);
  if (known != at.known.end()) return known->second;
  const Expr& e = program_.exprs[static_cast<size_t>(id)];
  Bounds made = found(e, id, at);
  if (ir::is_float(e.type) && e.op != ScalarOp::real) made = checked(made, e.type, at);
  if (ir::is_integer(e.type) && e.op >= ScalarOp::select) {
    std::vector<Bounds> arguments;
    for (const ir::ExprId argument : e.args)
      if (argument != ir::none) arguments.push_back(bounds(argument, at));
    made = integer_bounds(e, made, arguments);
  }
  return at.known[id] = made;
}

// Errors of the first order. What depends on which side of a threshold a value is, is taken to be right.
RangeSafety::Bounds RangeSafety::found(const Expr& e, ir::ExprId id, Place& at) {
  const auto argument = [&](size_t k) { return bounds(e.args[k], at); };
  const auto join = [](const Bounds& a, const Bounds& b) {
    return Bounds{std::min(a.low, b.low), std::max(a.high, b.high), std::max(a.error, b.error)};
  };
  const auto rounded = [](Bounds b) {
    b.error += magnitude(b);
    return b;
  };
  switch (e.op) {
    case ScalarOp::real:
      return {e.real, e.real};
    case ScalarOp::integer:
      return {static_cast<double>(e.integer), static_cast<double>(e.integer)};
    case ScalarOp::extent:
      return {value_of(e.dim), value_of(e.dim)};
    case ScalarOp::load: {
      const Bounds read = tensors_.at(static_cast<ir::TensorId>(e.integer));
      return e.args[0] == ir::none ? read : join(read, argument(1));
    }
    case ScalarOp::select:
      return join(argument(1), argument(2));
    case ScalarOp::cast:
    case ScalarOp::cast_saturate: {
      const Bounds b = argument(0);
      const bool narrow =
          ir::is_float(e.type) && e.type != ir::ElementType::f32 && e.type != ir::ElementType::f64;
      const double step = narrow                 ? magnitude(b) * 65536
                          : ir::is_float(e.type) ? 0
                          : b.error > 0          ? error_units
                                                 : 0;
      return {std::floor(b.low), std::ceil(b.high), b.error + step};
    }
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
    case ScalarOp::truncate: {
      const Bounds b = argument(0);
      return {std::floor(b.low), std::ceil(b.high), b.error + (b.error > 0 ? error_units : 0)};
    }
    case ScalarOp::neg: {
      const Bounds b = argument(0);
      return {-b.high, -b.low, b.error};
    }
    case ScalarOp::abs: {
      const Bounds b = argument(0);
      return {b.low > 0 ? b.low : b.high < 0 ? -b.high : 0, magnitude(b), b.error};
    }
    case ScalarOp::sqrt: {
      const Bounds b = argument(0);
      if (b.low < 0) hazard(Hazard::root, at, "takes a root of what may be negative");
      const double low = std::sqrt(std::max(0.0, b.low)), high = std::sqrt(std::max(0.0, b.high));
      const double near_zero = std::sqrt(b.error * error_units);
      return rounded({low, high, low > 0 ? std::min(b.error / (2 * low), near_zero) : near_zero});
    }
    case ScalarOp::exp: {
      Bounds b = argument(0);
      if (b.high > 0 && below_its_maximum(e.args[0], at)) b.high = 0;
      if (b.high > most_exponent) {
        for (const size_t form : forms(e.args[0], at))
          hazard(Hazard::exponential, at, "takes an exponential of what is not bounded", form);
      }
      const double high = std::exp(std::min(b.high, most_exponent));
      return rounded(
          {b.low < least_exponent ? 0 : std::exp(std::min(b.low, most_exponent)), high, high * b.error});
    }
    case ScalarOp::log: {
      const Bounds b = argument(0);
      if (b.low <= 0) {
        hazard(Hazard::logarithm, at, "takes a logarithm of what may be 0");
        return rounded({std::log(least), std::log(std::max(b.high, least)), b.error / least});
      }
      return rounded({std::log(b.low), std::log(b.high), b.error / b.low});
    }
    case ScalarOp::tanh:
    case ScalarOp::erf:
    case ScalarOp::sin:
    case ScalarOp::cos:
      return {-1, 1, std::min(1.2 * argument(0).error + 1, 2 * error_units)};
    case ScalarOp::sign:
      argument(0);
      return {-1, 1};
    case ScalarOp::add: {
      const Bounds a = argument(0), b = argument(1);
      return rounded({a.low + b.low, a.high + b.high, a.error + b.error});
    }
    case ScalarOp::sub: {
      const Bounds a = argument(0), b = argument(1);
      Bounds difference{a.low - b.high, a.high - b.low, a.error + b.error};
      if (ir::is_float(e.type) && difference.high > 0 && below_its_maximum(id, at)) difference.high = 0;
      return rounded(difference);
    }
    case ScalarOp::mul: {
      const Bounds a = argument(0), b = argument(1);
      const double all[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
      Bounds product{*std::min_element(all, all + 4), *std::max_element(all, all + 4),
                     a.error * magnitude(b) + b.error * magnitude(a)};
      if (e.args[0] == e.args[1]) product.low = std::max(product.low, 0.0);
      return rounded(product);
    }
    case ScalarOp::div: {
      const Bounds a = argument(0), b = argument(1);
      if (b.low <= 0 && b.high >= 0) {
        hazard(Hazard::division, at, "divides by what may be 0");
        return rounded(apart_from_zero(a, b));
      }
      const double all[] = {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high};
      Bounds quotient{*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
      const double nearest = std::min(std::abs(b.low), std::abs(b.high));
      quotient.error = (a.error + b.error * magnitude(quotient)) / nearest;
      return rounded(quotient);
    }
    case ScalarOp::pow: {
      const Bounds a = argument(0), b = argument(1);
      if (b.low != b.high) {
        if (b.low < 0 && a.low <= 0 && a.high >= 0) hazard(Hazard::division, at, "divides by what may be 0");
        return power_bounds(a, b);
      }
      const bool even = std::fmod(b.low, 2) == 0;
      const double x = std::pow(std::abs(a.low), b.low), y = std::pow(std::abs(a.high), b.low);
      if (b.low < 0 && a.low <= 0 && a.high >= 0) {
        hazard(Hazard::division, at, "divides by what may be 0");
        return rounded(apart_from_zero({1, 1}, {a.low, a.high, a.error * -b.low}));
      }
      const double steepest = b.low >= 1 ? magnitude(a) : std::max(a.low, 1e-30);
      const double error = a.error * std::abs(b.low) * std::pow(steepest, b.low - 1);
      if (a.low >= 0) return rounded({std::min(x, y), std::max(x, y), error});
      return rounded({even ? 0 : -std::max(x, y), std::max(x, y), error});
    }
    case ScalarOp::min: {
      const Bounds a = argument(0), b = argument(1);
      return {std::min(a.low, b.low), std::min(a.high, b.high), std::max(a.error, b.error)};
    }
    case ScalarOp::max: {
      const Bounds a = argument(0), b = argument(1);
      return {std::max(a.low, b.low), std::max(a.high, b.high), std::max(a.error, b.error)};
    }
    case ScalarOp::sinh:
    case ScalarOp::cosh:
      if (magnitude(argument(0)) > most_exponent)
        hazard(Hazard::exponential, at, "takes an exponential of what is not bounded");
      break;
    default:
      break;
  }
  if (ir::is_float(e.type) && e.args[0] != ir::none) {
    if (const auto made = function_bounds(e.op, argument(0), argument(e.args[1] == ir::none ? 0 : 1)))
      return *made;
  }
  double error = 0;
  for (size_t k = 0; k < e.args.size() && e.args[k] != ir::none; ++k)
    error = std::max(error, argument(k).error);
  if (e.type == ir::ElementType::boolean) return {0, 1};
  return {-largest_f32, largest_f32, error > 0 ? largest_f32 * error_units : largest_f32};
}

std::optional<std::string> less_safe(const RangeSafety::Findings& original,
                                     const RangeSafety::Findings& rewritten, const Part& part) {
  for (const auto& [kind, text] : rewritten.hazards)
    if (original.hazards.count(kind) == 0) return text;
  constexpr double worse = 64;  // of what re-association alone may do to a bound
  // Of all outputs together: parts of one tensor have the bounds of the whole.
  const auto all = [](const std::vector<RangeSafety::Bounds>& outputs) {
    RangeSafety::Bounds joined = outputs.at(0);
    for (const RangeSafety::Bounds& b : outputs)
      joined = {std::min(joined.low, b.low), std::max(joined.high, b.high), std::max(joined.error, b.error)};
    return joined;
  };
  const RangeSafety::Bounds old = all(original.outputs), now = all(rewritten.outputs);
  if (!part.point && old.low >= 0 && now.low < 0 && checks::on("safety.sign"))
    return "an output that is not negative is a difference";
  if (part.point && now.error > worse * (old.error + magnitude(old)) && checks::on("safety.cancellation"))
    return "an output is a difference of what nearly cancels";
  return std::nullopt;
}

std::vector<Part> parts_of(const std::vector<InputRange>& ranges, size_t operands,
                           const std::vector<ir::loop::Size>& sizes) {
  std::vector<InputRange> whole = ranges;
  whole.resize(operands);
  std::map<std::string, ir::Dim> large, small;
  for (const ir::loop::Size& size : sizes) {
    large.emplace(size.name, ir::Dim(size.high));
    small.emplace(size.name, ir::Dim(std::max<int64_t>(size.low, size.divisor)));
  }
  std::vector<Part> parts;
  const auto add = [&](bool point, const auto& wanted_of) {
    Part part;
    part.point = point;
    for (size_t k = 0; k < operands; ++k) {
      const InputRange wanted = wanted_of(k);
      const double low = std::clamp(wanted.low, whole[k].low, whole[k].high);
      part.ranges.push_back({low, std::clamp(wanted.high, low, whole[k].high)});
    }
    for (const auto* values : {&large, &small}) {
      part.sizes = *values;
      if (!sizes.empty() || values == &large) parts.push_back(part);
    }
  };
  constexpr bool range = false, point = true;
  const auto at = [](double value) { return InputRange{value, value}; };
  const auto eighths = [](size_t k, size_t step) { return 1 + static_cast<double>(k * step % 8) / 8; };
  add(range, [&](size_t) { return InputRange{}; });
  for (const double most : {1.0, 100.0, 1e4, 1e8, 1e12}) {
    add(range, [&](size_t) { return InputRange{-most, most}; });
    add(range, [&](size_t) { return InputRange{1, 2 * most}; });
  }
  for (const double most : {1.0, 100.0}) {
    add(point, [&](size_t k) { return at(most * eighths(k, 5)); });
    add(point, [&](size_t k) { return at((k % 2 == 0 ? most : -most) * eighths(k, 3)); });
  }
  for (size_t alone = 0; alone < operands && operands > 1; ++alone) {
    for (const double most : {100.0, 1e4, 1e12}) {
      add(range, [&](size_t k) { return k == alone ? InputRange{-most, most} : InputRange{-1, 1}; });
      add(range, [&](size_t k) { return k == alone ? InputRange{-most, most} : InputRange{1, 2}; });
      add(point, [&](size_t k) { return at(k == alone ? most : eighths(k, 5)); });
    }
  }
  for (const ir::loop::Size& size : sizes) {
    add(range, [&](size_t) { return InputRange{-100, 100}; });
    parts.back().sizes = small;
    parts.back().sizes[size.name] = ir::Dim(size.high);
  }
  return parts;
}

}  // namespace axrun::verify::equality
