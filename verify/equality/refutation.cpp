#include "verify/equality/refutation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/known_scalars.h"

namespace axrun::verify::equality {
namespace {

using ir::Dim;
using ir::Program;
using ir::Tensor;

constexpr int trials = 28, guided_trials = 6;
constexpr double most_elements = 20'000, most_work = 6e5;

using Sizes = std::map<std::string, int64_t>;

/// Small ones, different from each other first; later any of a few. Nothing where none is claimed.
std::optional<Sizes> sizes_of(const std::vector<ir::loop::Size>& claims, int trial, std::mt19937_64& random) {
  constexpr int64_t distinct[] = {2, 3, 5, 4, 7, 6};
  Sizes chosen;
  size_t next = static_cast<size_t>(trial % 3);
  for (const ir::loop::Size& size : claims) {
    std::set<int64_t> values;
    const auto offer = [&](int64_t value) {
      value = (std::max(value, size.low) + size.divisor - 1) / size.divisor * size.divisor;
      if (value <= size.high) values.insert(value);
    };
    if (trial < 6) {
      offer(distinct[next++ % std::size(distinct)]);
    } else {
      for (const int64_t value : {1, 2, 3, 4, 6, 9}) offer(value);
    }
    offer(size.low);
    if (values.empty()) return std::nullopt;
    auto at = values.begin();
    std::advance(at, trial < 6 ? values.size() - 1 : random() % values.size());
    chosen[size.name] = *at;
  }
  return chosen;
}

/// Kinds of inputs: binary fractions that sums and products keep exact, of either sign, with zeros and ties,
/// or of one sign; large ones; and the numbers that the expressions themselves mention, where their branches
/// meet.
enum Inputs : int { mixed, negative, positive, fine, coarse, large, mentioned, kinds };

Tensor input(const ir::TensorDecl& declared, const std::map<std::string, Dim>& sizes, int kind,
             const std::vector<double>& literals, std::mt19937_64& random) {
  ir::Shape shape;
  for (const Dim& dim : declared.dims) shape.push_back(dim.substitute(sizes).value());
  const bool real = ir::is_float(declared.type);
  const bool wide = declared.type == ir::ElementType::f32;
  Tensor tensor = Tensor::allocate(wide ? ir::ElementType::f64 : declared.type, shape);
  const int64_t low = kind == negative ? -9 : kind == positive ? 1 : -4;
  const int64_t high = kind == negative ? -1 : kind == positive ? 9 : 4;
  const double unit = kind == fine ? 0.125 : kind == coarse ? 2.75 : kind == large ? 131072 : 1;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const int64_t value = low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    if (real && kind == mentioned) {
      tensor.set_real(i, literals[static_cast<size_t>(random() % literals.size())]);
    } else if (real) {
      tensor.set_real(i, static_cast<double>(value) * unit);
    } else if (kind >= fine && declared.type != ir::ElementType::boolean) {
      tensor.set_int(i, static_cast<int64_t>(random()));  // of the whole type: what wraps shows
    } else {
      tensor.set_int(i, declared.type == ir::ElementType::boolean ? value & 1
                        : ir::is_unsigned_integer(declared.type)  ? std::abs(value)
                                                                  : value);
    }
  }
  return tensor;
}

/// Of these values: in one trial the first of them everywhere.
void set_to(Tensor& tensor, const std::vector<int64_t>& values, bool first, std::mt19937_64& random) {
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set_int(i, values[first ? 0 : static_cast<size_t>(random() % values.size())]);
}

double elements(const ir::Dims& dims, const std::map<std::string, Dim>& sizes) {
  double count = 1;
  for (const Dim& dim : dims)
    count *= static_cast<double>(dim.substitute(sizes).constant().value_or(1 << 20));
  return count;
}

double work(const Program& program, const std::map<std::string, Dim>& sizes) {
  double count = 0;
  for (const ir::Stage& stage : program.stages) {
    double points = 1;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const ir::Axis& axis : *axes) points *= elements({axis.extent}, sizes);
    }
    count += points;
  }
  return count;
}

double largest_literal(const Program& program) {
  double most = 1;
  for (const ir::Expr& e : program.exprs) {
    if (e.op == ir::ScalarOp::real && std::isfinite(e.real)) most = std::max(most, std::abs(e.real));
  }
  return most;
}

