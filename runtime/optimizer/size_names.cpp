#include "runtime/optimizer/size_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "ir/dim_quotients.h"

namespace axrun::runtime {
namespace {

using ir::Dim;
using ir::Program;
using ir::Quotient;

template <typename Change>
void for_dims(Program& program, Change change) {
  for (ir::TensorDecl& tensor : program.tensors) {
    for (Dim& dim : tensor.dims) dim = change(dim);
  }
  for (ir::Expr& expr : program.exprs) expr.dim = change(expr.dim);
  for (ir::Stage& stage : program.stages) {
    for (ir::Axis& axis : stage.axes) axis.extent = change(axis.extent);
    for (ir::Axis& axis : stage.reduce_axes) axis.extent = change(axis.extent);
    stage.length = change(stage.length);
    if (!stage.step) continue;
    Program step = *stage.step;
    for_dims(step, change);
    stage.step = std::make_shared<const Program>(std::move(step));
  }
}

void substitute(Program& program, const std::map<std::string, Dim>& values) {
  for_dims(program, [&](const Dim& dim) { return dim.substitute(values); });
}

std::vector<std::string> symbols_of(const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Of operands, then of outputs.
std::vector<Dim> port_dims(const Program& program) {
  std::vector<Dim> dims;
  for (const auto* list : {&program.operands, &program.outputs}) {
    for (const ir::TensorId id : *list) {
      if (id == ir::none) continue;
      const ir::Dims& own = program.tensors[static_cast<size_t>(id)].dims;
      dims.insert(dims.end(), own.begin(), own.end());
    }
  }
  return dims;
}

/// Names that the model cannot have.
class FreshNames {
 public:
  explicit FreshNames(char mark) : mark_(mark) {}
  std::string next() { return fmt::format("{}{}", mark_, count_++); }

 private:
  char mark_;
  int count_ = 0;
};

/// The quotient by the smallest number among those of the ports, of those the first; nothing where there is
/// none. dim: where it stands.
std::optional<Quotient> smallest_quotient(const Program& program, Dim& dim) {
  std::optional<Quotient> smallest;
  for (const Dim& one : port_dims(program)) {
    for (Quotient& quotient : ir::quotients_in(one)) {
      if (smallest && quotient.divisor >= smallest->divisor) continue;
      smallest = std::move(quotient);
      dim = one;
    }
  }
  return smallest;
}

/// `name` has a place in the ports' dims outside of quotients.
bool stands_alone(const Program& program, const std::string& name) {
  const std::vector<Dim> dims = port_dims(program);
  return std::any_of(dims.begin(), dims.end(), [&](const Dim& dim) {
    const Dim outside = ir::with_quotients(dim, [](const Quotient&) { return Dim(0); });
    const std::vector<std::string> names = symbols_of(outside);
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

/// The quotient is `size` from now on, and so are those of the same dividend, up to multiples, by multiples:
/// floor((a + c * e) / (c * d)) = floor((floor(a / c) + e) / d).
void replace_quotient(Program& program, const Quotient& quotient, const Dim& size) {
  for_dims(program, [&](const Dim& dim) {
    return ir::with_quotients(dim, [&](const Quotient& other) -> std::optional<Dim> {
      if (other.divisor % quotient.divisor != 0) return std::nullopt;
      const std::optional<int64_t> apart = (other.dividend - quotient.dividend).constant();
      if (!apart || *apart % quotient.divisor != 0) return std::nullopt;
      return floor_div(size + Dim(*apart / quotient.divisor), Dim(other.divisor / quotient.divisor));
    });
  });
}

}  // namespace

std::optional<LinearPart> linear_in(const Dim& dim, const std::string& name) {
  const Dim rest = dim.substitute({{name, Dim(0)}});
  const Dim factor = dim.substitute({{name, Dim(1)}}) - rest;
  if (!factor.is_constant() || factor.value() == 0) return std::nullopt;
  if (!(factor * Dim::symbol(name) + rest == dim)) return std::nullopt;
  return LinearPart{factor.value(), rest};
}

std::vector<std::string> name_sizes(Program& program) {
  FreshNames fresh('\x01');
  std::vector<std::string> symbols, solved;
  const auto is_solved = [&](const std::string& name) {
    return std::find(solved.begin(), solved.end(), name) != solved.end();
  };
  // One symbol at a time, from a dim in which it is the only open one; where every dim has several, one of
  // them gives way to the dim itself.
  for (;;) {
    std::string chosen;
    Dim several;
    for (const Dim& dim : port_dims(program)) {
      std::vector<std::string> open = symbols_of(dim);
      open.erase(std::remove_if(open.begin(), open.end(), is_solved), open.end());
      if (open.size() == 1 && linear_in(dim, open[0])) {
        chosen = open[0];
        break;
      }
      if (!open.empty() && several == Dim(0)) several = dim;
    }
    if (!chosen.empty()) {
      solved.push_back(chosen);
      continue;
    }
    if (several == Dim(0)) break;
    bool replaced = false;
    for (const std::string& name : symbols_of(several)) {
      const auto linear = linear_in(several, name);
      if (is_solved(name) || !linear || (linear->factor != 1 && linear->factor != -1)) continue;
      substitute(program, {{name, Dim(linear->factor) * (Dim::symbol(fresh.next()) - linear->rest)}});
      replaced = true;
      break;
    }
    if (!replaced) break;
  }
  std::map<std::string, Dim> first, second;
  for (const Dim& dim : port_dims(program)) {
    for (const std::string& name : symbols_of(dim)) {
      if (first.count(name) != 0) continue;
      const std::string between = fresh.next();
      symbols.push_back(fmt::format("n{}", symbols.size()));
      first.emplace(name, Dim::symbol(between));
      second.emplace(between, Dim::symbol(symbols.back()));
    }
  }
  substitute(program, first);  // in two steps: the model may have names like the new ones
  substitute(program, second);
  return symbols;
}

void name_quotients(Program& program) {
  constexpr int most = 16;
  FreshNames fresh('\x02');
  for (int named = 0; named < most; ++named) {
    Dim dim;
    const std::optional<Quotient> quotient = smallest_quotient(program, dim);
    if (!quotient) return;
    // A dim that is the quotient and a number is the size.
    Dim size = Dim::symbol(fresh.next());
    if (const auto more = (dim - quotient->whole()).constant()) size = size - Dim(*more);
    replace_quotient(program, *quotient, size);
    for (const std::string& name : symbols_of(quotient->dividend)) {
      const auto linear = linear_in(quotient->dividend, name);
      if (!linear || linear->factor != 1 || !stands_alone(program, name)) continue;
      const Dim remainder = Dim::symbol(fresh.next());
      substitute(program, {{name, Dim(quotient->divisor) * size + remainder - linear->rest}});
      break;
    }
  }
}

bool has_other_sizes(const Program& program, const std::vector<std::string>& symbols) {
  bool found = false;
  Program copy = program;
  for_dims(copy, [&](const Dim& dim) {
    for (const std::string& name : symbols_of(dim)) {
      found |= std::find(symbols.begin(), symbols.end(), name) == symbols.end();
    }
    return dim;
  });
  return found;
}

}  // namespace axrun::runtime
