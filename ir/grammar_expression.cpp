// Rules about single expressions.
#include "ir/arithmetic.h"
#include "ir/grammar.h"

namespace axrun::ir {
namespace {

using Answer = GrammarRule::Answer;

const Expr& at(const GrammarContext& c, ExprId id) { return c.program.exprs[static_cast<size_t>(id)]; }
ElementType type_at(const GrammarContext& c, ExprId id) { return at(c, id).type; }
std::string name(ElementType type) { return std::string(name_of(type)); }
bool is_whole(ElementType type) { return is_integer(type) || type == ElementType::boolean; }
bool is_number(ElementType type) { return is_integer(type) || is_float(type); }

Answer fail_if(bool wrong, const std::string& text) { return wrong ? Answer(text) : std::nullopt; }

Answer arguments_present(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  if (e.op > ScalarOp::greater_equal) return "there is no such operation";
  const int wanted = argument_count(e.op);
  const bool plain_load = e.op == ScalarOp::load && e.args[0] == none && e.args[1] == none;
  for (int k = 0; k < 3; ++k) {
    const bool present = e.args[static_cast<size_t>(k)] != none;
    if (present != (k < wanted) && !(plain_load && !present)) {
      return std::string(name_of(e.op)) + (present ? " has more" : " has fewer") + " than " +
             std::to_string(wanted) + " arguments";
    }
  }
  return std::nullopt;
}

Answer arguments_before(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  auto later = [id](ExprId argument) { return argument != none && (argument < 0 || argument >= id); };
  for (ExprId argument : e.args) {
    if (later(argument)) return "argument " + std::to_string(argument) + " is not an earlier expression";
  }
  for (ExprId index : e.indices) {
    if (index == none || later(index))
      return "index " + std::to_string(index) + " is not an earlier expression";
  }
  return std::nullopt;
}

Answer load_tensor(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  const bool known = e.integer >= 0 && e.integer < static_cast<int64_t>(c.program.tensors.size());
  return fail_if(e.op == ScalarOp::load && !known, "there is no tensor " + std::to_string(e.integer));
}

Answer only_loads_have_indices(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  return fail_if(e.op != ScalarOp::load && !e.indices.empty(), std::string(name_of(e.op)) + " has indices");
}

Answer leaf_type(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  bool right = true;
  switch (e.op) {
    case ScalarOp::real:
      right = is_float(e.type);
      break;
    case ScalarOp::integer:
      right = is_whole(e.type);
      break;
    case ScalarOp::extent:
    case ScalarOp::axis:
    case ScalarOp::time:
      right = e.type == ElementType::i64;
      break;
    case ScalarOp::parameter:
      right = is_whole(e.type) || is_float(e.type);
      break;
    default:
      break;
  }
  return fail_if(!right, std::string(name_of(e.op)) + " cannot have type " + name(e.type));
}

Answer literal_range(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  if (e.op != ScalarOp::integer || !is_whole(e.type)) return std::nullopt;
  return fail_if(wrap_to(e.type, e.integer) != e.integer,
                 std::to_string(e.integer) + " is not in the range of " + name(e.type));
}

Answer load_type(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  if (e.op != ScalarOp::load) return std::nullopt;
  const TensorDecl& tensor = c.program.tensors[static_cast<size_t>(e.integer)];
  return fail_if(e.type != tensor.type, "a load of type " + name(e.type) + " from '" + tensor.name +
                                            "' of type " + name(tensor.type));
}

Answer load_rank(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  if (e.op != ScalarOp::load) return std::nullopt;
  const TensorDecl& tensor = c.program.tensors[static_cast<size_t>(e.integer)];
  return fail_if(e.indices.size() != tensor.dims.size(), std::to_string(e.indices.size()) +
                                                             " indices into '" + tensor.name + "' of rank " +
                                                             std::to_string(tensor.dims.size()));
}

Answer load_indices(const GrammarContext& c, ExprId id) {
  for (ExprId index : at(c, id).indices) {
    if (type_at(c, index) != ElementType::i64) return "an index has type " + name(type_at(c, index));
  }
  return std::nullopt;
}

Answer load_guard(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  if (e.op != ScalarOp::load || e.args[0] == none) return std::nullopt;
  if (type_at(c, e.args[0]) != ElementType::boolean)
    return "the guard has type " + name(type_at(c, e.args[0]));
  return fail_if(type_at(c, e.args[1]) != e.type,
                 "the value where the guard is false has type " + name(type_at(c, e.args[1])));
}

Answer select_types(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  if (e.op != ScalarOp::select) return std::nullopt;
  if (type_at(c, e.args[0]) != ElementType::boolean)
    return "the condition has type " + name(type_at(c, e.args[0]));
  return fail_if(type_at(c, e.args[1]) != e.type || type_at(c, e.args[2]) != e.type,
                 "types " + name(type_at(c, e.args[1])) + " and " + name(type_at(c, e.args[2])) +
                     " are selected into " + name(e.type));
}

Answer cast_types(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  if (e.op != ScalarOp::cast && e.op != ScalarOp::cast_saturate) return std::nullopt;
  const ElementType from = type_at(c, e.args[0]);
  auto castable = [](ElementType type) { return is_whole(type) || is_float(type); };
  return fail_if(!castable(from) || !castable(e.type), name(from) + " cannot be cast to " + name(e.type));
}

/// Types of the arguments that an operation takes.
bool takes(ScalarOp op, ElementType type) {
  switch (op) {
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::sign:
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::div:
    case ScalarOp::floor_mod:
    case ScalarOp::remainder:
    case ScalarOp::pow:
      return is_number(type);
    case ScalarOp::min:
    case ScalarOp::max:
    case ScalarOp::less:
    case ScalarOp::less_equal:
    case ScalarOp::greater:
    case ScalarOp::greater_equal:
      return is_number(type) || type == ElementType::boolean;
    case ScalarOp::floor_div:
    case ScalarOp::shift_left:
    case ScalarOp::shift_right:
    case ScalarOp::bit_not:
      return is_integer(type);
    case ScalarOp::bit_and:
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor:
      return is_whole(type);
    case ScalarOp::equal:
    case ScalarOp::not_equal:
      return type != ElementType::undefined;
    case ScalarOp::logical_not:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
    case ScalarOp::logical_xor:
      return type == ElementType::boolean;
    default:
      return is_float(type);
  }
}

bool is_arithmetic(ScalarOp op) { return op >= ScalarOp::neg; }

Answer arithmetic_arguments(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  if (!is_arithmetic(e.op)) return std::nullopt;
  const ElementType first = type_at(c, e.args[0]);
  if (!takes(e.op, first)) return std::string(name_of(e.op)) + " does not take " + name(first);
  if (argument_count(e.op) == 1) return std::nullopt;
  const ElementType second = type_at(c, e.args[1]);
  return fail_if(first != second, std::string(name_of(e.op)) + " of " + name(first) + " and " + name(second));
}

Answer arithmetic_result(const GrammarContext& c, ExprId id) {
  const Expr& e = at(c, id);
  if (!is_arithmetic(e.op)) return std::nullopt;
  const ElementType expected = gives_boolean(e.op) ? ElementType::boolean : type_at(c, e.args[0]);
  return fail_if(e.type != expected,
                 std::string(name_of(e.op)) + " gives " + name(expected) + ", not " + name(e.type));
}

GrammarRule rule(std::string_view id, std::string_view description, int layer,
                 Answer (*check)(const GrammarContext&, ExprId)) {
  GrammarRule row;
  row.id = id;
  row.description = description;
  row.layer = layer;
  row.expression = check;
  return row;
}

}  // namespace

void expression_rules(std::vector<GrammarRule>& rules) {
  rules.insert(
      rules.end(),
      {
          rule("argument-count", "every operation has its number of arguments; a guard comes with a value", 1,
               arguments_present),
          rule("argument-order", "arguments and indices are earlier expressions", 1, arguments_before),
          rule("load-tensor", "a load names a tensor of the program", 1, load_tensor),
          rule("indices-of-loads", "only loads have indices", 2, only_loads_have_indices),
          rule("leaf-type", "literals have a type of their kind; extents, axes and time are i64", 2,
               leaf_type),
          rule("literal-range", "an integer literal lies in the range of its type", 2, literal_range),
          rule("load-type", "a load has the type of its tensor", 2, load_type),
          rule("load-rank", "a load has one index per dimension of its tensor", 2, load_rank),
          rule("load-index-type", "indices are i64", 2, load_indices),
          rule("load-guard", "a guard is boolean, and the value in its stead has the load's type", 2,
               load_guard),
          rule("select-types", "select has a boolean condition and sides of its own type", 2, select_types),
          rule("cast-types", "casts are between numbers and booleans", 2, cast_types),
          rule("operand-types", "the arguments of an operation have one type, which it takes", 2,
               arithmetic_arguments),
          rule("result-type",
               "comparisons and predicates give booleans, other operations their arguments' type", 2,
               arithmetic_result),
      });
}

}  // namespace axrun::ir
