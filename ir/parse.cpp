// Reading tensor expressions. The grammar, with `?` for optional parts and `,*` for lists with commas:
//
//   program := 'program' name '(' (declaration | 'none'),* ')' '->' '(' name,* ')' '{' stage* '}'
//   declaration := name ':' type '[' dim,* ']'
//   stage := declaration,* '=' kind
//   kind := 'map' named? space block
//         | 'reduce' named? ('sum' | 'product' | 'min' | 'max' | 'tuple') space block
//         | 'scatter' named? ('assign' | 'add' | 'mul' | 'min' | 'max') 'into' name space block
//         | 'scan' named? '(' 'length' ':' dim ';' 'captures' ':' name,* ';' 'states' ':' name,* ')' program
//         | 'opaque' named? name '(' (name | 'none'),* ')' ('payload' number)?
//   named := 'named' name
//   space := '(' (axis | '(' axis,* ')'),* (';' axis,*)? ')'          axis := name ':' dim
//   block := '{' ('$' number '=' expression ';')* values '}'
//   values := expression,* ('identity' expression,* 'combine' expression,*)?                map, reduce
//           | '[' expression,* ']' '=' expression ('where' expression)?                     scatter
//   expression := infix operations, tightest first: * /   + -   == != < <= > >=   and   or
//   operand := '(' expression ')' | literal | '$' number | '@' number ':' type | 'time' | name
//            | name '[' expression,* (';' expression ';' expression)? ']' | 'dim' '(' dim ')'
//            | ('cast' | 'cast_saturate') '(' type ',' expression ')' | operation '(' expression,* ')'
//   literal := '-'? number (':' type)? | '-'? 'inf' ':' type | 'nan' ('(' hex ')')? ':' type | 'true' |
//   'false'
#include "ir/error.h"
#include "ir/expression_parser.h"
#include "ir/grammar.h"
#include "ir/scanner.h"
#include "ir/text.h"
#include "ir/text_names.h"

namespace axrun::ir {
namespace {

using namespace text;

class Parser {
 public:
  Parser(Scanner& scanner, const std::vector<OpaquePayload>& payloads, int depth)
      : s_(scanner), payloads_(payloads), depth_(depth), e_(scanner, program_) {}

  Program run() {
    s_.expect_word("program");
    program_.name = s_.name().text;
    s_.expect("(");
    list(")", [&] { program_.operands.push_back(s_.accept_word("none") ? none : declaration()); });
    s_.expect("->");
    s_.expect("(");
    std::vector<std::pair<size_t, std::string>> outputs;
    list(")", [&] {
      const size_t at = s_.position();
      outputs.emplace_back(at, s_.name().text);
    });
    s_.expect("{");
    while (!s_.accept("}")) program_.stages.push_back(stage());
    for (const auto& [at, name] : outputs) program_.outputs.push_back(e_.tensor_named(name, at));
    return std::move(program_);
  }

 private:
  /// Items with commas up to a closing symbol, which is taken.
  template <typename Item>
  void list(std::string_view end, Item item) {
    if (s_.accept(end)) return;
    do item();
    while (s_.accept(","));
    s_.expect(end);
  }

  template <size_t count>
  size_t choice(const std::array<std::string_view, count>& words, const std::string& what) {
    for (size_t k = 0; k < count; ++k) {
      if (s_.accept_word(words[k])) return k;
    }
    s_.fail(what + " is expected");
  }

  TensorId declaration() {
    const size_t at = s_.position();
    TensorDecl made;
    made.name = s_.name().text;
    s_.expect(":");
    made.type = parse_type(s_);
    s_.expect("[");
    list("]", [&] { made.dims.push_back(s_.dim(",]")); });
    const auto id = static_cast<TensorId>(program_.tensors.size());
    if (!e_.declare_tensor(made.name, id)) s_.fail_at(at, "'" + made.name + "' is declared twice");
    program_.tensors.push_back(std::move(made));
    return id;
  }

  TensorId tensor() {
    const size_t at = s_.position();
    return e_.tensor_named(s_.name().text, at);
  }