/// Of both programs, with either sign, 0 and 1.
std::vector<double> literals_of(const Program& left, const Program& right, double most) {
  std::set<double> values{0, 1};
  for (const Program* program : {&left, &right}) {
    for (const ir::Expr& e : program->exprs) {
      if (e.op != ir::ScalarOp::real || !(std::abs(e.real) <= most)) continue;
      values.insert(e.real);
      values.insert(-e.real);
    }
  }
  return {values.begin(), values.end()};
}

bool has(const Program& left, const Program& right, std::initializer_list<ir::ScalarOp> operations) {
  for (const Program* program : {&left, &right})
    for (const ir::Expr& e : program->exprs)
      if (std::find(operations.begin(), operations.end(), e.op) != operations.end()) return true;
  return false;
}

bool grows(ir::ScalarOp op) {
  using enum ir::ScalarOp;
  return op == exp || op == sinh || op == cosh || op == pow;
}

bool grows(const Program& program, ir::ExprId id) {
  if (id == ir::none) return false;
  const ir::Expr& e = program.exprs[static_cast<size_t>(id)];
  const auto of = [&](ir::ExprId part) { return grows(program, part); };
  return grows(e.op) || std::any_of(e.args.begin(), e.args.end(), of) ||
         std::any_of(e.indices.begin(), e.indices.end(), of);
}

/// Whether a stage that an exponential or a power is computed in overflows f64: what comes of that, such as
/// infinity times 0, is nothing that holds over the reals.
bool overflows(Program program, const std::vector<Tensor>& operands, const ir::EvaluateOptions& options) {
  program.outputs.clear();
  for (const ir::Stage& stage : program.stages) {
    if (std::any_of(stage.body.begin(), stage.body.end(), [&](auto id) { return grows(program, id); }))
      program.outputs.insert(program.outputs.end(), stage.results.begin(), stage.results.end());
  }
  if (program.outputs.empty()) return false;
  for (const Tensor& tensor : ir::evaluate(program, operands, options)) {
    for (int64_t i = 0; ir::is_float(tensor.type()) && i < tensor.size(); ++i)
      if (std::abs(tensor.get_real(i)) > 1e100) return true;
  }
  return false;
}

bool rounds(const Program& program) {
  return std::any_of(program.exprs.begin(), program.exprs.end(), [](const ir::Expr& e) {
    return ir::is_float(e.type) && e.type != ir::ElementType::f32 && e.type != ir::ElementType::f64;
  });
}

std::string text(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  return buffer;
}

std::string position_text(const ir::Shape& shape, int64_t position) {
  std::string out;
  for (size_t d = shape.size(); d-- > 0;) {
    out = std::to_string(position % shape[d]) + (out.empty() ? "" : ", ") + out;
    position /= shape[d];
  }
  return "[" + out + "]";
}

