// Printing tensor expressions.
#include "ir/text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "ir/expression_pool.h"
#include "ir/grammar.h"
#include "ir/text_names.h"

namespace axrun::ir {
namespace {

using namespace text;

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      constexpr std::string_view digits = "0123456789abcdef";
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string word(const std::string& name) {
  bool plain = !name.empty() && starts_word(name[0]) && !is_reserved(name);
  for (const char c : name) plain = plain && continues_word(c);
  return plain ? name : quoted(name);
}

std::string typed(ElementType type) { return std::string(name_of(type)); }

std::string real_text(double value) {
  if (std::isnan(value)) {
    const auto bits = std::bit_cast<uint64_t>(value);
    if (bits == std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN())) return "nan";
    std::array<char, 16> digits;
    auto end = std::to_chars(digits.begin(), digits.end(), bits, 16).ptr;
    return "nan(" + std::string(digits.begin(), end) + ")";
  }
  std::array<char, 32> digits;
  auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
  return {digits.begin(), end};
}

std::string integer_text(const Expr& e) {
  if (e.type == ElementType::boolean) return e.integer != 0 ? "true" : "false";
  const std::string digits = e.type == ElementType::u64 ? std::to_string(static_cast<uint64_t>(e.integer))
                                                        : std::to_string(e.integer);
  return e.type == ElementType::i64 ? digits : digits + ":" + typed(e.type);
}

std::string dims_text(const Dims& dims) {
  std::string out = "[";
  for (size_t k = 0; k < dims.size(); ++k) out += (k == 0 ? "" : ", ") + dims[k].to_string();
  return out + "]";
}

/// The program with equal expressions as one node, so that the text tells what occurs more than once.
Program shared(Program program) {
  ExpressionPool pool;
  std::vector<Expr> exprs;
  std::vector<ExprId> number;
  auto renumber = [&](ExprId& id) {
    if (id != none) id = number[static_cast<size_t>(id)];
  };
  for (Expr& expr : program.exprs) {
    for (ExprId& argument : expr.args) renumber(argument);
    for (ExprId& index : expr.indices) renumber(index);
    number.push_back(pool.intern(exprs, std::move(expr)));
  }
  program.exprs = std::move(exprs);
  for (Stage& stage : program.stages) {
    for (auto* list : {&stage.body, &stage.target, &stage.monoid.identity, &stage.monoid.combine}) {
      for (ExprId& id : *list) renumber(id);
    }
    renumber(stage.guard);
  }
  return program;
}

class Printer {
 public:
  Printer(const Program& program, int depth, size_t& payloads)
      : program_(shared(program)),
        indent_(static_cast<size_t>(depth) * 2, ' '),
        depth_(depth),
        payloads_(payloads) {}

  std::string run() {
    std::string out = "program " + word(program_.name) + "(";
    for (size_t k = 0; k < program_.operands.size(); ++k) {
      out += k == 0 ? "" : ", ";
      out += program_.operands[k] == none ? "none" : declaration(program_.operands[k]);
    }
    out += ") -> (" + names(program_.outputs) + ") {\n";
    for (const Stage& stage : program_.stages) out += stage_text(stage);
    return out + indent_ + "}\n";
  }

 private:
  const TensorDecl& tensor(TensorId id) const { return program_.tensors[static_cast<size_t>(id)]; }
  const Expr& expr(ExprId id) const { return program_.exprs[static_cast<size_t>(id)]; }

  std::string declaration(TensorId id) const {
    return word(tensor(id).name) + ": " + typed(tensor(id).type) + dims_text(tensor(id).dims);
  }

  std::string names(const std::vector<TensorId>& ids) const {
    std::string out;
    for (size_t k = 0; k < ids.size(); ++k)
      out += (k == 0 ? "" : ", ") + (ids[k] == none ? "none" : word(tensor(ids[k]).name));
    return out;
  }

