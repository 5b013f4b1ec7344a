#include "ir/loop/interpreter.h"

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/loop/index.h"
#include "ir/loop/races.h"

namespace axrun::ir::loop {
namespace {

/// One value: `real` for float types, `integer` for the others.
struct Scalar {
  double real = 0;
  int64_t integer = 0;
};

/// Ends the interpretation.
struct Stop {
  Mistake mistake;
  std::string text;
};

struct Storage {
  Tensor tensor;
  Shape strides;
  std::vector<Touched> touched;
};

class Interpreter {
 public:
  Interpreter(const LoopProgram& program, const std::map<std::string, int64_t>& sizes) : program_(program) {
    for (const Size& size : program.sizes) {
      const auto found = sizes.find(size.name);
      if (found == sizes.end())
        throw Error(Fault::user, program.name + ": the size " + size.name + " is not given");
      sizes_[size.name] = found->second;
      const int64_t n = found->second;
      if (n < size.low || n > size.high || n % size.divisor != 0) {
        throw Stop{Mistake::size_not_claimed, size.name + " = " + std::to_string(n)};
      }
    }
    storage_.resize(program.buffers.size());
  }

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) {
    size_t next = 0;
    for (size_t id = 0; id < program_.buffers.size(); ++id) {
      const Buffer& buffer = program_.buffers[id];
      if (buffer.role == Role::scratch) continue;
      make(static_cast<int>(id));
      if (buffer.role == Role::output) continue;
      Storage& storage = storage_[id];
      const bool fits = next < inputs.size() && inputs[next].type() == buffer.type &&
                        inputs[next].shape() == storage.tensor.shape();
      if (!fits) throw Error(Fault::user, program_.name + ": the input " + buffer.name + " does not fit");
      storage.tensor = inputs[next++];
      for (Touched& element : storage.touched) element.writer = Contexts::outside;
    }
    block(program_.body);
    std::vector<Tensor> outputs;
    for (size_t id = 0; id < program_.buffers.size(); ++id) {
      if (program_.buffers[id].role != Role::output) continue;
      for (const Touched& element : storage_[id].touched) {
        if (element.writer == Touched::none_yet)
          throw Stop{Mistake::unwritten_output, program_.buffers[id].name};
      }
      outputs.push_back(storage_[id].tensor);
    }
    return outputs;
  }

 private:
  const Buffer& buffer(int id) const { return program_.buffers[static_cast<size_t>(id)]; }

  void make(int id) {
    Shape shape;
    for (const Dim& dim : buffer(id).dims) shape.push_back(evaluate(dim));
    Storage& storage = storage_[static_cast<size_t>(id)];
    storage.tensor = Tensor::allocate(buffer(id).type, shape);
    storage.strides = row_major_strides(shape);
    storage.touched.assign(static_cast<size_t>(storage.tensor.size()), {});
  }

  int64_t evaluate(const Dim& dim) {
    return prepared(dim, [this]() -> const std::vector<std::string>& { return variables_; }).at(values_);
  }

  /// Of a Dim that is part of the program: prepared the first time, over the variables that `names()` gives.
  /// Its address is the key, and the loops around it: statements in different loops may share a value.
  template <class Names>
  const Index& prepared(const Dim& dim, const Names& names) {
    auto& index = prepared_[{&dim, nest_}];
    if (!index) index = std::make_unique<Index>(dim, sizes_, names());
    return *index;
  }

  void block(const Block& body) {
    for (const Statement& statement : body) {
      if (const auto* allocation = std::get_if<Allocate>(&statement)) {
        make(allocation->buffer);
      } else if (const auto* statement_here = std::get_if<Compute>(&statement)) {
        compute(*statement_here);
      } else {
        loop(std::get<Loop>(statement));
      }
    }
  }

  void loop(const Loop& loop) {
    const int64_t extent = evaluate(loop.extent);
    const int32_t outside = context_;
    const int32_t run = loop.kind == LoopKind::parallel ? contexts_.new_run() : 0;
    const int nest_outside = nest_;
    variables_.push_back(loop.variable);
    values_.push_back(0);
    nest_ = nests_.emplace(variables_, static_cast<int>(nests_.size()) + 1).first->second;
    for (int64_t v = 0; v < extent; v += loop.step) {
      values_.back() = v;
      if (run != 0) context_ = contexts_.enter(outside, run);
      block(loop.body);
    }
    context_ = outside;
    variables_.pop_back();
    values_.pop_back();
    nest_ = nest_outside;
  }

