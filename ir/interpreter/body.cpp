#include "ir/interpreter/body.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/arithmetic.h"
#include "ir/error.h"

namespace axrun::ir::interpreter {
namespace {

/// A load as its expression states it, before anything has a register.
struct LoadDraft {
  struct Check {
    Affine index;
    Affine room;
    int dimension;
  };
  struct Computed {
    ExprId index;
    int64_t stride;
    int64_t extent;
    int dimension;
  };
  Affine address;
  std::vector<Check> checks;
  std::vector<Computed> computed;
  std::vector<Affine> conditions;
  std::vector<ExprId> guards;
};

class Compiler {
 public:
  Compiler(const BodyContext& context, const Layout& layout, const std::vector<ExprId>& roots,
           const std::vector<ElementType>& parameters)
      : context_(context),
        program_(context.program),
        layout_(layout),
        count_(roots.empty() ? 0 : static_cast<size_t>(*std::max_element(roots.begin(), roots.end())) + 1),
        analysis_(program_, count_, layout.extents, context.bindings),
        parameter_types_(parameters) {
    body_.where = context.where;
    body_.program = &program_;
    body_.layout = layout;
    for (size_t k = 0; k < parameters.size(); ++k) body_.parameters.push_back(allocate(false, false));
    mark(roots);
    for (size_t id = 0; id < count_; ++id) {
      if (needed_[id]) registers_[id] = emit(static_cast<ExprId>(id));
    }
    for (ExprId root : roots) body_.roots.push_back(registers_[static_cast<size_t>(root)]);
  }

  Body take() { return std::move(body_); }

 private:
  const Expr& expr(ExprId id) const { return program_.exprs[static_cast<size_t>(id)]; }
  const Register& register_of(ExprId id) const { return registers_[static_cast<size_t>(id)]; }

  [[noreturn]] void refuse(const std::string& text) const {
    throw Error(Fault::model, context_.where + ": " + text);
  }

  /// Which expressions get registers: indices and conditions that are affine do not.
  void mark(const std::vector<ExprId>& roots) {
    needed_.resize(count_);
    registers_.resize(count_);
    for (ExprId root : roots) needed_[static_cast<size_t>(root)] = true;
    for (size_t id = count_; id-- > 0;) {
      if (!needed_[id] || analysis_.of(static_cast<ExprId>(id))) continue;
      const Expr& node = program_.exprs[id];
      if (node.op != ScalarOp::load) {
        for (ExprId argument : node.args) need(argument, id);
        continue;
      }
      LoadDraft draft = draft_load(node);
      for (const auto& index : draft.computed) need(index.index, id);
      for (ExprId guard : draft.guards) need(guard, id);
      need(node.args[1], id);
      drafts_.emplace(static_cast<ExprId>(id), std::move(draft));
    }
  }

  void need(ExprId argument, size_t user) {
    if (argument == none) return;
    AXRUN_ASSERT(argument >= 0 && static_cast<size_t>(argument) < user);
    needed_[static_cast<size_t>(argument)] = true;
  }

  LoadDraft draft_load(const Expr& node) {
    const Tensor& tensor = context_.tensors[static_cast<size_t>(node.integer)];
    AXRUN_ASSERT(tensor.defined() && tensor.shape().size() == node.indices.size());
    LoadDraft draft;
    draft_guard(node.args[0], draft);
    draft.address = analysis_.constant(0);
    Shape strides = row_major_strides(tensor.shape());
    for (size_t d = 0; d < node.indices.size(); ++d) {
      const int64_t extent = tensor.shape()[d];
      const Affine* index = analysis_.of(node.indices[d]);
      std::optional<Affine> room;
      std::optional<Affine> address;
      if (index) {
        room = analysis_.combine(*index, -1, *index, 0, extent - 1);
        address = analysis_.combine(draft.address, 1, *index, strides[d], 0);
      }
      if (!room || !address) {
        draft.computed.push_back({node.indices[d], strides[d], extent, static_cast<int>(d)});
        continue;
      }
      draft.address = std::move(*address);
      if (!holds(*index, draft) || !holds(*room, draft)) {
        draft.checks.push_back({*index, std::move(*room), static_cast<int>(d)});
      }
    }
    return draft;
  }

  /// Splits a guard into conditions on affine forms and other booleans, all of which must hold.
  void draft_guard(ExprId guard, LoadDraft& draft) {
    std::vector<ExprId> open;
    if (guard != none) open.push_back(guard);
    while (!open.empty()) {
      ExprId id = open.back();
      open.pop_back();
      const Expr& node = expr(id);
      if (node.op == ScalarOp::logical_and) {
        open.push_back(node.args[1]);
        open.push_back(node.args[0]);
      } else if (!draft_comparison(node, draft)) {
        draft.guards.push_back(id);
      }
    }
  }

