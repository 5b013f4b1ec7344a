#include "search/algebra/affine_form.h"

#include <optional>

#include "search/algebra/plain_operators.h"

namespace axrun::search::algebra {
namespace {

using ir::ExprId;
using ir::ScalarOp;

/// Reads one definition.
class AffineReader {
 public:
  AffineReader(Terms& terms, TermId root, size_t argument)
      : terms_(terms), root_(root), argument_(argument), program_(*terms[root].program) {}

  AffineForm run() {
    AffineForm form;
    if (!is_one_map()) return form;
    const std::optional<Part> part = read(program_.stages[0].body[0]);
    if (!part || !part->depends || steps_ < 2 || part->factor() == no_term || part->offset == no_term)
      return form;
    if (part->numerator == no_term && part->denominator == no_term) return form;
    form.argument = terms_[root_].children[argument_];
    form.factor = quotient(part->numerator, part->denominator);
    form.offset = part->offset;
    form.scaled = call("Mul", {form.argument, form.factor});
    form.whole = call("Add", {form.scaled, form.offset});
    if (form.whole == no_term || terms_[form.whole].facts.dims != terms_[root_].facts.dims ||
        terms_[form.whole].facts.type != terms_[root_].facts.type)
      return {};
    return form;
  }

 private:
  /// argument * numerator / denominator + offset, where it depends on the argument: factors that are missing
  /// are 1, an offset that is missing is 0.
  struct Part {
    bool depends = false;
    TermId numerator = no_term, denominator = no_term, offset = no_term;
    TermId factor() const { return numerator != no_term ? numerator : denominator; }
  };

  bool is_one_map() const {
    if (program_.stages.size() != 1 || program_.stages[0].kind != ir::StageKind::map) return false;
    const ir::Stage& stage = program_.stages[0];
    if (stage.body.size() != 1 || stage.groups.size() != stage.axes.size()) return false;
    for (size_t d = 0; d < stage.groups.size(); ++d)
      if (stage.groups[d] != std::vector<int>{static_cast<int>(d)}) return false;
    return true;
  }

  TermId call(const char* name, const std::vector<TermId>& children) {
    return algebra::call(terms_, name, children);
  }
  TermId product(TermId a, TermId b) {
    if (a == no_term || b == no_term) return a == no_term ? b : a;
    return call("Mul", {a, b});
  }
  TermId quotient(TermId a, TermId b) {
    if (b == no_term) return a;
    if (a == no_term) a = terms_.literal(terms_[b].facts.type, 1, {});
    return call("Div", {a, b});
  }

  /// An argument with its dims where the result has them; nothing where it is read in another way.
  TermId placed(TermId child, const std::vector<ExprId>& indices) {
    const ir::Dims& dims = terms_[child].facts.dims;
    const size_t rank = program_.stages[0].axes.size();
    ir::Dims target(rank, ir::Dim(1));
    int64_t last = -1;
    for (size_t d = 0; d < indices.size(); ++d) {
      const ir::Expr& index = program_.exprs[static_cast<size_t>(indices[d])];
      if (index.op == ScalarOp::integer && index.integer == 0 && dims[d] == ir::Dim(1)) continue;
      if (index.op != ScalarOp::axis || index.integer <= last) return no_term;
      last = index.integer;
      if (dims[d] != program_.stages[0].axes[static_cast<size_t>(last)].extent) return no_term;
      target[static_cast<size_t>(last)] = dims[d];
    }
    if (target == dims) return child;
    size_t ones = 0;
    while (ones < rank && target[ones] == ir::Dim(1)) ++ones;
    target.erase(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(ones));
    return terms_.reshape(child, target);
  }

  std::optional<Part> read(ExprId id) {
    const ir::Expr& e = program_.exprs[static_cast<size_t>(id)];
    Part part;
    if (e.op == ScalarOp::real) {
      part.offset = terms_.literal(e.type, e.real, {});
      return part;
    }
    if (e.op == ScalarOp::load) return read_load(e);
    if (e.op == ScalarOp::cast) {
      const ir::Expr& inner = program_.exprs[static_cast<size_t>(e.args[0])];
      return inner.type == e.type ? read(e.args[0]) : std::nullopt;
    }
    const char* name = operator_of(e.op);
    if (name == nullptr || e.type != terms_[root_].facts.type) return std::nullopt;
    ++steps_;
    const std::optional<Part> a = read(e.args[0]);
    const std::optional<Part> b = e.args[1] == ir::none ? std::nullopt : read(e.args[1]);
    if (!a || (e.args[1] != ir::none && !b)) return std::nullopt;
    if (!a->depends && !(b && b->depends)) {
      part.offset = b ? call(name, {a->offset, b->offset}) : call(name, {a->offset});
      return part.offset == no_term ? std::nullopt : std::optional(part);
    }
    return combine(e.op, *a, b.value_or(Part{}));
  }

