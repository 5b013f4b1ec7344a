#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "ir/view.h"
#include "runtime/operators/map_program.h"

namespace axrun::runtime {

using ir::ElementType;
using ir::Expr;
using ir::ExprId;
using ir::ScalarOp;

namespace {

bool has_blocks(ElementType type) {
  switch (type) {
    case ElementType::f32:
    case ElementType::f64:
    case ElementType::i32:
    case ElementType::i64:
    case ElementType::boolean:
    case ElementType::i8:
    case ElementType::u8:
      return true;
    default:
      return false;
  }
}

bool is_number(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::i32 ||
         type == ElementType::i64;
}

std::optional<Unary> unary_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::neg:
      return Unary::negate;
    case ScalarOp::abs:
      return Unary::absolute;
    case ScalarOp::sign:
      return Unary::sign;
    case ScalarOp::floor:
      return Unary::floor;
    case ScalarOp::ceil:
      return Unary::ceil;
    case ScalarOp::round_even:
      return Unary::round_even;
    case ScalarOp::sqrt:
      return Unary::sqrt;
    case ScalarOp::exp:
      return Unary::exp;
    case ScalarOp::log:
      return Unary::log;
    case ScalarOp::sin:
      return Unary::sin;
    case ScalarOp::cos:
      return Unary::cos;
    case ScalarOp::tanh:
      return Unary::tanh;
    case ScalarOp::erf:
      return Unary::erf;
    default:
      return std::nullopt;
  }
}

bool in_library(ScalarOp op) {
  switch (op) {
    case ScalarOp::tan:
    case ScalarOp::asin:
    case ScalarOp::acos:
    case ScalarOp::atan:
    case ScalarOp::sinh:
    case ScalarOp::cosh:
    case ScalarOp::asinh:
    case ScalarOp::acosh:
    case ScalarOp::atanh:
    case ScalarOp::truncate:
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
      return true;
    default:
      return false;
  }
}

std::optional<Binary> binary_of(ScalarOp op, ElementType type) {
  switch (op) {
    case ScalarOp::add:
      return Binary::add;
    case ScalarOp::sub:
      return Binary::subtract;
    case ScalarOp::mul:
      return Binary::multiply;
    case ScalarOp::div:
      if (!ir::is_float(type)) return std::nullopt;
      return Binary::divide;
    case ScalarOp::min:
      return Binary::minimum;
    case ScalarOp::max:
      return Binary::maximum;
    case ScalarOp::pow:
      if (!ir::is_float(type)) return std::nullopt;
      return Binary::power;
    default:
      return std::nullopt;
  }
}

std::optional<Comparison> comparison_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::equal:
      return Comparison::equal;
    case ScalarOp::not_equal:
      return Comparison::not_equal;
    case ScalarOp::less:
      return Comparison::less;
    case ScalarOp::less_equal:
      return Comparison::less_equal;
    case ScalarOp::greater:
      return Comparison::greater;
    case ScalarOp::greater_equal:
      return Comparison::greater_equal;
    default:
      return std::nullopt;
  }
}

class Compiler {
 public:
  explicit Compiler(const StepContext& context) : context_(context) {
    map_.is_open = context.open_programs.size() == context.group.size();
  }

  std::optional<CompiledMap> compile() {
    const StepPort& output = context_.outputs[0];
    if (!has_blocks(output.type) || output.count() == 0) return std::nullopt;
    for (size_t n = 0; n < context_.group.size(); ++n) {
      if (!compile_member(n)) return std::nullopt;
    }
    const auto result = produced_.find(context_.output_ids[0]);
    if (result == produced_.end() || !finish(result->second)) return std::nullopt;
    return CompiledMap{std::move(map_), MapSizes(axes_, strides_.data(), strides_.size())};
  }

 private:
  bool compile_member(size_t n) {
    program_ = context_.programs[n];
    node_ = context_.group[n];
    if (!is_elementwise(*program_)) return false;
    stage_ = &program_->stages[0];
    const ir::TensorDecl& result = program_->tensors[static_cast<size_t>(stage_->results[0])];
    if (ir::constant_dims(result.dims) != context_.outputs[0].shape) return false;
    if (stage_->axes.size() > Extents::most) return false;
    extents_ = Extents();
    for (const ir::Axis& axis : stage_->axes) extents_.push_back(axis.extent.value());
    open_ = map_.is_open ? context_.open_programs[n] : nullptr;
    map_.is_open = map_.is_open && has_axes_of_output();
    if (n == 0) axes_ = extents_;
    known_.clear();
    // Members may name the same space by other axes (a Reshape's factors): only equal spaces are joined.
    if (!(extents_ == axes_)) return false;
    const auto value = compile_expr(stage_->body[0]);
    if (!value) return false;
    produced_[node_->outputs[0]] = *value;
    return true;
  }

