#include "search/algebra/definition_steps.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "search/algebra/plain_operators.h"

namespace axrun::search::algebra {
namespace {

using ir::ExprId;
using ir::ScalarOp;

constexpr size_t nowhere = static_cast<size_t>(-1);

const char* reduction_of(ir::Monoid::Kind kind) {
  switch (kind) {
    case ir::Monoid::Kind::sum:
      return "ReduceSum";
    case ir::Monoid::Kind::max:
      return "ReduceMax";
    case ir::Monoid::Kind::min:
      return "ReduceMin";
    default:
      return nullptr;
  }
}

/// Reads one definition, stage by stage.
class DefinitionReader {
 public:
  DefinitionReader(Terms& terms, const ir::Program& program, const std::vector<TermId>& arguments)
      : terms_(terms), program_(program), values_(program.tensors.size(), no_term) {
    for (size_t k = 0; k < std::min(arguments.size(), program.operands.size()); ++k)
      if (program.operands[k] != ir::none) values_[static_cast<size_t>(program.operands[k])] = arguments[k];
  }

  TermId run() {
    for (const ir::Stage& stage : program_.stages) {
      const TermId made = read(stage);
      if (made == no_term) return no_term;
      values_[static_cast<size_t>(stage.results[0])] = made;
    }
    return program_.outputs.size() == 1 ? values_[static_cast<size_t>(program_.outputs[0])] : no_term;
  }

 private:
  TermId read(const ir::Stage& stage) {
    const bool reduces = stage.kind == ir::StageKind::reduce;
    if ((stage.kind != ir::StageKind::map && !reduces) || stage.body.size() != 1) return no_term;
    const size_t kept = stage.axes.size();
    extents_.clear();
    for (const ir::Axis& axis : stage.axes) extents_.push_back(axis.extent);
    for (const ir::Axis& axis : stage.reduce_axes) extents_.push_back(axis.extent);
    order_axes(stage.body[0]);
    TermId value = read(stage.body[0]);
    if (value == no_term) return no_term;
    if (reduces) {
      const char* name = reduction_of(stage.monoid.kind);
      ir::Dims whole(rank_, ir::Dim(1));
      for (size_t a = 0; a < extents_.size(); ++a)
        if (place_[a] != nowhere) whole[place_[a]] = extents_[a];
      std::vector<int64_t> axes;
      for (size_t a = kept; a < extents_.size(); ++a)
        if (place_[a] != nowhere) axes.push_back(static_cast<int64_t>(place_[a]));
      std::sort(axes.begin(), axes.end());
      if (name == nullptr || axes.empty() || terms_[value].facts.dims != whole) return no_term;
      value = reduce(terms_, name, value, axes);
      if (value == no_term) return no_term;
    }
    // Back in the order of the axes.
    std::vector<size_t> order;
    for (size_t a = 0; a < kept; ++a)
      if (place_[a] != nowhere && extents_[a] != ir::Dim(1)) order.push_back(place_[a]);
    if (!std::is_sorted(order.begin(), order.end())) return no_term;
    const ir::Dims& dims = program_.tensors[static_cast<size_t>(stage.results[0])].dims;
    if (ir::product(terms_[value].facts.dims) != ir::product(dims)) value = terms_.expand(value, dims);
    return value == no_term ? no_term : terms_.reshape(value, dims);
  }

  /// Axes in the order in which an operand has them, where one has all of more than one element.
  void order_axes(ExprId body) {
    rank_ = extents_.size();
    place_.resize(rank_);
    std::iota(place_.begin(), place_.end(), size_t{0});
    const auto look = [&](const auto& self, ExprId id) -> bool {
      const ir::Expr& e = program_.exprs[static_cast<size_t>(id)];
      if (e.op == ScalarOp::load) {
        std::vector<size_t> place(extents_.size(), nowhere);
        for (size_t d = 0; d < e.indices.size(); ++d) {
          const ir::Expr& index = program_.exprs[static_cast<size_t>(e.indices[d])];
          if (index.op == ScalarOp::axis) {
            place[static_cast<size_t>(index.integer)] = d;
          } else if (index.op != ScalarOp::integer) {
            return false;
          }
        }
        for (size_t a = 0; a < place.size(); ++a)
          if (place[a] == nowhere && extents_[a] != ir::Dim(1)) return false;
        place_ = std::move(place);
        rank_ = e.indices.size();
        return true;
      }
      return std::any_of(e.args.begin(), e.args.end(),
                         [&](ExprId part) { return part != ir::none && self(self, part); });
    };
    look(look, body);
  }

