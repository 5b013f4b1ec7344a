// Printing loop programs.
#include <array>
#include <charconv>
#include <cmath>

#include "ir/arithmetic.h"
#include "ir/loop/loop_program.h"
#include "ir/loop/words.h"
#include "ir/text_names.h"

namespace axrun::ir::loop {
namespace {

std::string joined(const Dims& dims, const char* open, const char* close) {
  std::string out = open;
  for (size_t k = 0; k < dims.size(); ++k) out += (k == 0 ? "" : ", ") + dims[k].to_string();
  return out + close;
}

class Printer {
 public:
  explicit Printer(const LoopProgram& program) : program_(program) {}

  std::string run() {
    std::string out = "loops " + program_.name + "(";
    for (size_t k = 0; k < program_.sizes.size(); ++k) {
      const Size& size = program_.sizes[k];
      out += (k == 0 ? "" : ", ") + size.name + ": " + std::to_string(size.low) + ".." +
             std::to_string(size.high);
      if (size.divisor != 1) out += " by " + std::to_string(size.divisor);
    }
    out += ") {\n";
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.role == Role::scratch) continue;
      out +=
          "  " + std::string(role_words[static_cast<size_t>(buffer.role)]) + " " + declaration(buffer) + "\n";
    }
    return out + block(program_.body, 1) + "}\n";
  }

 private:
  static std::string declaration(const Buffer& buffer) {
    return buffer.name + ": " + std::string(name_of(buffer.type)) + joined(buffer.dims, "[", "]");
  }

  const Buffer& buffer(int id) const { return program_.buffers[static_cast<size_t>(id)]; }
  const Value& value_at(int id) const { return program_.values[static_cast<size_t>(id)]; }

  std::string block(const Block& body, size_t depth) {
    const std::string indent(2 * depth, ' ');
    std::string out;
    for (const Statement& statement : body) {
      out += indent;
      if (const auto* allocation = std::get_if<Allocate>(&statement)) {
        const Buffer& made = buffer(allocation->buffer);
        out += "allocate " + declaration(made) + " in " +
               std::string(level_words[static_cast<size_t>(made.level)]) + "\n";
      } else if (const auto* compute = std::get_if<Compute>(&statement)) {
        out += access(compute->target) + " " +
               std::string(combine_words[static_cast<size_t>(compute->combine)]) + " " +
               value(compute->value) + mapping(compute->mapping) + "\n";
      } else {
        const Loop& loop = std::get<Loop>(statement);
        out += std::string(loop_words[static_cast<size_t>(loop.kind)]) + " " + loop.variable;
        if (loop.step != 1) out += " step " + std::to_string(loop.step);
        out += " < " + loop.extent.to_string() + " {\n" + block(loop.body, depth + 1) + indent + "}\n";
      }
    }
    return out;
  }

  static std::string mapping(const Mapping& mapping) {
    if (mapping.stage.empty()) return "";
    return " computes " + mapping.stage + joined(mapping.point, "(", ")") + " inverse" +
           joined(mapping.inverse, "(", ")");
  }

  std::string access(const Access& access) {
    std::string out = buffer(access.buffer).name + "[";
    auto lookup = access.lookups.begin();
    for (size_t d = 0; d < access.indices.size(); ++d) {
      if (d != 0) out += ", ";
      if (lookup != access.lookups.end() && static_cast<size_t>(lookup->dimension) == d) {
        out += "lookup(" + buffer(lookup->buffer).name + joined(lookup->indices, "[", "]") + ")";
        ++lookup;
      } else {
        out += access.indices[d].to_string();
      }
    }
    return out + "]";
  }

  std::string value(int id) {
    const Value& v = value_at(id);
    switch (v.op) {
      case ScalarOp::real:
        return real(v.real) + ":" + std::string(name_of(v.type));
      case ScalarOp::integer:
        return std::to_string(v.integer) + ":" + std::string(name_of(v.type));
      case ScalarOp::extent:
        return "index(" + v.index.to_string() + ")";
      case ScalarOp::load: {
        if (v.args[0] == none) return access(v.access);
        return "guarded(" + access(v.access) + ", " + value(v.args[0]) + ", " + value(v.args[1]) + ")";
      }
      default:
        break;
    }
    // Operations are calls: the order of rounding is never left to precedence.
    std::string out(name_of(v.op));
    if (v.op == ScalarOp::cast || v.op == ScalarOp::cast_saturate) out += ":" + std::string(name_of(v.type));
    out += "(";
    for (int k = 0; k < argument_count(v.op); ++k) {
      out += (k == 0 ? "" : ", ") + value(v.args[static_cast<size_t>(k)]);
    }
    return out + ")";
  }

  static std::string real(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
    return {digits.begin(), end};
  }

  const LoopProgram& program_;
};

}  // namespace

std::string print(const LoopProgram& program) { return Printer(program).run(); }

}  // namespace axrun::ir::loop