  bool draft_comparison(const Expr& node, LoadDraft& draft) {
    if (!is_comparison(node.op) || node.op == ScalarOp::not_equal) return false;
    const Affine* a = analysis_.of(node.args[0]);
    const Affine* b = analysis_.of(node.args[1]);
    if (!a || !b) return false;
    auto difference = [&](const Affine& high, const Affine& low, int64_t constant) {
      return analysis_.combine(high, 1, low, -1, constant);
    };
    std::optional<Affine> first;
    std::optional<Affine> second;
    switch (node.op) {
      case ScalarOp::less:
        first = difference(*b, *a, -1);
        break;
      case ScalarOp::less_equal:
        first = difference(*b, *a, 0);
        break;
      case ScalarOp::greater:
        first = difference(*a, *b, -1);
        break;
      case ScalarOp::greater_equal:
        first = difference(*a, *b, 0);
        break;
      default:
        first = difference(*a, *b, 0);
        second = difference(*b, *a, 0);
        if (!second) return false;
    }
    if (!first) return false;
    for (auto& condition : {first, second}) {
      if (condition && analysis_.range(*condition).low < 0) draft.conditions.push_back(*condition);
    }
    return true;
  }

  /// Whether form >= 0 over the whole space, or wherever the guard is true.
  bool holds(const Affine& form, const LoadDraft& draft) const {
    if (analysis_.range(form).low >= 0) return true;
    return std::any_of(draft.conditions.begin(), draft.conditions.end(), [&](const Affine& condition) {
      return condition.coefficients == form.coefficients && condition.constant <= form.constant;
    });
  }

  Register allocate(bool uniform, bool in_loop) {
    Register reg{body_.size, uniform, in_loop};
    body_.size += uniform ? 1 : block_lanes;
    return reg;
  }

  Register constant(int64_t bits) {
    auto [it, added] = constants_.try_emplace(bits);
    if (added) {
      it->second = allocate(true, false);
      body_.constants.emplace_back(it->second.offset, bits);
    }
    return it->second;
  }

  /// The number of a form, shared between equal ones.
  int form_of(const Affine& affine) {
    auto [it, added] = forms_.try_emplace(affine, static_cast<int>(body_.forms.size()));
    if (!added) return it->second;
    Form form;
    form.constant = affine.constant;
    form.coefficients = affine.coefficients;
    std::vector<int64_t> table(affine.coefficients.begin() + static_cast<std::ptrdiff_t>(layout_.lane_begin),
                               affine.coefficients.begin() + static_cast<std::ptrdiff_t>(layout_.lane_end));
    if (std::any_of(table.begin(), table.end(), [](int64_t c) { return c != 0; })) {
      auto [table_it, new_table] = tables_.try_emplace(table, static_cast<int>(body_.tables.size()));
      if (new_table) body_.tables.push_back(table);
      form.table = table_it->second;
    }
    // Stepping axis a moves by its coefficient and takes the axes inside it from their last point to 0.
    int64_t inside = 0;
    for (size_t axis = layout_.loop_end; axis-- > layout_.loop_begin;) {
      const int64_t coefficient = affine.coefficients[axis];
      form.advance.insert(form.advance.begin(), coefficient - inside);
      inside += coefficient * (layout_.extents[axis] - 1);
      if (coefficient != 0) form.in_loop = true;
    }
    body_.forms.push_back(std::move(form));
    return it->second;
  }

  Register emit(ExprId id) {
    const Expr& node = expr(id);
    if (const Affine* affine = analysis_.of(id)) return emit_form(*affine);
    switch (node.op) {
      case ScalarOp::real:
        return constant(std::bit_cast<int64_t>(node.real));
      case ScalarOp::integer:
        return constant(node.integer);
      case ScalarOp::extent:
        return constant(context_.bindings.value(node.dim, context_.where));
      case ScalarOp::axis:
      case ScalarOp::time:
        refuse("the iteration space is too large");
      case ScalarOp::parameter: {
        auto k = static_cast<size_t>(node.integer);
        if (node.integer < 0 || k >= parameter_types_.size()) refuse("a parameter outside a monoid");
        return body_.parameters[k];
      }
      case ScalarOp::load:
        return emit_load(id, node);
      case ScalarOp::select:
        return emit_kernel(select_kernel(), node);
      case ScalarOp::cast:
      case ScalarOp::cast_saturate:
        return emit_kernel(
            cast_kernel(expr(node.args[0]).type, node.type, node.op == ScalarOp::cast_saturate), node);
      default:
        break;
    }
    ElementType type = expr(node.args[0]).type;
    return emit_kernel(
        argument_count(node.op) == 1 ? unary_kernel(node.op, type) : binary_kernel(node.op, type), node);
  }