  Stage stage() {
    Stage made;
    do made.results.push_back(declaration());
    while (s_.accept(","));
    s_.expect("=");
    made.kind = static_cast<StageKind>(choice(stage_words, "map, reduce, scan, scatter or opaque"));
    made.name = program_.tensors[static_cast<size_t>(made.results[0])].name;
    if (s_.accept_word("named")) made.name = s_.name().text;
    e_.start_stage();
    switch (made.kind) {
      case StageKind::map:
        break;
      case StageKind::reduce:
        made.monoid.kind = static_cast<Monoid::Kind>(choice(monoid_words, "a monoid"));
        break;
      case StageKind::scatter:
        made.combine = static_cast<ScatterCombine>(choice(scatter_words, "assign, add, mul, min or max"));
        s_.expect_word("into");
        made.base = tensor();
        break;
      case StageKind::scan:
        scan(made);
        return made;
      case StageKind::opaque:
        opaque(made);
        return made;
    }
    space(made);
    s_.expect("{");
    e_.bindings();
    if (made.kind == StageKind::scatter) {
      update(made);
    } else {
      values(made);
    }
    s_.expect("}");
    return made;
  }

  void scan(Stage& made) {
    s_.expect("(");
    s_.expect_word("length");
    s_.expect(":");
    made.length = s_.dim(";");
    s_.expect(";");
    s_.expect_word("captures");
    s_.expect(":");
    list(";", [&] { made.captures.push_back(tensor()); });
    s_.expect_word("states");
    s_.expect(":");
    list(")", [&] { made.initial.push_back(tensor()); });
    if (depth_ == deepest_scan) s_.fail("scans are nested too deeply");
    made.step = std::make_shared<const Program>(Parser(s_, payloads_, depth_ + 1).run());
  }

  void opaque(Stage& made) {
    made.function = s_.name().text;
    s_.expect("(");
    list(")", [&] { made.arguments.push_back(s_.accept_word("none") ? none : tensor()); });
    if (!s_.accept_word("payload")) return;
    const size_t at = s_.position();
    const uint64_t number = s_.natural();
    if (number >= payloads_.size() || payloads_[number].function != made.function) {
      s_.fail_at(at, "no payload " + std::to_string(number) + " of '" + made.function + "' is given");
    }
    made.payload = payloads_[number].value;
  }

  void axis(std::vector<Axis>& axes) {
    const size_t at = s_.position();
    Axis made;
    made.name = s_.name().text;
    s_.expect(":");
    made.extent = s_.dim(",;)");
    if (!e_.declare_axis(made.name)) s_.fail_at(at, "the stage has two axes '" + made.name + "'");
    axes.push_back(std::move(made));
  }

  void space(Stage& made) {
    s_.expect("(");
    while (s_.peek() != ')' && s_.peek() != ';') {
      const int first = static_cast<int>(made.axes.size());
      const size_t at = s_.position();
      if (s_.accept("(")) {
        if (made.kind == StageKind::scatter) s_.fail_at(at, "a scatter has no groups");
        list(")", [&] { axis(made.axes); });
      } else {
        axis(made.axes);
      }
      if (made.kind != StageKind::scatter) {
        made.groups.emplace_back();
        for (int k = first; k < static_cast<int>(made.axes.size()); ++k) made.groups.back().push_back(k);
      }
      if (!s_.accept(",")) break;
    }
    const size_t at = s_.position();
    if (!s_.accept(";")) return s_.expect(")");
    if (made.kind != StageKind::reduce) s_.fail_at(at, "only a reduce has reduce axes");
    list(")", [&] { axis(made.reduce_axes); });
  }

  void values(Stage& made) {
    made.body = e_.expressions();
    if (made.kind != StageKind::reduce || made.monoid.kind != Monoid::Kind::tuple) return;
    s_.expect_word("identity");
    made.monoid.identity = e_.expressions();
    s_.expect_word("combine");
    made.monoid.combine = e_.expressions();
  }

  void update(Stage& made) {
    s_.expect("[");
    list("]", [&] { made.target.push_back(e_.expression()); });
    s_.expect("=");
    made.body = {e_.expression()};
    if (s_.accept_word("where")) made.guard = e_.expression();
  }

  Scanner& s_;
  const std::vector<OpaquePayload>& payloads_;
  const int depth_;
  Program program_;
  ExpressionParser e_;
};

}  // namespace

Program parse(std::string_view source, const std::vector<OpaquePayload>& payloads) {
  Scanner scanner(source);
  Program program = Parser(scanner, payloads, 0).run();
  if (!scanner.at_end()) scanner.fail("the text goes on after the program");
  const std::vector<Violation> found = violations(program);
  if (!found.empty()) throw Error(Fault::user, "program '" + program.name + "': " + to_string(found[0]));
  return program;
}

}  // namespace axrun::ir
