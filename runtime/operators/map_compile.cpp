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
    case ScalarOp::div:  // an integer division by zero must be reported, which block primitives do not
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
  explicit Compiler(const StepContext& context) : context_(context) {}

  std::optional<MapProgram> compile() {
    const StepPort& output = context_.outputs[0];
    if (!has_blocks(output.type) || output.count() == 0) return std::nullopt;
    for (size_t n = 0; n < context_.group.size(); ++n) {
      if (!compile_member(n)) return std::nullopt;
    }
    const auto result = produced_.find(context_.output_ids[0]);
    if (result == produced_.end() || !finish(result->second)) return std::nullopt;
    collapse();
    return std::move(map_);
  }

 private:
  bool compile_member(size_t n) {
    program_ = context_.programs[n];
    node_ = context_.group[n];
    if (!is_elementwise(*program_)) return false;
    stage_ = &program_->stages[0];
    const ir::TensorDecl& result = program_->tensors[static_cast<size_t>(stage_->results[0])];
    if (ir::constant_dims(result.dims) != context_.outputs[0].shape) return false;
    extents_.clear();
    for (const ir::Axis& axis : stage_->axes) extents_.push_back(axis.extent.value());
    if (n == 0) axes_ = extents_;
    known_.clear();
    // Members may name the same space by other axes (a Reshape's factors): only equal spaces are joined.
    if (extents_ != axes_) return false;
    const auto value = compile_expr(stage_->body[0]);
    if (!value) return false;
    produced_[node_->outputs[0]] = *value;
    return true;
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
      case ScalarOp::integer:
        return constant(expr.type, expr.op == ScalarOp::real ? expr.real : 0, expr.integer);
      case ScalarOp::extent:
        return constant(expr.type, 0, expr.dim.value());
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
    input.strides.assign(stage_->axes.size(), 0);
    const auto& dims = program_->tensors[static_cast<size_t>(expr.integer)].dims;
    const ir::Shape strides = ir::row_major_strides(*ir::constant_dims(dims));
    for (size_t d = 0; d < strides.size(); ++d) {
      const auto index = ir::affine_index(*program_, *stage_, expr.indices[d]);
      if (!index || index->constant != 0) return std::nullopt;
      for (size_t a = 0; a < input.strides.size(); ++a)
        input.strides[a] += index->coefficients[a] * strides[d];
    }
    for (size_t a = 0; a < input.strides.size(); ++a) {
      if (extents_[a] == 1) input.strides[a] = 0;
      if (input.strides[a] < 0) return std::nullopt;
    }
    if (const auto made = produced_.find(value); made != produced_.end()) {
      return is_identity(input.strides) ? std::optional(made->second) : std::nullopt;
    }
    const auto port = std::find(context_.input_ids.begin(), context_.input_ids.end(), value);
    if (port == context_.input_ids.end()) return std::nullopt;
    input.port = static_cast<int>(port - context_.input_ids.begin());
    for (size_t k = 0; k < map_.inputs.size(); ++k) {
      if (map_.inputs[k].port == input.port && map_.inputs[k].strides == input.strides) {
        return MapOperand{MapOperand::Kind::input, static_cast<int>(k)};
      }
    }
    map_.inputs.push_back(input);
    return MapOperand{MapOperand::Kind::input, static_cast<int>(map_.inputs.size()) - 1};
  }

  bool is_identity(const std::vector<int64_t>& strides) const {
    int64_t stride = 1;
    for (size_t a = extents_.size(); a-- > 0;) {
      if (extents_[a] != 1 && strides[a] != stride) return false;
      stride *= extents_[a];
    }
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

  /// Kind and code of an instruction; false when there is no primitive.
  bool choose(const Expr& expr, MapInstruction& instruction) const {
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

  /// Merges neighbouring axes that every input walks as one.
  void collapse() {
    std::vector<int64_t> extents;
    std::vector<std::vector<int64_t>> strides(map_.inputs.size());
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (axes_[a] == 1) continue;
      bool merges = !extents.empty();
      for (size_t k = 0; k < map_.inputs.size() && merges; ++k) {
        merges = strides[k].back() == map_.inputs[k].strides[a] * axes_[a];
      }
      if (merges) {
        extents.back() *= axes_[a];
        for (size_t k = 0; k < strides.size(); ++k) strides[k].back() = map_.inputs[k].strides[a];
      } else {
        extents.push_back(axes_[a]);
        for (size_t k = 0; k < strides.size(); ++k) strides[k].push_back(map_.inputs[k].strides[a]);
      }
    }
    if (extents.empty()) {
      extents.push_back(1);
      for (auto& s : strides) s.push_back(0);
    }
    map_.extents = extents;
    for (size_t k = 0; k < strides.size(); ++k) {
      MapInput& input = map_.inputs[k];
      input.identity = is_identity(input.strides);
      input.strides = strides[k];
      input.uniform =
          std::all_of(input.strides.begin(), input.strides.end(), [](int64_t s) { return s == 0; });
      if (input.uniform && map_.extents != std::vector<int64_t>{1}) input.identity = false;
    }
  }

  const StepContext& context_;
  const ir::Program* program_ = nullptr;
  const ir::Node* node_ = nullptr;
  const ir::Stage* stage_ = nullptr;
  std::vector<int64_t> extents_;
  std::vector<int64_t> axes_;
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

std::optional<MapProgram> compile_map(const StepContext& context) {
  if (!context.has_output(0)) return std::nullopt;
  auto map = Compiler(context).compile();
  if (map) reuse_registers(*map);
  return map;
}

}  // namespace axrun::runtime
