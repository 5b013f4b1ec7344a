// What makes a loop program well-formed: a walk over its blocks that knows which names are in scope.
#include <cctype>
#include <set>
#include <utility>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/loop/loop_program.h"
#include "ir/loop/words.h"

namespace axrun::ir::loop {
namespace {

bool is_word(const std::string& name) {
  bool word = !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_');
  for (const char c : name) word = word && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
  return word;
}

class Checker {
 public:
  explicit Checker(const LoopProgram& program) : program_(program) {}

  std::vector<std::string> run() {
    if (!is_word(program_.name)) wrong("the program's name is no word");
    for (const Size& size : program_.sizes) check_size(size);
    values();
    if (!found_.empty()) return std::move(found_);  // the walk relies on what was checked so far
    alive_.assign(program_.buffers.size(), false);
    for (size_t id = 0; id < program_.buffers.size(); ++id) {
      const Buffer& buffer = program_.buffers[id];
      if (!is_word(buffer.name) || !names_.insert(buffer.name).second)
        wrong("buffer " + buffer.name + ": its name is taken or no word");
      if (size_of(buffer.type) == 0) wrong("buffer " + buffer.name + ": it has no type of fixed size");
      if (buffer.role == Role::scratch) continue;
      alive_[id] = true;
      if (buffer.level != Level::memory)
        wrong("buffer " + buffer.name + ": inputs and outputs are in memory");
      for (const Dim& dim : buffer.dims) symbols(dim, "buffer " + buffer.name);
    }
    block(program_.body, 0);
    return std::move(found_);
  }

 private:
  void wrong(const std::string& text) { found_.push_back(text); }

  void check_size(const Size& size) {
    if (!is_word(size.name) || !names_.insert(size.name).second)
      wrong("size " + size.name + ": its name is taken or no word");
    if (size.divisor < 1 || size.low < 0 || size.high < size.low) {
      wrong("size " + size.name + ": its range is empty or negative");
    }
  }

  bool is_buffer(int id) const { return id >= 0 && static_cast<size_t>(id) < program_.buffers.size(); }

  bool access_fits(const Access& access, const std::string& where) {
    if (!is_buffer(access.buffer)) {
      wrong(where + ": there is no such buffer");
      return false;
    }
    const Buffer& buffer = program_.buffers[static_cast<size_t>(access.buffer)];
    if (buffer.dims.size() == access.indices.size()) return true;
    wrong(where + ": " + buffer.name + " has " + std::to_string(buffer.dims.size()) + " dimensions");
    return false;
  }

  /// Types and numbers of the values, without looking at scopes.
  void values() {
    for (size_t id = 0; id < program_.values.size(); ++id) {
      const Value& v = program_.values[id];
      const std::string where = "value " + std::to_string(id) + " (" + std::string(name_of(v.op)) + ")";
      if (v.op == ScalarOp::axis || v.op == ScalarOp::time || v.op == ScalarOp::parameter) {
        wrong(where + ": loop programs have no such value");
        continue;
      }
      const bool load = v.op == ScalarOp::load;
      const int count = load && v.args[0] == none ? 0 : argument_count(v.op);
      bool ordered = true;
      for (int k = 0; k < 3; ++k) {
        const int argument = v.args[static_cast<size_t>(k)];
        const bool right = k < count ? argument >= 0 && static_cast<size_t>(argument) < id : argument == none;
        ordered = ordered && right;
      }
      if (!ordered) {
        wrong(where + ": its arguments are not " + std::to_string(count) + " earlier values");
        continue;
      }
      if (load && !access_fits(v.access, where)) continue;
      types(v, where, count);
    }
  }

  ElementType type_of(int id) const { return program_.values[static_cast<size_t>(id)].type; }