  /// A tensor with its dims where the iteration has them.
  TermId placed(TermId value, const std::vector<ExprId>& indices) {
    const ir::Dims dims = terms_[value].facts.dims;
    ir::Dims target(rank_, ir::Dim(1));
    std::vector<std::pair<size_t, int64_t>> places;  // of the tensor's dims; those of one element anywhere
    for (size_t d = 0; d < indices.size(); ++d) {
      const ir::Expr& index = program_.exprs[static_cast<size_t>(indices[d])];
      size_t at = 0;
      const bool placed = index.op == ScalarOp::axis && place_[static_cast<size_t>(index.integer)] != nowhere;
      if (placed) {
        at = place_[static_cast<size_t>(index.integer)];
        if (dims[d] != extents_[static_cast<size_t>(index.integer)] || target[at] != ir::Dim(1))
          return no_term;
        target[at] = dims[d];
      } else if (dims[d] != ir::Dim(1)) {
        return no_term;
      }
      places.emplace_back(at, static_cast<int64_t>(d));
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<int64_t> permutation;
    for (const auto& [at, d] : places) permutation.push_back(d);
    if (!std::is_sorted(permutation.begin(), permutation.end())) value = terms_.transpose(value, permutation);
    if (value == no_term || target == terms_[value].facts.dims) return value;
    // A reduction that kept its dims has them already.
    if (const TermId kept = terms_.reshape(value, target); kept != no_term && !terms_.is(kept, "Reshape"))
      return kept;
    size_t ones = 0;
    while (ones < target.size() && target[ones] == ir::Dim(1)) ++ones;
    target.erase(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(ones));
    return target == terms_[value].facts.dims ? value : terms_.reshape(value, target);
  }

  TermId read(ExprId id) {
    const ir::Expr& e = program_.exprs[static_cast<size_t>(id)];
    if (e.op == ScalarOp::real) return terms_.literal(e.type, e.real, {});
    if (e.op == ScalarOp::load) {
      const TermId value = values_[static_cast<size_t>(e.integer)];
      return value == no_term || e.args[0] != ir::none ? no_term : placed(value, e.indices);
    }
    if (e.op == ScalarOp::cast) {
      const ir::Expr& inner = program_.exprs[static_cast<size_t>(e.args[0])];
      if (e.type == ir::ElementType::f32) {
        if (inner.op == ScalarOp::extent) return count_of(terms_, {inner.dim});
        if (inner.op == ScalarOp::integer)
          return terms_.literal(e.type, static_cast<double>(inner.integer), {});
      }
      return inner.type == e.type ? read(e.args[0]) : no_term;
    }
    if (e.op == ScalarOp::select) {
      // What finite numbers are not.
      const ScalarOp condition = program_.exprs[static_cast<size_t>(e.args[0])].op;
      return condition == ScalarOp::is_inf || condition == ScalarOp::is_nan ? read(e.args[2]) : no_term;
    }
    const char* name = operator_of(e.op);
    if (name == nullptr || !ir::is_float(e.type)) return no_term;
    std::vector<TermId> arguments;
    for (const ExprId part : e.args)
      if (part != ir::none) arguments.push_back(read(part));
    return call(terms_, name, arguments);
  }

  Terms& terms_;
  const ir::Program& program_;
  std::vector<TermId> values_;
  std::vector<ir::Dim> extents_;  ///< of the stage at hand: its axes, then those it reduces
  std::vector<size_t> place_;     ///< where each of them is; of one element perhaps nowhere
  size_t rank_ = 0;
};

bool reduces(const ir::Program& program) {
  return std::any_of(program.stages.begin(), program.stages.end(),
                     [](const ir::Stage& stage) { return stage.kind == ir::StageKind::reduce; });
}

}  // namespace

TermId in_steps(Terms& terms, TermId id) {
  std::map<TermId, TermId> made;
  for (const TermId one : reached_from(terms, {id})) {
    const Term term = terms[one];
    if (term.operation < 0) {
      made.emplace(one, one);
      continue;
    }
    std::vector<TermId> children;
    for (const TermId child : term.children) children.push_back(made.at(child));
    TermId value = no_term;
    if (reduces(*term.program) && !terms.is(one, "MatMul"))
      value = DefinitionReader(terms, *term.program, children).run();
    if (value == no_term) value = terms.make(term.operation, term.parameters, children);
    if (value == no_term) return no_term;
    made.emplace(one, value);
  }
  return made.at(id);
}

}  // namespace axrun::search::algebra