  /// For all sizes: those of the first member, and so of them all.
  bool has_axes_of_output() {
    const ir::Stage& stage = open_->stages[0];
    const ir::Dims& dims = open_->tensors[static_cast<size_t>(stage.results[0])].dims;
    if (program_ == context_.programs[0]) open_axes_ = dims;
    return std::equal(dims.begin(), dims.end(), stage.axes.begin(), stage.axes.end(),
                      [](const ir::Dim& dim, const ir::Axis& axis) { return dim == axis.extent; }) &&
           dims == open_axes_;
  }

  /// How the input is read at all sizes; nothing where that depends on them.
  std::optional<std::vector<MapInput::Term>> terms_of(const Expr& load) const {
    std::vector<MapInput::Term> terms;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const auto index = ir::affine_index(*open_, open_->stages[0], load.indices[d]);
      if (!index || index->constant != 0) return std::nullopt;
      for (size_t a = 0; a < index->coefficients.size(); ++a) {
        if (index->coefficients[a] == 1) terms.push_back({a, d});
        if (index->coefficients[a] < 0 || index->coefficients[a] > 1) return std::nullopt;
      }
    }
    return terms;
  }

  bool is_open_size(ExprId id) const {
    const Expr& expr = open_->exprs[static_cast<size_t>(id)];
    return expr.op == ScalarOp::extent && !expr.dim.is_constant();
  }

  ElementType type_of(ExprId id) const { return program_->exprs[static_cast<size_t>(id)].type; }

  std::optional<MapOperand> compile_expr(ExprId id) {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    const auto operand = compile_new(id);
    if (operand) known_[id] = *operand;
    return operand;
  }

  std::optional<MapOperand> compile_new(ExprId id) {
    const Expr& expr = program_->exprs[static_cast<size_t>(id)];
    if (!has_blocks(expr.type)) return std::nullopt;
    switch (expr.op) {
      case ScalarOp::real:
        return constant(expr.type, expr.real, 0);
      case ScalarOp::integer:
      case ScalarOp::extent:
        // Of an open program: a size is written as the number that it is here.
        map_.is_open = map_.is_open && !is_open_size(id);
        return constant(expr.type, 0, expr.op == ScalarOp::integer ? expr.integer : expr.dim.value());
      case ScalarOp::load:
        return load(expr);
      case ScalarOp::axis:
      case ScalarOp::time:
      case ScalarOp::parameter:
        return std::nullopt;
      default:
        return operation(expr);
    }
  }

  std::optional<MapOperand> constant(ElementType type, double real, int64_t integer) {
    MapConstant constant{type, {}};
    switch (type) {
      case ElementType::f32:
        put(constant, static_cast<float>(real));
        break;
      case ElementType::f64:
        put(constant, real);
        break;
      case ElementType::i32:
        put(constant, static_cast<int32_t>(integer));
        break;
      case ElementType::i64:
        put(constant, integer);
        break;
      default:
        put(constant, static_cast<uint8_t>(integer));
        break;
    }
    map_.constants.push_back(constant);
    return MapOperand{MapOperand::Kind::constant, static_cast<int>(map_.constants.size()) - 1};
  }
  template <typename T>
  static void put(MapConstant& constant, T value) {
    std::memcpy(constant.bytes, &value, sizeof(T));
  }

  std::optional<MapOperand> load(const Expr& expr) {
    if (expr.args[0] != ir::none) return std::nullopt;
    int position = -1;
    for (size_t k = 0; k < program_->operands.size(); ++k) {
      if (program_->operands[k] == expr.integer) position = static_cast<int>(k);
    }
    if (position < 0) return std::nullopt;
    const ir::ValueId value = node_->inputs[static_cast<size_t>(position)];
    MapInput input;
    input.type = expr.type;
    Extents steps;
    for (size_t a = 0; a < stage_->axes.size(); ++a) steps.push_back(0);
    const auto& dims = program_->tensors[static_cast<size_t>(expr.integer)].dims;
    const ir::Shape strides = ir::row_major_strides(*ir::constant_dims(dims));
    for (size_t d = 0; d < strides.size(); ++d) {
      const auto index = ir::affine_index(*program_, *stage_, expr.indices[d]);
      if (!index || index->constant != 0) return std::nullopt;
      for (size_t a = 0; a < steps.size(); ++a) steps[a] += index->coefficients[a] * strides[d];
    }
    for (size_t a = 0; a < steps.size(); ++a) {
      if (extents_[a] == 1) steps[a] = 0;
      if (steps[a] < 0) return std::nullopt;
    }
    if (map_.is_open) {
      auto terms = dims.size() <= Extents::most ? terms_of(expr) : std::nullopt;
      map_.is_open = terms.has_value();
      if (terms) input.terms = std::move(*terms);
    }
    if (const auto made = produced_.find(value); made != produced_.end()) {
      map_.is_open = map_.is_open && reads_its_own_place(expr, input);
      return walks_in_order(axes_, steps) ? std::optional(made->second) : std::nullopt;
    }
    const auto port = std::find(context_.input_ids.begin(), context_.input_ids.end(), value);
    if (port == context_.input_ids.end()) return std::nullopt;
    input.port = static_cast<int>(port - context_.input_ids.begin());
    map_.is_open =
        map_.is_open && context_.inputs[static_cast<size_t>(input.port)].shape.size() == dims.size();
    for (size_t k = 0; k < map_.inputs.size(); ++k) {
      if (map_.inputs[k].port == input.port && strides_[k] == steps) {
        map_.is_open = map_.is_open && map_.inputs[k].terms == input.terms;
        return MapOperand{MapOperand::Kind::input, static_cast<int>(k)};
      }
    }
    map_.inputs.push_back(input);
    strides_.push_back(steps);
    return MapOperand{MapOperand::Kind::input, static_cast<int>(map_.inputs.size()) - 1};
  }

  /// A result of the group, for all sizes: it has the axes for dims, and each is read along its own.
  bool reads_its_own_place(const Expr& load, const MapInput& input) const {
    const ir::Dims& dims = open_->tensors[static_cast<size_t>(load.integer)].dims;
    const ir::Stage& stage = open_->stages[0];
    if (dims.size() != stage.axes.size()) return false;
    size_t terms = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      const bool along = terms < input.terms.size() && input.terms[terms] == MapInput::Term{d, d};
      if (dims[d] != stage.axes[d].extent || (!along && dims[d] != ir::Dim(1))) return false;
      terms += along ? 1 : 0;
    }
    if (terms < input.terms.size()) return false;
    return true;
  }

  std::optional<MapOperand> operation(const Expr& expr) {
    MapInstruction instruction;
    instruction.result = expr.type;
    instruction.type = type_of(expr.args[0]);
    std::vector<MapOperand> operands;
    for (ExprId argument : expr.args) {
      if (argument == ir::none) continue;
      const auto operand = compile_expr(argument);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    instruction.a = operands[0];
    if (operands.size() > 1) instruction.b = operands[1];
    if (operands.size() > 2) instruction.c = operands[2];
    if (!choose(expr, instruction)) return std::nullopt;
    instruction.destination = static_cast<int>(map_.registers.size());
    map_.registers.push_back(expr.type);
    map_.code.push_back(instruction);
    map_.flops_per_element += 1;
    return MapOperand{MapOperand::Kind::reg, instruction.destination};
  }

  /// Whether whatever the program computes is computed for every element.
  bool computes_everything() const {
    return std::none_of(program_->exprs.begin(), program_->exprs.end(),
                        [](const Expr& expr) { return expr.op == ScalarOp::select; });
  }

  /// Kind and code of an instruction; false when there is no primitive.
  bool choose(const Expr& expr, MapInstruction& instruction) {
    const ElementType type = instruction.type;
    using Kind = MapInstruction::Kind;
    if (expr.op == ScalarOp::select) {
      instruction.kind = Kind::select;
      return true;
    }
    if (expr.op == ScalarOp::cast) {
      instruction.kind = Kind::convert;
      return true;
    }
    if (expr.op == ScalarOp::logical_and || expr.op == ScalarOp::logical_or ||
        expr.op == ScalarOp::logical_xor || expr.op == ScalarOp::logical_not) {
      instruction.kind = Kind::logical;
      instruction.code = static_cast<int>(expr.op);
      return type == ElementType::boolean;
    }
    if (const auto comparison = comparison_of(expr.op)) {
      instruction.kind = Kind::compare;
      instruction.code = static_cast<int>(*comparison);
      return is_number(type);
    }
    if (type == ElementType::f32) {
      if (const auto unary = unary_of(expr.op)) {
        instruction.kind = Kind::unary;
        instruction.code = static_cast<int>(*unary);
        return true;
      }
    }
    if ((type == ElementType::f32 || type == ElementType::f64) && in_library(expr.op)) {
      instruction.kind = Kind::library;
      instruction.code = static_cast<int>(expr.op);
      return type == ElementType::f32;
    }
    if (expr.op == ScalarOp::div && (type == ElementType::i32 || type == ElementType::i64)) {
      instruction.kind = Kind::quotient;
      instruction.place = static_cast<int>(map_.places.size());
      map_.places.push_back(fmt::format("{} '{}'", node_->op, node_->name));
      return computes_everything();
    }
    if (const auto binary = binary_of(expr.op, type); binary && is_number(type)) {
      instruction.kind = Kind::binary;
      instruction.code = static_cast<int>(*binary);
      return true;
    }
    return false;
  }

  /// Makes the result the destination of the last instruction (a plain copy or broadcast has none: not ours).
  bool finish(const MapOperand& result) {
    if (result.kind != MapOperand::Kind::reg || map_.code.empty()) return false;
    if (map_.code.back().destination != result.index) return false;
    map_.result = context_.outputs[0].type;
    return map_.code.back().result == map_.result;
  }

  const StepContext& context_;
  const ir::Program* program_ = nullptr;
  const ir::Node* node_ = nullptr;
  const ir::Stage* stage_ = nullptr;
  const ir::Program* open_ = nullptr;  ///< the same over names, while the map is open
  ir::Dims open_axes_;
  Extents extents_;
  Extents axes_;
  std::vector<Extents> strides_;  ///< along the axes, per input
  std::map<ExprId, MapOperand> known_;
  std::map<ir::ValueId, MapOperand> produced_;
  MapProgram map_;
};

