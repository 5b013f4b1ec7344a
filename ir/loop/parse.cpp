// Parsing loop programs:
//
//   program    "loops" name "(" size, ... ")" "{" (role declaration)* block "}"
//   size       name ":" low ".." high ["by" divisor]
//   block      (allocate | loop | compute)*
//   allocate   "allocate" declaration "in" level
//   loop       kind variable ["step" natural] "<" dim "{" block "}"
//   compute    access combine value ["computes" stage "(" dims ")" "inverse" "(" dims ")"]
//   access     buffer "[" (dim | "lookup(" buffer "[" dims "]" ")"), ... "]"
//   value      number ":" type | "index(" dim ")" | access | "guarded(" access, value, value ")"
//              | operation [":" type] "(" value, ... ")"
#include <charconv>
#include <limits>
#include <map>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/expression_parser.h"
#include "ir/loop/loop_program.h"
#include "ir/loop/words.h"
#include "ir/scanner.h"

namespace axrun::ir::loop {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view source) : s_(source) {}

  LoopProgram run() {
    s_.expect_word("loops");
    program_.name = s_.name().text;
    s_.expect("(");
    while (!s_.accept(")")) {
      if (!program_.sizes.empty()) s_.expect(",");
      program_.sizes.push_back(size());
    }
    s_.expect("{");
    for (bool more = true; more;) {
      more = false;
      for (size_t role = 0; role < role_words.size(); ++role) {
        if (!s_.accept_word(role_words[role])) continue;
        declare(static_cast<Role>(role));
        more = true;
      }
    }
    program_.body = block(0);
    s_.expect("}");
    if (!s_.at_end()) s_.fail("nothing may follow the program");
    const std::vector<std::string> wrong = violations(program_);
    if (!wrong.empty()) throw Error(Fault::user, wrong.front());
    return std::move(program_);
  }

 private:
  int64_t natural() {
    const size_t at = s_.position();
    const uint64_t value = s_.natural();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      s_.fail_at(at, "the number is too large");
    return static_cast<int64_t>(value);
  }

  Size size() {
    Size size;
    size.name = s_.name().text;
    s_.expect(":");
    size.low = natural();
    s_.expect("..");
    size.high = natural();
    if (s_.accept_word("by")) size.divisor = natural();
    return size;
  }

  int declare(Role role) {
    const size_t at = s_.position();
    Buffer buffer;
    buffer.role = role;
    buffer.name = s_.name().text;
    s_.expect(":");
    buffer.type = text::parse_type(s_);
    s_.expect("[");
    buffer.dims = dims("]");
    const auto id = static_cast<int>(program_.buffers.size());
    if (!buffers_.emplace(buffer.name, id).second)
      s_.fail_at(at, "the buffer '" + buffer.name + "' exists already");
    program_.buffers.push_back(std::move(buffer));
    return id;
  }

  /// Up to the closing bracket, which is taken.
  Dims dims(std::string_view close) {
    Dims dims;
    while (!s_.accept(close)) {
      if (!dims.empty()) s_.expect(",");
      dims.push_back(s_.dim(close == "]" ? ",]" : ",)"));
    }
    return dims;
  }

  Block block(int depth) {
    if (depth > deepest_nesting) s_.fail("loops are nested too deeply");
    Block body;
    while (s_.peek() != '}' && !s_.at_end()) body.push_back(statement(depth));
    return body;
  }

  Statement statement(int depth) {
    if (s_.accept_word("allocate")) {
      const int id = declare(Role::scratch);
      s_.expect_word("in");
      program_.buffers[static_cast<size_t>(id)].level = static_cast<Level>(one_of(level_words));
      return Allocate{id};
    }
    for (size_t kind = 0; kind < loop_words.size(); ++kind) {
      if (!s_.accept_word(loop_words[kind])) continue;
      Loop loop;
      loop.kind = static_cast<LoopKind>(kind);
      loop.variable = s_.name().text;
      if (s_.accept_word("step")) loop.step = natural();
      s_.expect("<");
      loop.extent = s_.dim("{");
      s_.expect("{");
      loop.body = block(depth + 1);
      s_.expect("}");
      return loop;
    }
    return compute();
  }

  template <size_t count>
  size_t one_of(const std::array<std::string_view, count>& words) {
    std::string list;
    for (size_t k = 0; k < count; ++k) {
      if (s_.accept_word(words[k])) return k;
      list += (k == 0 ? "" : ", ") + std::string(words[k]);
    }
    s_.fail("one of " + list + " is expected");
  }

  Compute compute() {
    Compute compute;
    compute.target = access();
    bool found = false;
    for (size_t k = combine_words.size(); k-- > 0 && !found;) {
      if (!s_.accept(combine_words[k])) continue;
      compute.combine = static_cast<Combine>(k);
      found = true;
    }
    if (!found) s_.fail("=, +=, *=, min= or max= is expected");
    compute.value = value(0);
    if (s_.accept_word("computes")) {
      compute.mapping.stage = s_.name().text;
      s_.expect("(");
      compute.mapping.point = dims(")");
      s_.expect_word("inverse");
      s_.expect("(");
      compute.mapping.inverse = dims(")");
    }
    return compute;
  }

  Access access() {
    const size_t at = s_.position();
    const std::string name = s_.name().text;
    const auto found = buffers_.find(name);
    if (found == buffers_.end()) s_.fail_at(at, "there is no buffer '" + name + "'");
    s_.expect("[");
    Access access{found->second, {}};
    while (!s_.accept("]")) {
      if (!access.indices.empty()) s_.expect(",");
      if (s_.accept_word("lookup")) {
        s_.expect("(");
        Access from = this->access();
        if (!from.lookups.empty()) s_.fail_at(at, "what is looked up is not looked up itself");
        s_.expect(")");
        access.lookups.push_back(
            {static_cast<int>(access.indices.size()), from.buffer, std::move(from.indices)});
        access.indices.emplace_back(0);
      } else {
        access.indices.push_back(s_.dim(",]"));
      }
    }
    return access;
  }

  int add(Value value) {
    program_.values.push_back(std::move(value));
    return static_cast<int>(program_.values.size()) - 1;
  }

  int value(int depth) {
    if (depth > deepest_nesting) s_.fail("the value is nested too deeply");
    const size_t at = s_.position();
    const char next = s_.peek();
    if (next == '-' || (next >= '0' && next <= '9') || s_.peek_word() == "inf" || s_.peek_word() == "nan") {
      return literal();
    }
    if (s_.accept_word("index")) {
      s_.expect("(");
      Value v;
      v.op = ScalarOp::extent;
      v.index = s_.dim(")");
      s_.expect(")");
      return add(std::move(v));
    }
    if (s_.accept_word("guarded")) return guarded(depth);
    const std::string word(s_.peek_word());
    const auto op = buffers_.count(word) != 0 ? std::nullopt : parse_scalar_op(word);
    if (!op) {
      Value v;
      v.op = ScalarOp::load;
      v.access = access();
      v.type = program_.buffers[static_cast<size_t>(v.access.buffer)].type;
      return add(std::move(v));
    }
    s_.expect_word(word);
    return operation(*op, at, depth);
  }

  int guarded(int depth) {
    Value v;
    v.op = ScalarOp::load;
    s_.expect("(");
    v.access = access();
    v.type = program_.buffers[static_cast<size_t>(v.access.buffer)].type;
    s_.expect(",");
    v.args[0] = value(depth + 1);
    s_.expect(",");
    v.args[1] = value(depth + 1);
    s_.expect(")");
    return add(std::move(v));
  }

  int operation(ScalarOp op, size_t at, int depth) {
    Value v;
    v.op = op;
    const bool casts = op == ScalarOp::cast || op == ScalarOp::cast_saturate;
    if (casts) {
      s_.expect(":");
      v.type = text::parse_type(s_);
    }
    const int count = argument_count(op);
    if (count == 0 || op == ScalarOp::load) s_.fail_at(at, "this operation cannot be called");
    s_.expect("(");
    for (int k = 0; k < count; ++k) {
      if (k > 0) s_.expect(",");
      v.args[static_cast<size_t>(k)] = value(depth + 1);
    }
    s_.expect(")");
    const int decides = op == ScalarOp::select ? v.args[1] : v.args[0];
    if (!casts) {
      v.type = gives_boolean(op) ? ElementType::boolean : program_.values[static_cast<size_t>(decides)].type;
    }
    return add(std::move(v));
  }

  int literal() {
    const size_t at = s_.position();
    const bool negative = s_.accept("-");
    Value v;
    double real = std::numeric_limits<double>::quiet_NaN();
    std::string_view digits;
    if (s_.accept_word("inf")) {
      real = std::numeric_limits<double>::infinity();
    } else if (!s_.accept_word("nan")) {
      digits = s_.number();
      std::from_chars(digits.data(), digits.data() + digits.size(), real);
    }
    s_.expect(":");
    v.type = text::parse_type(s_);
    if (is_float(v.type)) {
      v.op = ScalarOp::real;
      v.real = negative ? -real : real;
      return add(std::move(v));
    }
    uint64_t natural = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), natural);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
      s_.fail_at(at, "an integer is expected");
    }
    v.op = ScalarOp::integer;
    v.integer = static_cast<int64_t>(negative ? 0 - natural : natural);
    if (v.integer != wrap_to(v.type, v.integer)) s_.fail_at(at, "the integer does not fit its type");
    return add(std::move(v));
  }

  text::Scanner s_;
  LoopProgram program_;
  std::map<std::string, int> buffers_;
};

}  // namespace

LoopProgram parse(std::string_view text) { return Parser(text).run(); }

}  // namespace axrun::ir::loop