std::optional<std::string> compared(const Program& program, const std::vector<Tensor>& a,
                                    const std::vector<Tensor>& b, double tolerance) {
  for (size_t k = 0; k < a.size(); ++k) {
    const std::string& name = program.tensors[static_cast<size_t>(program.outputs[k])].name;
    if (a[k].shape() != b[k].shape())
      return name + " has the shape " + ir::to_string(a[k].shape()) + " and " + ir::to_string(b[k].shape());
    const bool real = ir::is_float(a[k].type());
    double scale = 1;
    for (int64_t i = 0; real && i < a[k].size(); ++i) {
      const double x = std::abs(a[k].get_real(i));
      if (std::isfinite(x)) scale = std::max(scale, x);
    }
    for (int64_t i = 0; i < a[k].size(); ++i) {
      if (!real) {
        if (a[k].get_int(i) == b[k].get_int(i)) continue;
        return name + position_text(a[k].shape(), i) + " is " + std::to_string(a[k].get_int(i)) + " and " +
               std::to_string(b[k].get_int(i));
      }
      const double x = a[k].get_real(i), y = b[k].get_real(i);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (!std::isfinite(x) && !std::isfinite(y)) continue;  // neither is defined
      // Overflow in f64 is no difference over the reals.
      const bool huge = std::abs(x) > 1e100 || std::abs(y) > 1e100;
      if (huge || std::abs(x - y) <= tolerance * scale) continue;
      return name + position_text(a[k].shape(), i) + " is " + text(x) + " and " + text(y);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> executed_difference(const Program& left, const Program& right,
                                               const std::vector<ir::loop::Size>& claims, double seconds,
                                               const Witness& witness) {
  const auto start = std::chrono::steady_clock::now();
  std::mt19937_64 random(1);
  const double literal = std::max(largest_literal(left), largest_literal(right));
  // A root of what should be 0 is the root of what was rounded away.
  const bool roots = has(left, right, {ir::ScalarOp::sqrt, ir::ScalarOp::pow});
  const double tolerance = rounds(left) || rounds(right) ? 0.05 : (roots ? 1e-6 : 1e-8) + literal * 1e-13;
  // What overflows or underflows in f64 on the way may decide what comes out.
  using enum ir::ScalarOp;
  const bool may_be_large = !roots && !has(left, right, {exp, log, sinh, cosh, div});
  const std::vector<double> literals =
      literals_of(left, right, has(left, right, {exp, sinh, cosh, pow}) ? 16 : 1e7);
  ir::EvaluateOptions options;
  options.wide = true;
  const int guided = witness.empty() ? 0 : guided_trials;
  for (int trial = -guided; trial < trials; ++trial) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) break;
    const auto sizes = sizes_of(claims, std::abs(trial), random);
    if (!sizes) return std::nullopt;
    const int kind = trial < 0 ? mixed : trial % kinds;
    if (kind == large && !may_be_large) continue;
    const std::map<std::string, Dim> known(sizes->begin(), sizes->end());
    std::string at;
    for (const auto& [name, value] : *sizes)
      at += (at.empty() ? "at " : ", ") + name + " = " + std::to_string(value);
    if (!at.empty()) at += ": ";
    try {
      double largest = std::max(work(left, known), work(right, known)) / most_work * most_elements;
      for (const Program* program : {&left, &right}) {
        for (const ir::TensorDecl& tensor : program->tensors)
          largest = std::max(largest, elements(tensor.dims, known));
      }
      if (largest > most_elements) continue;
      std::vector<Tensor> operands;
      const size_t count = std::max(left.operands.size(), right.operands.size());
      for (size_t k = 0; k < count; ++k) {
        const ir::TensorDecl* declared = nullptr;
        for (const Program* program : {&right, &left}) {
          if (k < program->operands.size() && program->operands[k] != ir::none)
            declared = &program->tensors[static_cast<size_t>(program->operands[k])];
        }
        operands.push_back(declared == nullptr ? Tensor() : input(*declared, known, kind, literals, random));
        const auto values = witness.find(static_cast<int>(k));
        if (trial < 0 && declared != nullptr && values != witness.end() && !ir::is_float(declared->type))
          set_to(operands.back(), values->second, trial == -guided, random);
      }
      std::vector<std::vector<Tensor>> results;
      std::vector<std::string> mistakes(2);
      std::vector<Program> sized;
      std::vector<std::vector<Tensor>> read;
      for (const Program* program : {&left, &right}) {
        std::vector<Tensor> mine(operands.begin(),
                                 operands.begin() + static_cast<std::ptrdiff_t>(program->operands.size()));
        for (size_t k = 0; k < mine.size(); ++k) {
          if (program->operands[k] == ir::none) mine[k] = Tensor();
        }
        try {
          sized.push_back(ir::with_known_sizes(*program, known));
          read.push_back(mine);
          results.push_back(ir::evaluate(sized.back(), mine, options));
        } catch (const Error& error) {
          mistakes[results.size()] = error.what();
          results.emplace_back();
        }
      }
      if (mistakes[0].empty() != mistakes[1].empty())
        return at + "one side alone cannot be evaluated: " + mistakes[mistakes[0].empty() ? 1 : 0];
      if (!mistakes[0].empty()) continue;
      const auto found = compared(left, results[0], results[1], tolerance);
      if (found && !overflows(sized[0], read[0], options) && !overflows(sized[1], read[1], options))
        return at + *found;
    } catch (const Error&) {
      // These sizes do not suit the expressions: nothing follows.
    }
  }
  return std::nullopt;
}

}  // namespace axrun::verify::equality