/// Gives registers that are no longer read to later instructions.
void reuse_registers(MapProgram& map) {
  std::vector<int> last(map.registers.size(), -1);
  for (size_t i = 0; i < map.code.size(); ++i) {
    for (const MapOperand* operand : {&map.code[i].a, &map.code[i].b, &map.code[i].c}) {
      if (operand->kind == MapOperand::Kind::reg)
        last[static_cast<size_t>(operand->index)] = static_cast<int>(i);
    }
  }
  std::vector<int> home(map.registers.size(), -1);
  std::vector<int> free;
  int used = 0;
  for (size_t i = 0; i < map.code.size(); ++i) {
    MapInstruction& instruction = map.code[i];
    const auto at = static_cast<size_t>(instruction.destination);
    // Taken before the operands are freed: an instruction never writes what it reads.
    if (free.empty()) free.push_back(used++);
    home[at] = free.back();
    free.pop_back();
    std::vector<int> ended;
    for (MapOperand* operand : {&instruction.a, &instruction.b, &instruction.c}) {
      if (operand->kind != MapOperand::Kind::reg) continue;
      const auto from = static_cast<size_t>(operand->index);
      if (last[from] == static_cast<int>(i) &&
          std::find(ended.begin(), ended.end(), home[from]) == ended.end()) {
        ended.push_back(home[from]);
      }
      operand->index = home[from];
    }
    free.insert(free.end(), ended.begin(), ended.end());
    instruction.destination = home[at];
  }
  map.registers.assign(static_cast<size_t>(used), ElementType::f64);  // every register holds the widest type
}

}  // namespace

bool is_elementwise(const ir::Program& program) {
  if (program.stages.size() != 1 || program.outputs.size() != 1) return false;
  const auto is_string = [](const ir::TensorDecl& tensor) { return tensor.type == ir::ElementType::string; };
  if (std::any_of(program.tensors.begin(), program.tensors.end(), is_string)) return false;
  const ir::Stage& stage = program.stages[0];
  return stage.kind == ir::StageKind::map && stage.results.size() == 1 &&
         program.outputs[0] == stage.results[0] &&
         ir::constant_dims(program.tensors[static_cast<size_t>(stage.results[0])].dims).has_value();
}

std::optional<CompiledMap> compile_map(const StepContext& context) {
  if (!context.has_output(0)) return std::nullopt;
  auto map = Compiler(context).compile();
  if (!map) return map;
  recognise_gelu(map->program, context.inputs);
  reuse_registers(map->program);
  return map;
}

}  // namespace axrun::runtime