  Register emit_form(const Affine& affine) {
    if (affine.is_constant()) return constant(affine.constant);
    int form = form_of(affine);
    auto [it, added] = form_registers_.try_emplace(form);
    if (!added) return it->second;
    const Form& made = body_.forms[static_cast<size_t>(form)];
    Instruction instruction;
    instruction.kernel = form_kernel();
    instruction.number = form;
    it->second = append(std::move(instruction), made.table == none, made.in_loop);
    return it->second;
  }

  Register emit_kernel(Kernel kernel, const Expr& node) {
    Instruction instruction;
    instruction.kernel = kernel;
    instruction.op = node.op;
    instruction.type = expr(node.args[0]).type;
    instruction.to = node.type;
    bool uniform = true;
    bool in_loop = false;
    for (size_t k = 0; k < node.args.size() && node.args[k] != none; ++k) {
      const Register& argument = register_of(node.args[k]);
      instruction.arguments[k] = argument.offset;
      instruction.uniform[k] = argument.uniform;
      uniform = uniform && argument.uniform;
      in_loop = in_loop || argument.in_loop;
    }
    return append(std::move(instruction), uniform, in_loop);
  }

  Register emit_load(ExprId id, const Expr& node) {
    const LoadDraft& draft = drafts_.at(id);
    Load load;
    bool uniform = true;
    bool in_loop = false;
    auto use_form = [&](const Affine& affine) {
      int form = form_of(affine);
      uniform = uniform && body_.forms[static_cast<size_t>(form)].table == none;
      in_loop = in_loop || body_.forms[static_cast<size_t>(form)].in_loop;
      return form;
    };
    auto use_register = [&](ExprId value) {
      const Register& reg = register_of(value);
      uniform = uniform && reg.uniform;
      in_loop = in_loop || reg.in_loop;
      return reg;
    };
    load.tensor = static_cast<TensorId>(node.integer);
    load.kernel = load_kernel(context_.tensors[static_cast<size_t>(node.integer)].type());
    load.address_form = use_form(draft.address);
    for (const auto& check : draft.checks) {
      load.checks.push_back({use_form(check.index), use_form(check.room), check.dimension});
    }
    for (const auto& index : draft.computed) {
      Register reg = use_register(index.index);
      load.computed.push_back({reg.offset, reg.uniform, index.stride, index.extent, index.dimension});
    }
    for (const Affine& condition : draft.conditions) load.guard_forms.push_back(use_form(condition));
    for (ExprId guard : draft.guards) {
      Register reg = use_register(guard);
      load.guard_registers.emplace_back(reg.offset, reg.uniform);
    }
    load.guarded = !load.guard_forms.empty() || !load.guard_registers.empty();
    if (load.guarded) {
      Register otherwise = use_register(node.args[1]);
      load.otherwise = otherwise.offset;
      load.uniform_otherwise = otherwise.uniform;
    }
    Instruction instruction;
    instruction.kernel = guarded_load_kernel();
    instruction.number = static_cast<int>(body_.loads.size());
    body_.loads.push_back(std::move(load));
    return append(std::move(instruction), uniform, in_loop);
  }

  Register append(Instruction instruction, bool uniform, bool in_loop) {
    Register result = allocate(uniform, in_loop);
    instruction.result = result.offset;
    instruction.uniform_result = uniform;
    (in_loop ? body_.loop : body_.block).push_back(std::move(instruction));
    return result;
  }

  const BodyContext& context_;
  const Program& program_;
  const Layout& layout_;
  const size_t count_;
  AffineAnalysis analysis_;
  const std::vector<ElementType>& parameter_types_;
  Body body_;
  std::vector<bool> needed_;
  std::vector<Register> registers_;
  std::map<ExprId, LoadDraft> drafts_;
  std::map<int64_t, Register> constants_;
  std::map<Affine, int> forms_;
  std::map<int, Register> form_registers_;
  std::map<std::vector<int64_t>, int> tables_;
};

}  // namespace

Body compile_body(const BodyContext& context, const Layout& layout, const std::vector<ExprId>& roots,
                  const std::vector<ElementType>& parameters) {
  return Compiler(context, layout, roots, parameters).take();
}

}  // namespace axrun::ir::interpreter
