#include "ir/size_program.h"

#include <algorithm>
#include <optional>

#include "ir/dim_polynomial.h"
#include "ir/error.h"

namespace axrun::ir {

SizeProgram::SizeProgram(std::vector<std::string> names) : names_(std::move(names)) {
  for (size_t k = 0; k < names_.size(); ++k) steps_.push_back({Op::given, 0, k, k});
}

size_t SizeProgram::emit(Op op, size_t a, size_t b, int64_t constant) {
  const Step step{op, constant, a, b};
  const auto known = std::find(steps_.begin(), steps_.end(), step);
  if (known != steps_.end()) return static_cast<size_t>(known - steps_.begin());
  steps_.push_back(step);
  return steps_.size() - 1;
}

size_t SizeProgram::add(const Dim& dim) {
  if (dim.is_constant()) return emit(Op::constant, 0, 0, dim.value());
  std::optional<size_t> sum;
  for (const DimTerm& term : DimNode::of(dim)->terms) {
    std::optional<size_t> product;
    if (term.coefficient != 1 || term.factors.empty()) product = emit(Op::constant, 0, 0, term.coefficient);
    for (const DimAtomPointer& atom : term.factors) {
      const size_t factor = add_atom(*atom);
      product = product ? emit(Op::multiply, *product, factor) : factor;
    }
    sum = sum ? emit(Op::add, *sum, *product) : *product;
  }
  return *sum;
}

size_t SizeProgram::add_atom(const DimAtom& atom) {
  if (atom.kind == DimAtom::Kind::symbol) {
    const auto found = std::find(names_.begin(), names_.end(), atom.name);
    if (found == names_.end()) throw Error(Fault::internal, "no size is named '" + atom.name + "'");
    return static_cast<size_t>(found - names_.begin());
  }
  const auto op_of = [&] {
    switch (atom.kind) {
      case DimAtom::Kind::floor_div:
        return Op::floor_div;
      case DimAtom::Kind::floor_mod:
        return Op::floor_mod;
      case DimAtom::Kind::min:
        return Op::min;
      default:
        return Op::max;
    }
  };
  size_t result = add(atom.arguments[0]);
  for (size_t k = 1; k < atom.arguments.size(); ++k) result = emit(op_of(), result, add(atom.arguments[k]));
  return result;
}

void SizeProgram::run(std::vector<int64_t>& values) const {
  AXRUN_ASSERT(values.size() >= names_.size());
  values.resize(steps_.size());
  for (size_t k = names_.size(); k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    const int64_t a = values[step.a], b = values[step.b];
    switch (step.op) {
      case Op::given:
        break;
      case Op::constant:
        values[k] = step.constant;
        break;
      case Op::add:
        values[k] = saturating_add(a, b);
        break;
      case Op::multiply:
        values[k] = saturating_multiply(a, b);
        break;
      case Op::floor_div:
        values[k] = b == 0 ? 0 : floor_quotient(a, b);
        break;
      case Op::floor_mod:
        values[k] = b == 0 ? 0 : floor_remainder(a, b);
        break;
      case Op::min:
        values[k] = std::min(a, b);
        break;
      case Op::max:
        values[k] = std::max(a, b);
        break;
    }
  }
}

}  // namespace axrun::ir