  std::optional<Part> read_load(const ir::Expr& e) {
    if (e.args[0] != ir::none) return std::nullopt;
    const std::vector<TermId> children = terms_[root_].children;
    for (size_t k = 0; k < children.size(); ++k) {
      if (program_.operands[k] != static_cast<ir::TensorId>(e.integer)) continue;
      const TermId value = placed(children[k], e.indices);
      if (value == no_term) return std::nullopt;
      if (k != argument_) return Part{false, no_term, no_term, value};
      if (value != children[k] || terms_[value].facts.dims != terms_[root_].facts.dims) return std::nullopt;
      return Part{true, no_term, no_term, no_term};
    }
    return std::nullopt;
  }

  std::optional<Part> combine(ScalarOp op, const Part& a, const Part& b) {
    const bool left = a.depends;
    if (a.depends && b.depends) return std::nullopt;
    Part part = left ? a : b;
    const TermId other = left ? b.offset : a.offset;
    switch (op) {
      case ScalarOp::add:
        part.offset = part.offset == no_term ? other : call("Add", {part.offset, other});
        return part;
      case ScalarOp::sub:
        if (!left) return std::nullopt;
        part.offset = part.offset == no_term ? call("Neg", {other}) : call("Sub", {part.offset, other});
        return part;
      case ScalarOp::mul:
        part.numerator = product(part.numerator, other);
        if (part.offset != no_term) part.offset = product(part.offset, other);
        return part;
      case ScalarOp::div:
        if (!left) return std::nullopt;
        part.denominator = product(part.denominator, other);
        if (part.offset != no_term) part.offset = quotient(part.offset, other);
        return part;
      default:
        return std::nullopt;
    }
  }

  Terms& terms_;
  TermId root_;
  size_t argument_;
  const ir::Program program_;  ///< a copy: making terms may move what they refer to
  int steps_ = 0;
};

}  // namespace

AffineForm affine_form(Terms& terms, TermId id) {
  if (id == no_term || terms[id].operation < 0 || terms[id].program == nullptr) return {};
  if (!ir::is_float(terms[id].facts.type) || terms[id].children.size() < 2) return {};
  for (size_t k = 0; k < terms[id].children.size(); ++k) {
    if (terms[terms[id].children[k]].facts.dims != terms[id].facts.dims) continue;
    if (const AffineForm form = AffineReader(terms, id, k).run(); form.whole != no_term) return form;
  }
  return {};
}

TakenApart taken_apart(const Terms& model) {
  TakenApart result;
  Terms& apart = result.terms;
  std::map<TermId, TermId> copies;
  bool any = false;
  for (TermId id = 0; id < model.size(); ++id) {
    const Term& term = model[id];
    TermId made = no_term;
    if (term.literal) {
      made = apart.literal(term.facts.type, *term.literal, term.facts.dims);
    } else if (term.operation < 0) {
      made = apart.leaf(term.leaf, term.facts);
    } else {
      std::vector<TermId> children;
      for (const TermId child : term.children) children.push_back(copies.at(child));
      made = apart.make(apart.operation(model.operation(term.operation)), term.parameters, children);
      if (made == no_term) made = apart.leaf("term " + std::to_string(id), term.facts);
      if (const AffineForm form = affine_form(apart, made); form.whole != no_term) {
        any = true;
        // Of an offset that is a sum the terms would be the sum's.
        const TermId offset = apart.leaf("offset of term " + std::to_string(id), apart[form.offset].facts);
        for (const TermId part :
             {form.scaled, apart.make(apart[form.whole].operation, {}, {form.argument, offset})})
          result.origins.emplace(part, id);
        made = form.whole;
      }
    }
    copies.emplace(id, made);
    result.origins.emplace(made, id);
  }
  return any ? std::move(result) : TakenApart();
}

}  // namespace axrun::search::algebra