  std::string stage_text(const Stage& stage) {
    std::string out = indent_ + "  ";
    for (size_t k = 0; k < stage.results.size(); ++k)
      out += (k == 0 ? "" : ", ") + declaration(stage.results[k]);
    out += " = " + std::string(stage_words[static_cast<size_t>(stage.kind)]) + " ";
    if (stage.name != tensor(stage.results[0]).name) out += "named " + word(stage.name) + " ";
    switch (stage.kind) {
      case StageKind::map:
        return out + space(stage) + block(stage);
      case StageKind::reduce:
        return out + std::string(monoid_words[static_cast<size_t>(stage.monoid.kind)]) + " " + space(stage) +
               block(stage);
      case StageKind::scatter:
        return out + std::string(scatter_words[static_cast<size_t>(stage.combine)]) + " into " +
               word(tensor(stage.base).name) + " " + space(stage) + block(stage);
      case StageKind::scan:
        return out + scan(stage);
      case StageKind::opaque:
        break;
    }
    out += word(stage.function) + "(" + names(stage.arguments) + ")";
    if (stage.payload) out += " payload " + std::to_string(payloads_++);
    return out + "\n";
  }

  std::string axis_text(const Axis& axis) const { return word(axis.name) + ": " + axis.extent.to_string(); }

  /// The axes in their groups; those of a scatter have none.
  std::string space(const Stage& stage) const {
    std::string out = "(";
    if (stage.kind == StageKind::scatter) {
      for (size_t k = 0; k < stage.axes.size(); ++k) out += (k == 0 ? "" : ", ") + axis_text(stage.axes[k]);
      return out + ")";
    }
    for (size_t g = 0; g < stage.groups.size(); ++g) {
      const auto& group = stage.groups[g];
      std::string merged;
      for (size_t k = 0; k < group.size(); ++k)
        merged += (k == 0 ? "" : ", ") + axis_text(stage.axes[static_cast<size_t>(group[k])]);
      out += (g == 0 ? "" : ", ") + (group.size() == 1 ? merged : "(" + merged + ")");
    }
    for (size_t k = 0; k < stage.reduce_axes.size(); ++k)
      out += (k == 0 ? "; " : ", ") + axis_text(stage.reduce_axes[k]);
    return out + ")";
  }

  std::string scan(const Stage& stage) {
    std::string out = "(length: " + stage.length.to_string() + "; captures: " + names(stage.captures) +
                      "; states: " + names(stage.initial) + ") ";
    return out + Printer(*stage.step, depth_ + 1, payloads_).run();
  }

  /// The expressions of a stage between braces; values that occur more than once first, by name.
  std::string block(const Stage& stage) {
    stage_ = &stage;
    std::vector<ExprId> roots = stage.target;
    for (const auto* list : {&stage.body, &stage.monoid.identity, &stage.monoid.combine})
      roots.insert(roots.end(), list->begin(), list->end());
    if (stage.guard != none) roots.push_back(stage.guard);
    const std::string inner = indent_ + "    ";
    std::string out = " {\n" + bindings(roots, inner);
    if (stage.kind == StageKind::scatter) {
      out += inner + "[" + list(stage.target) + "] = " + text(stage.body[0]);
      if (stage.guard != none) out += " where " + text(stage.guard);
      out += "\n";
    } else {
      out += inner + list(stage.body) + "\n";
    }
    if (stage.kind == StageKind::reduce && stage.monoid.kind == Monoid::Kind::tuple) {
      out += inner + "identity " + list(stage.monoid.identity) + "\n" + inner + "combine " +
             list(stage.monoid.combine) + "\n";
    }
    return out + indent_ + "  }\n";
  }

  static bool is_leaf(ScalarOp op) { return argument_count(op) == 0; }