  std::string here(const std::string& what) const {
    std::string text = what;
    for (size_t k = 0; k < variables_.size(); ++k)
      text += (k == 0 ? " at " : ", ") + variables_[k] + " = " + std::to_string(values_[k]);
    return text;
  }

  /// The index that a lookup gives in a dimension of this size.
  int64_t look_up(const Lookup& lookup, int64_t size) {
    const Tensor& from = storage_[static_cast<size_t>(lookup.buffer)].tensor;
    const int64_t index = from.get_int(position(lookup.buffer, lookup.indices, {}));
    const int64_t inside = index < 0 ? index + size : index;
    if (inside < 0 || inside >= size)
      throw Error(Fault::user,
                  here(buffer(lookup.buffer).name + ": index " + std::to_string(index) + " is out of range"));
    return inside;
  }

  /// Row-major position of an element.
  int64_t position(const Access& access) { return position(access.buffer, access.indices, access.lookups); }
  int64_t position(int id, const Dims& indices, const std::vector<Lookup>& lookups) {
    const Storage& storage = storage_[static_cast<size_t>(id)];
    int64_t position = 0;
    auto lookup = lookups.begin();
    for (size_t d = 0; d < indices.size(); ++d) {
      const bool looks_up = lookup != lookups.end() && static_cast<size_t>(lookup->dimension) == d;
      const int64_t index = looks_up ? look_up(*lookup++, storage.tensor.shape()[d]) : evaluate(indices[d]);
      if (index < 0 || index >= storage.tensor.shape()[d]) {
        throw Stop{Mistake::out_of_bounds, here(buffer(id).name + ": index " + std::to_string(index) +
                                                " of dimension " + std::to_string(d))};
      }
      position += index * storage.strides[d];
    }
    return position;
  }

  Scalar read(const Access& access) {
    const int64_t at = position(access);
    Storage& storage = storage_[static_cast<size_t>(access.buffer)];
    Touched& element = storage.touched[static_cast<size_t>(at)];
    if (element.writer == Touched::none_yet)
      throw Stop{Mistake::unwritten_read, here(buffer(access.buffer).name)};
    if (element.read(contexts_, context_)) throw Stop{Mistake::race, here(buffer(access.buffer).name)};
    if (is_float(storage.tensor.type())) return {storage.tensor.get_real(at), 0};
    return {0, storage.tensor.get_int(at)};
  }

  void compute(const Compute& statement) {
    Scalar value = evaluate(statement.value);
    const ElementType type = buffer(statement.target.buffer).type;
    if (statement.combine != Combine::assign) {
      constexpr ScalarOp operations[] = {ScalarOp::add, ScalarOp::mul, ScalarOp::min, ScalarOp::max};
      const ScalarOp op = operations[static_cast<size_t>(statement.combine) - 1];
      value = binary(op, type, type, read(statement.target), value);
    }
    const int64_t at = position(statement.target);
    Storage& storage = storage_[static_cast<size_t>(statement.target.buffer)];
    if (storage.touched[static_cast<size_t>(at)].write(contexts_, context_)) {
      throw Stop{Mistake::race, here(buffer(statement.target.buffer).name)};
    }
    if (is_float(type)) {
      storage.tensor.set_real(at, value.real);
    } else {
      storage.tensor.set_int(at, value.integer);
    }
    check_inverse(statement.mapping);
  }

  void check_inverse(const Mapping& mapping) {
    if (mapping.stage.empty()) return;
    point_.clear();
    for (const Dim& coordinate : mapping.point) point_.push_back(evaluate(coordinate));
    const auto names = [&] {
      std::vector<std::string> coordinates;
      for (size_t k = 0; k < point_.size(); ++k) coordinates.push_back("x" + std::to_string(k));
      return coordinates;
    };
    for (size_t k = 0; k < mapping.inverse.size(); ++k) {
      if (prepared(mapping.inverse[k], names).at(point_) != values_[k]) {
        throw Stop{Mistake::wrong_inverse, here(mapping.stage + ": " + variables_[k])};
      }
    }
  }

