#include "search/supported.h"

#include <algorithm>
#include <cctype>

#include "ir/grammar.h"
#include "search/recurrence.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::ElementType;
using ir::Expr;
using ir::Program;
using ir::ScalarOp;
using ir::Stage;
using ir::StageKind;

namespace {

bool is_word(const std::string& name) {
  bool word = !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_');
  for (const char c : name) word = word && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
  return word;
}

/// x0, x1, ...: what inverse maps call coordinates.
bool is_coordinate(const std::string& name) {
  return name.size() > 1 && name[0] == 'x' && name.find_first_not_of("0123456789", 1) == std::string::npos;
}

std::string about_dim(const Dim& dim, const Sizes& sizes) {
  std::vector<std::string> symbols;
  dim.collect_symbols(symbols);
  for (const std::string& symbol : symbols) {
    const auto same = [&](const ir::loop::Size& size) { return size.name == symbol; };
    if (std::none_of(sizes.begin(), sizes.end(), same))
      return "the range of size '" + symbol + "' is not given";
  }
  return {};
}

std::string about_type(ElementType type) {
  switch (type) {
    case ElementType::undefined:
    case ElementType::f8e4m3fn:
    case ElementType::f8e4m3fnuz:
    case ElementType::f8e5m2:
    case ElementType::f8e5m2fnuz:
    case ElementType::f8e8m0:
    case ElementType::f4e2m1:
    case ElementType::f6e2m3:
    case ElementType::f6e3m2:
    case ElementType::string:
      return "elements of type " + std::string(name_of(type));
    default:
      return {};
  }
}

std::string about_stage(const Program& program, const Stage& stage, bool in_step) {
  const std::string where = "stage '" + stage.name + "': ";
  if (stage.kind == StageKind::scan) return in_step ? where + "a scan within a scan" : "";
  if (stage.kind != StageKind::map && stage.kind != StageKind::reduce)
    return where + "neither map nor reduction";
  const bool reduces = stage.kind == StageKind::reduce;
  if (reduces && stage.monoid.kind == ir::Monoid::Kind::tuple) return where + "a reduction of tuples";
  for (const ir::ExprId id : ir::reachable(program, stage.body)) {
    const Expr& expr = program.exprs[static_cast<size_t>(id)];
    if (expr.op == ScalarOp::parameter || (expr.op == ScalarOp::time && !in_step))
      return where + "not on its own";
    const std::string type = about_type(expr.type);
    if (!type.empty()) return where + type;
  }
  return {};
}

std::string about_program(const Program& program, const Sizes& sizes, bool in_step) {
  for (const ir::TensorDecl& tensor : program.tensors) {
    for (const Dim& dim : tensor.dims) {
      const std::string reason = about_dim(dim, sizes);
      if (!reason.empty()) return reason;
    }
    const std::string reason = about_type(tensor.type);
    if (!reason.empty()) return "tensor '" + tensor.name + "': " + reason;
  }
  for (const Stage& stage : program.stages) {
    std::string reason = about_stage(program, stage, in_step);
    if (reason.empty() && stage.kind == StageKind::scan) reason = about_program(*stage.step, sizes, true);
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace

std::string unsupported_because(const Program& program, const Sizes& sizes) {
  for (const ir::loop::Size& size : sizes) {
    if (!is_word(size.name) || is_coordinate(size.name))
      return "the size '" + size.name + "' has a name that loop programs cannot have";
  }
  return about_program(program, sizes, false);
}

std::string unindexable_because(const Program& program) {
  for (const Stage& stage : program.stages) {
    if (stage.kind == StageKind::scan) {
      const std::string reason = unindexable_because(step_at(*stage.step, Dim::symbol("time")));
      if (!reason.empty()) return reason;
      continue;
    }
    const ir::Dims point = symbolic_point(stage);
    for (const ir::ExprId load : loads_of(program, stage.body[0])) {
      const Expr& read = program.exprs[static_cast<size_t>(load)];
      for (size_t d = 0; d < read.indices.size(); ++d) {
        if (!index_at(program, read.indices[d], point) && !looked_up_at(program, read, d, point))
          return "stage '" + stage.name + "': an index depends on data";
      }
    }
  }
  return {};
}

}  // namespace axrun::search