  std::string bindings(const std::vector<ExprId>& roots, const std::string& inner) {
    names_.clear();
    heights_.assign(program_.exprs.size(), 0);
    std::vector<int> uses(program_.exprs.size());
    const std::vector<ExprId> used = reachable(program_, roots);
    auto use = [&](ExprId id) {
      if (id != none) ++uses[static_cast<size_t>(id)];
    };
    for (ExprId root : roots) use(root);
    for (ExprId id : used) {
      for (ExprId argument : expr(id).args) use(argument);
      for (ExprId index : expr(id).indices) use(index);
    }
    std::string out;
    for (ExprId id : used) {
      const Expr& e = expr(id);
      if (is_leaf(e.op)) continue;
      int height = 0;
      auto over = [&](ExprId below) {
        if (below != none) height = std::max(height, heights_[static_cast<size_t>(below)] + 1);
      };
      for (ExprId argument : e.args) over(argument);
      for (ExprId index : e.indices) over(index);
      if (uses[static_cast<size_t>(id)] > 1 || height >= tallest_expression) {
        std::string value = text(id);
        const std::string name = "$" + std::to_string(names_.size());
        names_[id] = name;
        out += inner + name + " = " + value + ";\n";
        height = 0;
      }
      heights_[static_cast<size_t>(id)] = height;
    }
    return out;
  }

  std::string list(const std::vector<ExprId>& ids) const {
    std::string out;
    for (size_t k = 0; k < ids.size(); ++k) out += (k == 0 ? "" : ", ") + text(ids[k]);
    return out;
  }

  /// `strength`: what binds less tightly needs parentheses.
  std::string text(ExprId id, int strength = 0) const {
    if (auto it = names_.find(id); it != names_.end()) return it->second;
    const Expr& e = expr(id);
    switch (e.op) {
      case ScalarOp::real:
        return real_text(e.real) + ":" + typed(e.type);
      case ScalarOp::integer:
        return integer_text(e);
      case ScalarOp::extent:
        return "dim(" + e.dim.to_string() + ")";
      case ScalarOp::axis:
        return axis_name(e.integer);
      case ScalarOp::time:
        return "time";
      case ScalarOp::parameter:
        return "@" + std::to_string(e.integer) + ":" + typed(e.type);
      case ScalarOp::load:
        return load(e);
      case ScalarOp::cast:
      case ScalarOp::cast_saturate:
        return std::string(name_of(e.op)) + "(" + typed(e.type) + ", " + text(e.args[0]) + ")";
      default:
        break;
    }
    for (const Infix& infix : infixes) {
      if (infix.op != e.op) continue;
      const std::string out = text(e.args[0], infix.strength) + " " + std::string(infix.symbol) + " " +
                              text(e.args[1], infix.strength + 1);
      return infix.strength < strength ? "(" + out + ")" : out;
    }
    std::string out = std::string(name_of(e.op)) + "(";
    for (int k = 0; k < argument_count(e.op); ++k)
      out += (k == 0 ? "" : ", ") + text(e.args[static_cast<size_t>(k)]);
    return out + ")";
  }

  std::string axis_name(int64_t number) const {
    auto k = static_cast<size_t>(number);
    return word(k < stage_->axes.size() ? stage_->axes[k].name
                                        : stage_->reduce_axes[k - stage_->axes.size()].name);
  }

  std::string load(const Expr& e) const {
    std::string out = word(tensor(static_cast<TensorId>(e.integer)).name) + "[" + list(e.indices);
    if (e.args[0] != none) out += "; " + text(e.args[0]) + "; " + text(e.args[1]);
    return out + "]";
  }

  const Program program_;
  const std::string indent_;
  const int depth_;
  size_t& payloads_;
  const Stage* stage_ = nullptr;
  std::map<ExprId, std::string> names_;
  std::vector<int> heights_;
};

}  // namespace

std::vector<OpaquePayload> payloads_of(const Program& program) {
  std::vector<OpaquePayload> payloads;
  for (const Stage& stage : program.stages) {
    if (stage.payload) payloads.push_back({stage.function, stage.payload});
    if (!stage.step) continue;
    for (OpaquePayload& inner : payloads_of(*stage.step)) payloads.push_back(std::move(inner));
  }
  return payloads;
}

std::string print(const Program& program) {
  require_valid(program);
  size_t payloads = 0;
  return Printer(program, 0, payloads).run();
}

}  // namespace axrun::ir