  void types(const Value& v, const std::string& where, int count) {
    const auto argument = [&](int k) { return type_of(v.args[static_cast<size_t>(k)]); };
    bool right = true;
    switch (v.op) {
      case ScalarOp::real:
        right = is_float(v.type);
        break;
      case ScalarOp::integer:
        right =
            (is_integer(v.type) || v.type == ElementType::boolean) && v.integer == wrap_to(v.type, v.integer);
        break;
      case ScalarOp::extent:
        right = v.type == ElementType::i64;
        break;
      case ScalarOp::load:
        right = v.type == program_.buffers[static_cast<size_t>(v.access.buffer)].type;
        if (count == 2) right = right && argument(0) == ElementType::boolean && argument(1) == v.type;
        break;
      case ScalarOp::select:
        right = argument(0) == ElementType::boolean && argument(1) == v.type && argument(2) == v.type;
        break;
      case ScalarOp::cast:
      case ScalarOp::cast_saturate:
        right = size_of(v.type) != 0;
        break;
      default:
        if (count == 2) right = argument(0) == argument(1);
        right = right && v.type == (gives_boolean(v.op) ? ElementType::boolean : argument(0));
        if (is_logical(v.op)) right = right && argument(0) == ElementType::boolean;
    }
    if (!right) wrong(where + ": its types do not fit");
  }

  void symbols(const Dim& dim, const std::string& where) {
    std::vector<std::string> used;
    dim.collect_symbols(used);
    for (const std::string& name : used) {
      if (variables_.count(name) == 0 && !is_size(name))
        wrong(where + ": " + name + " is neither a size nor a loop around it");
    }
  }

  bool is_size(const std::string& name) const {
    for (const Size& size : program_.sizes) {
      if (size.name == name) return true;
    }
    return false;
  }

  void access(const Access& access, const std::string& where) {
    if (!alive_[static_cast<size_t>(access.buffer)]) {
      wrong(where + ": " + program_.buffers[static_cast<size_t>(access.buffer)].name +
            " is not allocated here");
    }
    for (const Dim& index : access.indices) symbols(index, where);
    int next = 0;
    for (const Lookup& lookup : access.lookups) {
      if (!is_buffer(lookup.buffer)) return wrong(where + ": an index is looked up in no buffer");
      const Buffer& from = program_.buffers[static_cast<size_t>(lookup.buffer)];
      const bool leads = lookup.dimension >= next &&
                         static_cast<size_t>(lookup.dimension) < access.indices.size() &&
                         access.indices[static_cast<size_t>(lookup.dimension)] == Dim(0);
      if (!leads)
        wrong(where + ": the dimensions whose indices are looked up are not in order, or have others");
      next = lookup.dimension + 1;
      if (from.role != Role::input || (from.type != ElementType::i32 && from.type != ElementType::i64))
        wrong(where + ": " + from.name + " is no input of i32 or i64, to look indices up");
      if (from.dims.size() != lookup.indices.size())
        wrong(where + ": " + from.name + " has " + std::to_string(from.dims.size()) + " dimensions");
      for (const Dim& index : lookup.indices) symbols(index, where);
    }
  }

  void block(const Block& body, int depth) {
    std::vector<int> made;
    for (const Statement& statement : body) {
      if (const auto* allocation = std::get_if<Allocate>(&statement)) {
        allocate(*allocation, made);
      } else if (const auto* compute = std::get_if<Compute>(&statement)) {
        check(*compute);
      } else {
        check(std::get<Loop>(statement), depth);
      }
    }
    for (const int id : made) alive_[static_cast<size_t>(id)] = false;
  }

  void allocate(const Allocate& allocation, std::vector<int>& made) {
    if (!is_buffer(allocation.buffer)) return wrong("allocate: there is no such buffer");
    const auto at = static_cast<size_t>(allocation.buffer);
    const Buffer& buffer = program_.buffers[at];
    const std::string where = "allocate " + buffer.name;
    if (in_vector_) wrong(where + ": a vector loop holds statements only");
    if (buffer.role != Role::scratch) return wrong(where + ": it is no scratch buffer");
    if (!allocated_.insert(allocation.buffer).second) return wrong(where + ": it is allocated in two places");
    for (const Dim& dim : buffer.dims) {
      symbols(dim, where);
      if (buffer.level == Level::registers && !dim.is_constant())
        wrong(where + ": registers have literal sizes");
    }
    alive_[at] = true;
    made.push_back(allocation.buffer);
  }

