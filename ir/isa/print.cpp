#include <algorithm>

#include "ir/error.h"
#include "ir/isa/names.h"

namespace axrun::ir::isa {
namespace {

class Printer {
 public:
  explicit Printer(const Row& row) : row_(row) {}

  /// `binding`: what stands around; looser expressions get parentheses.
  std::string node(int index, int binding) const {
    const Node& node = row_.result[index];
    const auto argument = [&](int k, int around = 0) { return this->node(node.arguments[k], around); };
    switch (node.op) {
      case Op::constant:
        return constant(node);
      case Op::lane:
        return "i";
      case Op::lanes:
        return "n";
      case Op::variable:
        return row_.variable;
      case Op::immediate:
        return "imm";
      case Op::read:
        return row_.operands[node.value].name + "[" + argument(0) + "]";
      case Op::sum:
        return "sum(" + row_.variable + ", " + std::to_string(node.value) + ", " + argument(0) + ")";
      case Op::complement:
        return "~" + argument(0, tightest);
      case Op::select: {
        const std::string text = argument(0, 1) + " ? " + argument(1) + " : " + argument(2);
        return binding > 0 ? "(" + text + ")" : text;
      }
      default:
        break;
    }
    const Op op = node.op == Op::divide_float ? Op::divide : node.op;
    for (const Infix& infix : infixes) {
      if (infix.op != op) continue;
      const std::string text =
          argument(0, infix.binding) + " " + std::string(infix.symbol) + " " + argument(1, infix.binding + 1);
      return binding > infix.binding ? "(" + text + ")" : text;
    }
    for (const Function& function : functions) {
      if (function.op != op) continue;
      std::string text(function.name);
      if (text.back() == '_') text += name_of(node.to);
      text += "(";
      for (int k = 0; k < function.arguments; ++k) text += (k ? ", " : "") + argument(k);
      return text + ")";
    }
    AXRUN_ASSERT(false);
  }

 private:
  static std::string constant(const Node& node) {
    if (node.type == Type::boolean) return node.value ? "true" : "false";
    if (!node.hexadecimal) return std::to_string(node.value);
    std::string digits;
    for (uint64_t rest = node.value; rest || digits.empty(); rest >>= 4)
      digits += "0123456789abcdef"[rest & 15];
    std::reverse(digits.begin(), digits.end());
    return "0x" + digits;
  }

  const Row& row_;
};

std::string print_place(const Operand& operand) {
  const std::string letter = operand.may_be_register ? "v" : "m";
  switch (operand.place) {
    case Place::vector:
      return (operand.divisor == 1 ? letter : letter + "/" + std::to_string(operand.divisor)) +
             (operand.may_be_register && operand.may_be_memory ? "|m" : "");
    case Place::low:
      return (operand.may_be_register ? "low" : "m") + std::to_string(operand.bits) +
             (operand.repeated ? "*" : "") + (operand.may_be_register && operand.may_be_memory ? "|m" : "");
    case Place::general:
      return "r" + std::to_string(operand.bits) + (operand.may_be_memory ? "|m" : "");
    case Place::mask:
      return "k";
    case Place::write_mask:
      return operand.zeroing ? "{z}" : "{k}";
    case Place::immediate:
      break;
  }
  AXRUN_ASSERT(false);
}

std::string print_operand(const Operand& operand) {
  if (operand.place == Place::immediate)
    return "imm:" + std::to_string(operand.lowest) + ".." + std::to_string(operand.highest);
  return operand.name + ":" + std::string(name_of(operand.lane)) + " " + print_place(operand) + " " +
         (operand.read ? "r" : "") + (operand.written ? "w" : "");
}

}  // namespace

std::string print_tree(const Row& row) {
  return Printer(row).node(static_cast<int>(row.result.size()) - 1, 0);
}

std::string print_row(const Row& row) {
  std::string text = row.name;
  for (const Form& form : row.forms) {
    text += " " + form.widths;
    for (size_t k = 0; k < form.features.size(); ++k) text += (k ? "+" : ":") + form.features[k];
  }
  text += " (";
  for (size_t k = 0; k < row.operands.size(); ++k) text += (k ? ", " : "") + print_operand(row.operands[k]);
  text += ")";
  if (row.maskable) text += " maskable";
  if (row.broadcastable) text += " broadcastable";
  if (row.guarded) text += " guarded";
  if (row.aligned) text += " aligned";
  if (row.any_nan) text += " any_nan";
  return text + " { " + row.operands[row.destination].name + "[i] = " + print_tree(row) + " }";
}

}  // namespace axrun::ir::isa
