// Nodes drawn as recipes say (recipes.h), and chains drawn as the kernels' own tests draw them.
#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/error.h"
#include "tests/fuzz/graphs/growing.h"
#include "tests/fuzz/graphs/recipes.h"
#include "tests/operators/generators.h"

namespace axrun::tests {
namespace {

using ir::Attribute;
using ir::ElementType;
using ir::Shape;
using ir::Tensor;
using ir::ValueId;
using runtime::RuntimeValue;

std::vector<std::string_view> words_of(std::string_view text, char separator = ' ') {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool is_number(ElementType type) { return ir::is_float(type) || ir::is_integer(type); }

class DrawnNode {
 public:
  DrawnNode(Scope& scope, const Recipe& recipe)
      : scope_(scope), recipe_(recipe), node_(scope.new_node(recipe.op, recipe.domain)) {}

  bool keep() {
    for (const std::string_view word : words_of(recipe_.inputs)) add_inputs(word);
    while (!node_.inputs.empty() && node_.inputs.back() == ir::absent) node_.inputs.pop_back();
    for (const std::string_view word : words_of(recipe_.attributes)) add_attribute(word);
    const int outputs = recipe_.outputs == 1 ? 1 : static_cast<int>(random().integer(1, recipe_.outputs));
    return scope_.try_node(std::move(node_), outputs);
  }

 private:
  runtime::Random& random() { return scope_.random(); }
  Growth& growth() { return scope_.growth(); }
  bool has_first() const { return !node_.inputs.empty() && node_.inputs[0] != ir::absent; }
  const Tensor& first() const {
    static const Tensor none = Tensor::allocate(ElementType::f32, {2, 2});
    return has_first() && scope_.known(node_.inputs[0]).tensor.defined()
               ? scope_.known(node_.inputs[0]).tensor
               : none;
  }

  // Inputs

  void add_inputs(std::string_view word) {
    const char kind = word[0], suffix = word.size() > 1 ? word[1] : ' ';
    if (suffix == '?' && random().chance(50)) {
      node_.inputs.push_back(ir::absent);
      return;
    }
    const int64_t count = suffix == '*' ? random().integer(1, 3) : 1;
    for (int64_t k = 0; k < count; ++k) node_.inputs.push_back(draw_input(kind));
  }

  ValueId existing_or(int percent, const Scope::Wanted& wanted, const std::function<Tensor()>& made) {
    if (random().chance(percent)) {
      if (const auto found = scope_.find(wanted)) return *found;
    }
    return scope_.leaf(made());
  }

  ValueId typed(const std::function<bool(ElementType)>& fits, const std::function<ElementType()>& draw) {
    return existing_or(
        85, [&](const RuntimeValue& value) { return value.tensor.defined() && fits(value.tensor.type()); },
        [&] { return draw_tensor(growth(), draw(), draw_shape(growth())); });
  }

  ValueId integers(int64_t low, int64_t high, bool scalar) {
    const auto fits = [&](const RuntimeValue& value) {
      const Tensor& tensor = value.tensor;
      return tensor.defined() && tensor.type() == ElementType::i64 && tensor.rank() <= 1 &&
             tensor.size() <= 4 && (!scalar || tensor.size() == 1);
    };
    return existing_or(65, fits, [&] {
      const Shape shape = scalar ? (random().chance(50) ? Shape{} : Shape{1}) : Shape{random().integer(0, 4)};
      Tensor tensor = Tensor::allocate(ElementType::i64, shape);
      for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_int(i, random().integer(low, high));
      // What often fits: the sizes that the first input has.
      const Tensor& x = first();
      if (!scalar && random().chance(40) && x.rank() > 0 && x.rank() <= 4) {
        tensor = Tensor::from_i64(x.shape());
        if (random().chance(50)) std::reverse(tensor.as<int64_t>(), tensor.as<int64_t>() + tensor.size());
      }
      return tensor;
    });
  }

  /// A shape that mostly broadcasts with the first input's.
  Shape partner_shape() {
    Shape shape = first().shape();
    if (random().chance(10)) return draw_shape(growth());
    for (int64_t& extent : shape) {
      if (random().chance(20)) extent = 1;
    }
    if (random().chance(25)) shape.erase(shape.begin(), shape.begin() + random().integer(0, first().rank()));
    return shape;
  }

  ValueId same_type() {
    const ElementType type = first().type();
    const auto fits = [&](const RuntimeValue& value) {
      return value.tensor.defined() && value.tensor.type() == type;
    };
    const auto same_shape = [&](const RuntimeValue& value) {
      return fits(value) && value.tensor.shape() == first().shape();
    };
    if (random().chance(10) && has_first()) return node_.inputs[0];
    if (random().chance(30)) {
      if (const auto found = scope_.find(same_shape)) return *found;
    }
    return existing_or(35, fits, [&] { return draw_tensor(growth(), type, partner_shape()); });
  }

  ValueId floats(const Shape& shape, int percent) {
    const auto fits = [&](const RuntimeValue& value) {
      return value.tensor.defined() && value.tensor.type() == first().type() && value.tensor.shape() == shape;
    };
    return existing_or(percent, fits, [&] { return draw_tensor(growth(), first().type(), shape); });
  }

  int64_t extent(int axis, int64_t otherwise) const {
    return axis >= 0 && axis < first().rank() ? first().shape()[static_cast<size_t>(axis)] : otherwise;
  }

  ValueId draw_input(char kind) {
    const auto is_any = [](ElementType type) { return type != ElementType::undefined; };
    switch (kind) {
      case 'f':
        return typed(ir::is_float, [&] { return draw_float(growth()); });
      case 'g':
        return typed([](ElementType type) { return type == ElementType::f32; },
                     [] { return ElementType::f32; });
      case 'i':
        return typed(ir::is_integer, [&] { return draw_integer(growth()); });
      case 'n':
        return typed(is_number,
                     [&] { return random().chance(50) ? draw_float(growth()) : draw_integer(growth()); });
      case 'b':
        return typed([](ElementType type) { return type == ElementType::boolean; },
                     [] { return ElementType::boolean; });
      case 's':
        return typed([](ElementType type) { return type == ElementType::string; },
                     [] { return ElementType::string; });
      case 't':
        return typed(is_any, [&] { return draw_type(growth()); });
      case 'I':
        return integers(-1, 4, false);
      case 'S':
        return integers(-2, 3, true);
      case 'C':
        return integers(0, 3, true);
      case 'A':
        return integers(-first().rank(), std::max(0, first().rank() - 1), true);
      case 'B':
        return existing_or(
            70,
            [](const RuntimeValue& value) {
              return value.tensor.defined() && value.tensor.type() == ElementType::boolean &&
                     value.tensor.size() == 1;
            },
            [&] { return draw_tensor(growth(), ElementType::boolean, {}); });
      case '=':
        return same_type();
      case 'm': {
        const int64_t inner = extent(first().rank() - 1, 2);
        return floats(random().chance(20) ? Shape{inner} : Shape{inner, random().integer(1, 4)}, 40);
      }
      case 'c':
        return floats({random().integer(1, 3), extent(1, 2), random().integer(1, 2), random().integer(1, 2)},
                      0);
      case 'd':
        return floats({extent(1, 2), random().integer(1, 3), random().integer(1, 2), random().integer(1, 2)},
                      0);
      case 'h':
        return floats({extent(1, 2)}, 40);
      case 'l':
        return floats({extent(first().rank() - 1, 2)}, 40);
      case 'x':
      case 'X':
        return existing_or(
            40,
            [](const RuntimeValue& value) {
              return value.tensor.defined() &&
                     (value.tensor.type() == ElementType::i64 || value.tensor.type() == ElementType::i32);
            },
            [&] {
              const ElementType type = random().chance(80) ? ElementType::i64 : ElementType::i32;
              return random().tensor(type, kind == 'X' ? first().shape() : draw_shape(growth()), -1, 1);
            });
      case 'q':
      case 'o': {
        const ir::ValueKind wanted = kind == 'q' ? ir::ValueKind::sequence : ir::ValueKind::optional;
        if (const auto found = scope_.find([&](const RuntimeValue& value) { return value.kind == wanted; }))
          return *found;
        // Whoever reads a container first makes one; what has none to read is refused.
        ir::Node made = scope_.new_node(kind == 'q' ? "SequenceConstruct" : "Optional");
        made.inputs = {typed(is_any, [&] { return draw_type(growth()); })};
        if (scope_.try_node(std::move(made), 1)) return scope_.graph().nodes.back().outputs[0];
        return ir::absent;
      }
      default:
        return ir::absent;
    }
  }

  // Attributes

  Attribute& attribute(std::string_view name, Attribute::Kind kind) {
    Attribute& made = node_.attributes[std::string(name)];
    made.kind = kind;
    return made;
  }

  double real() { return random().pick({-1.0, -0.5, 0.5, 1.0, 2.0, growth().strict ? 1.5 : 0.0}); }

  /// Keys may be the same. Where ONNX Runtime answers, too, they differ: of equal ones the last counts in
  /// ONNX, the first there. Nor is alpha 0 there: Celu divides by it.
  int64_t shift() { return growth().strict ? 0 : random().integer(-1, 1); }

  void add_attribute(std::string_view word) {
    using Kind = Attribute::Kind;
    const bool always = word[0] == '!';
    if (always) word.remove_prefix(1);
    if (!always && random().chance(40)) return;
    const size_t colon = word.find(':');
    const std::string_view name = word.substr(0, colon), value = word.substr(colon + 1);
    const auto number = [&](int64_t integer) { attribute(name, Kind::integer).integer = integer; };
    const auto list = [&](int64_t count, int64_t low, int64_t high) {
      std::vector<int64_t>& integers = attribute(name, Kind::integers).integers;
      for (int64_t k = 0; k < count; ++k) integers.push_back(random().integer(low, high));
    };
    const auto distinct = [&](int64_t count) {
      std::vector<int64_t>& integers = attribute(name, Kind::integers).integers;
      for (int64_t k = 0; k < count; ++k) integers.push_back(2 * k + random().integer(0, 1));
    };
    const int64_t rank = first().rank();
    switch (value[0]) {
      case 'a':
        return number(random().chance(3) ? rank : rank == 0 ? 0 : random().integer(-rank, rank - 1));
      case 'k':
        return number(random().integer(0, 1));
      case 'i':
        return number(random().integer(1, 4));
      case 'z':
        return number(random().integer(-1, 2));
      case '#':
        return number(value[1] - '0');
      case '@':
        return list(1, value[1] - '0', value[1] - '0');
      case 'T': {
        // ONNX's numbers of element types.
        const std::initializer_list<int64_t> common = {1, 6, 7, 9, 11},
                                             all = {1, 6, 7, 9, 8, 11, 2, 3, 10, 16};
        return number(growth().strict ? random().pick(common) : random().pick(all));
      }
      case 'L': {
        std::vector<int64_t> axes = random().permutation(rank);
        axes.resize(static_cast<size_t>(random().integer(std::min<int64_t>(rank, 1), rank)));
        attribute(name, Kind::integers).integers = std::move(axes);
        return;
      }
      case 'P':
        attribute(name, Kind::integers).integers = random().permutation(rank);
        return;
      case 'I':
        return growth().strict ? distinct(random().integer(1, 4)) : list(random().integer(1, 4), 0, 2);
      case 'O':
        return list(2, 1, 2);
      case 'D':
        return list(4, 0, 1);
      case 'V':
        return growth().strict ? distinct(length_) : list(length_, 0, 9);
      case 'r':
        attribute(name, Kind::real).real = real();
        return;
      case 'R':
      case 'F': {
        const int64_t count = value[0] == 'R' ? length_ : extent(first().rank() - 1, 1);
        std::vector<double>& reals = attribute(name, Kind::reals).reals;
        for (int64_t k = 0; k < count; ++k) reals.push_back(0.5 * static_cast<double>(k + shift()));
        return;
      }
      case 'w':
        attribute(name, Kind::string).string = random().pick<const char*>({"a", "b", " ", ""});
        return;
      case 'W': {
        std::vector<std::string>& texts = attribute(name, Kind::strings).strings;
        texts = {"a", "b", "c", "ab"};
        texts.resize(static_cast<size_t>(random().integer(3, 4)));
        length_ = static_cast<int64_t>(texts.size());
        return;
      }
      case 'v': {
        Attribute& made = attribute(name, Kind::tensor);
        made.tensor = draw_tensor(growth(), draw_integer(growth()), {1});
        return;
      }
      case '{': {
        const auto choices = words_of(value.substr(1, value.size() - 2), '|');
        attribute(name, Kind::string).string =
            choices[static_cast<size_t>(random().integer(0, static_cast<int64_t>(choices.size()) - 1))];
        return;
      }
      default:
        return;
    }
  }

  Scope& scope_;
  const Recipe& recipe_;
  ir::Node node_;
  int64_t length_ = 3;  ///< of the texts drawn last
};

}  // namespace

bool grow_by_recipe(Scope& scope) {
  const auto all = recipes();
  const Recipe& recipe =
      all[static_cast<size_t>(scope.random().integer(0, static_cast<int64_t>(all.size()) - 1))];
  const int version = scope.growth().opsets.at(std::string(recipe.domain));
  if (version < recipe.since || version >= recipe.before) return false;
  return DrawnNode(scope, recipe).keep();
}

bool grow_by_case(Scope& scope) {
  constexpr int64_t most_elements = 2048;
  const auto& all = runtime::all_generators();
  const auto& generator =
      all[static_cast<size_t>(scope.random().integer(0, static_cast<int64_t>(all.size()) - 1))];
  const runtime::Case drawn = generator.draw(scope.random());
  int64_t elements = 0;
  for (const Tensor& tensor : drawn.values) elements += tensor.defined() ? tensor.size() : 0;
  if (elements > most_elements) return false;
  std::vector<ValueId> ids(drawn.values.size(), ir::absent);
  for (size_t id = 0; id < ids.size(); ++id) {
    const Tensor& tensor = drawn.values[id];
    if (!tensor.defined()) continue;
    const auto same = [&](const RuntimeValue& value) {
      return value.tensor.defined() && value.tensor.type() == tensor.type() &&
             value.tensor.shape() == tensor.shape();
    };
    const auto found = drawn.constant[id] ? std::nullopt : scope.find(same);
    ids[id] = found ? *found : drawn.constant[id] ? scope.constant(tensor) : scope.leaf(tensor);
  }
  for (const ir::Node& original : drawn.nodes) {
    const auto version = scope.growth().opsets.find(original.domain);
    if (version == scope.growth().opsets.end()) return false;
    ir::Node node = original;
    node.version = version->second;
    for (ValueId& id : node.inputs) {
      if (id != ir::absent && ids[static_cast<size_t>(id)] == ir::absent) return false;  // was refused
      if (id != ir::absent) id = ids[static_cast<size_t>(id)];
    }
    if (!scope.try_node(std::move(node), static_cast<int>(original.outputs.size()))) return false;
    const std::vector<ValueId>& made = scope.graph().nodes.back().outputs;
    for (size_t k = 0; k < made.size(); ++k) {
      if (original.outputs[k] != ir::absent) ids[static_cast<size_t>(original.outputs[k])] = made[k];
    }
  }
  return true;
}

}  // namespace axrun::tests