  void check(const Loop& loop, int depth) {
    const std::string where = "loop " + loop.variable;
    if (depth >= deepest_nesting) return wrong(where + ": nested too deeply");
    if (in_vector_) wrong(where + ": a vector loop holds statements only");
    if (loop.step < 1) wrong(where + ": its step is not positive");
    symbols(loop.extent, where);
    if (!is_word(loop.variable) || is_size(loop.variable) || !variables_.insert(loop.variable).second) {
      return wrong(where + ": its variable's name is taken or no word");
    }
    loops_.push_back(loop.variable);
    const bool outer = std::exchange(in_vector_, in_vector_ || loop.kind == LoopKind::vector);
    block(loop.body, depth + 1);
    in_vector_ = outer;
    loops_.pop_back();
    variables_.erase(loop.variable);
  }

  void check(const Compute& compute) {
    const std::string where = "statement";
    if (!access_fits(compute.target, where)) return;
    const Buffer& buffer = program_.buffers[static_cast<size_t>(compute.target.buffer)];
    access(compute.target, "statement on " + buffer.name);
    if (!compute.target.lookups.empty()) wrong("statement on " + buffer.name + ": its place is looked up");
    if (buffer.role == Role::input) wrong("statement on " + buffer.name + ": inputs are not written");
    if (compute.value < 0 || static_cast<size_t>(compute.value) >= program_.values.size()) {
      return wrong("statement on " + buffer.name + ": there is no such value");
    }
    if (type_of(compute.value) != buffer.type)
      wrong("statement on " + buffer.name + ": the value has another type");
    if (compute.combine != Combine::assign && buffer.type == ElementType::boolean) {
      wrong("statement on " + buffer.name + ": booleans are only assigned");
    }
    reads(compute.value, "statement on " + buffer.name);
    mapping(compute.mapping, "statement on " + buffer.name);
  }

  void reads(int id, const std::string& where) {
    const Value& v = program_.values[static_cast<size_t>(id)];
    if (v.op == ScalarOp::load) {
      access(v.access, where);
      const Buffer& read = program_.buffers[static_cast<size_t>(v.access.buffer)];
      const bool plain = v.args[0] == none && read.role != Role::output && read.level == Level::memory;
      if (!v.access.lookups.empty() && !plain)
        wrong(where + ": indices are looked up for what is no input and not in memory, or under a guard");
    }
    if (v.op == ScalarOp::extent) symbols(v.index, where);
    for (const int argument : v.args) {
      if (argument != none) reads(argument, where);
    }
  }

  void mapping(const Mapping& mapping, const std::string& where) {
    if (mapping.stage.empty()) return;
    for (const Dim& coordinate : mapping.point) symbols(coordinate, where);
    if (mapping.inverse.size() != loops_.size()) {
      return wrong(where + ": its inverse does not give the variables of the loops around it");
    }
    for (const Dim& variable : mapping.inverse) {
      std::vector<std::string> used;
      variable.collect_symbols(used);
      for (const std::string& name : used) {
        if (!is_size(name) && !is_coordinate(name, mapping.point.size())) {
          wrong(where + ": " + name + " in its inverse is neither a size nor a coordinate");
        }
      }
    }
  }

  /// x0, x1, ... below the number of coordinates.
  static bool is_coordinate(const std::string& name, size_t count) {
    for (size_t k = 0; k < count; ++k) {
      if (name == "x" + std::to_string(k)) return true;
    }
    return false;
  }

  const LoopProgram& program_;
  std::vector<std::string> found_;
  std::set<std::string> names_;      // of sizes and buffers
  std::set<std::string> variables_;  // of the loops around
  std::vector<std::string> loops_;   // the same, outermost first
  std::vector<bool> alive_;          // per buffer
  std::set<int> allocated_;
  bool in_vector_ = false;
};

}  // namespace

std::vector<std::string> violations(const LoopProgram& program) { return Checker(program).run(); }

void require_valid(const LoopProgram& program) {
  const std::vector<std::string> found = violations(program);
  if (!found.empty()) throw Error(Fault::internal, "loop program " + program.name + ": " + found.front());
}

}  // namespace axrun::ir::loop
