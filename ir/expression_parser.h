#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/expression_pool.h"
#include "ir/program.h"
#include "ir/scanner.h"

namespace axrun::ir::text {

ElementType parse_type(Scanner& scanner);

/// Reads expressions (ir/parse.cpp has the grammar) and appends them to a program. The names they may use are
/// those of the tensors declared so far, of the axes of the stage at hand, and of values bound to `$n`.
class ExpressionParser {
 public:
  ExpressionParser(Scanner& scanner, Program& program) : s_(scanner), program_(program) {}

  /// Both answer false when the name is taken.
  bool declare_tensor(const std::string& name, TensorId id) { return tensors_.emplace(name, id).second; }
  bool declare_axis(const std::string& name);
  void start_stage();
  TensorId tensor_named(const std::string& name, size_t position) const;

  /// `$n = expression;` as often as it occurs.
  void bindings();
  ExprId expression() { return infix_chain(0); }
  /// At least one, with commas.
  std::vector<ExprId> expressions();

 private:
  class Nesting;
  bool next_is_binding();
  ExprId infix_chain(int weakest);
  ExprId operation(ScalarOp op, const std::vector<ExprId>& arguments, size_t position);
  ExprId operand();
  ExprId named_operand(size_t position);
  ExprId parameter();
  ExprId number();
  ExprId typed_real(double value, size_t position);
  ExprId not_a_number(size_t position);
  ExprId real_literal(ElementType type, double value);
  ExprId integer_literal(ElementType type, int64_t value);
  ExprId load(TensorId id);
  ExprId call(const std::string& word, size_t position);
  ElementType type_of(ExprId id) const { return program_.exprs[static_cast<size_t>(id)].type; }
  ExprId add(Expr expr) { return pool_.intern(program_.exprs, std::move(expr)); }

  Scanner& s_;
  Program& program_;
  ExpressionPool pool_;
  std::map<std::string, TensorId> tensors_;
  std::map<std::string, int64_t> axes_;
  std::map<uint64_t, ExprId> bindings_;
  int nesting_ = 0;
};

}  // namespace axrun::ir::text