  Scalar evaluate(int id) {
    const Value& v = program_.values[static_cast<size_t>(id)];
    switch (v.op) {
      case ScalarOp::real:
        return {v.real, 0};
      case ScalarOp::integer:
        return {0, v.integer};
      case ScalarOp::extent:
        return {0, evaluate(v.index)};
      case ScalarOp::load:
        if (v.args[0] != none && evaluate(v.args[0]).integer == 0) return evaluate(v.args[1]);
        return read(v.access);
      case ScalarOp::select: {
        const Scalar condition = evaluate(v.args[0]), chosen = evaluate(v.args[1]),
                     other = evaluate(v.args[2]);
        return condition.integer != 0 ? chosen : other;
      }
      default:
        break;
    }
    const ElementType from = program_.values[static_cast<size_t>(v.args[0])].type;
    const Scalar a = evaluate(v.args[0]);
    if (v.op == ScalarOp::cast || v.op == ScalarOp::cast_saturate) return cast(v, from, a);
    if (argument_count(v.op) == 2) return binary(v.op, from, v.type, a, evaluate(v.args[1]));
    if (!is_float(from)) return {0, integer_unary(v.op, from, a.integer)};
    return rounded(v.type, real_unary(v.op, a.real));
  }

  /// Booleans of float operations come as 0.0 or 1.0.
  static Scalar rounded(ElementType type, double value) {
    if (type == ElementType::boolean) return {0, value != 0 ? 1 : 0};
    return {round_to(type, value), 0};
  }

  static Scalar binary(ScalarOp op, ElementType from, ElementType to, const Scalar& a, const Scalar& b) {
    // A double holds the sum, product, quotient of two f32 well enough that rounding it once more is right.
    if (is_float(from)) return rounded(to, real_binary(op, a.real, b.real));
    const auto result = integer_binary(op, from, a.integer, b.integer);
    if (!result) throw Error(Fault::user, "division by zero");
    return {0, *result};
  }

  static Scalar cast(const Value& v, ElementType from, const Scalar& a) {
    const bool saturate = v.op == ScalarOp::cast_saturate;
    if (is_float(v.type)) {
      return {is_float(from) ? real_to_real(v.type, a.real, saturate)
                             : round_to(v.type, integer_to_real(from, a.integer)),
              0};
    }
    return {0, is_float(from) ? integer_from_real(v.type, a.real)
                              : integer_to_integer(from, v.type, a.integer, saturate)};
  }

  /// A Dim of the program, and the number of the loops around it.
  using Place = std::pair<const Dim*, int>;
  struct PlaceHash {
    size_t operator()(const Place& place) const {
      return std::hash<const Dim*>()(place.first) ^ static_cast<size_t>(place.second) << 40;
    }
  };

  const LoopProgram& program_;
  std::map<std::string, Dim> sizes_;
  std::vector<Storage> storage_;  // per buffer
  std::unordered_map<Place, std::unique_ptr<Index>, PlaceHash> prepared_;
  std::vector<int64_t> point_;          // that check_inverse asks about
  std::vector<std::string> variables_;  // of the loops around, outermost first
  std::vector<int64_t> values_;
  std::map<std::vector<std::string>, int> nests_;  // numbers of the lists of variables met so far
  int nest_ = 0;
  Contexts contexts_;
  int32_t context_ = Contexts::outside;
};

}  // namespace

std::string_view name_of(Mistake mistake) {
  constexpr std::string_view names[] = {"size not claimed", "out of bounds",   "unwritten read", "race",
                                        "wrong inverse",    "unwritten output"};
  return names[static_cast<size_t>(mistake)];
}

Outcome interpret(const LoopProgram& program, const std::map<std::string, int64_t>& sizes,
                  const std::vector<Tensor>& inputs) {
  require_valid(program);
  try {
    return {Interpreter(program, sizes).run(inputs), std::nullopt, {}};
  } catch (const Stop& stop) {
    return {{}, stop.mistake, std::string(name_of(stop.mistake)) + ": " + stop.text};
  }
}

}  // namespace axrun::ir::loop
