// The data of a phase: statements, values, stores.
#include <bit>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "ir/arithmetic.h"
#include "jit/x86/emitter.h"
#include "jit/x86/functions.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using asmjit::x86::Gp;
using asmjit::x86::Mem;
using asmjit::x86::Vec;
using ir::Dim;
using ir::ElementType;
using ir::ScalarOp;
using ir::lane::Opcode;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Compute;
using ir::loop::Value;

namespace {

Gp part_of(const Gp& whole, int bytes) {
  if (bytes == 8) return whole;
  if (bytes == 4) return whole.r32();
  if (bytes == 2) return whole.r16();
  return whole.r8();
}

}  // namespace

// Statements
// ---------------------------------------------------------------------------------------------------------

void PhaseEmitter::emit_compute(const Compute& compute) {
  values_.clear();
  uses_.clear();
  write_value(compute, {});
}

/// What has been read of a buffer may be something else now.
void PhaseEmitter::drop_loads(const Address& written) {
  const std::string prefix = std::to_string(written.buffer) + ":";
  for (Scope& scope : scopes_) {
    for (auto load = scope.loads.lower_bound(prefix);
         load != scope.loads.end() && load->first.compare(0, prefix.size(), prefix) == 0;) {
      load = lies_apart(load->first, written) ? std::next(load) : scope.loads.erase(load);
    }
  }
}

/// Whether what a load has read is none of the lanes that were written, as far as is known: both are
/// contiguous, at a known distance.
bool PhaseEmitter::lies_apart(const std::string& key, const Address& written) const {
  Address origin = written;
  origin.displacement = 0;
  const std::string whole = load_key(origin, "");
  const std::string form = whole.substr(0, whole.rfind("+0"));
  if (written.lane_step != Dim(1) || key.compare(0, form.size() + 1, form + "+") != 0) return false;
  char* rest = nullptr;
  const int64_t distance = std::strtoll(key.c_str() + form.size() + 1, &rest, 10) - written.displacement;
  const std::string lanes = rest;
  if (lanes == "u") return distance < 0 || distance >= lanes_.count();
  return lanes.rfind("l1,", 0) == 0 && std::abs(distance) >= lanes_.count();
}

/// target (combine)= given, or the statement's own value where that is undefined.
void PhaseEmitter::write_value(const Compute& compute, LaneValue given) {
  const Access& target = compute.target;
  LaneValue mask = lane_ ? lane_->mask : LaneValue{};
  if (in_registers(target.buffer)) {
    if (whole_vectors_.count(target.buffer) != 0) mask = {};
    const Vec into = slot(target);
    // A product that is added is one operation.
    const Value& top = program_.values[static_cast<size_t>(compute.value)];
    const bool multiply_adds = !given.defined() && compute.combine == Combine::add &&
                               top.op == ScalarOp::mul && top.type == ElementType::f32;
    if (multiply_adds) {
      const LaneValue a = value(top.args[0]), b = value(top.args[1]);
      lanes_.accumulate_product(into, a, b, mask);
      return;
    }
    const LaneValue result = given.defined() ? given : value(compute.value);
    if (buffer(target.buffer).type != ElementType::f32)
      return write_slot(target, compute.combine, result, mask);
    if (compute.combine == Combine::assign) {
      lanes_.keep_where(into, result, mask);
    } else {
      lanes_.accumulate(into, compute.combine, result, mask);
    }
    return;
  }
  const ir::loop::Buffer& of = buffer(target.buffer);
  form_of(of.type);
  LaneValue result = given.defined() ? given : value(compute.value);
  const Address address = linear_address_of(target);  // a copy: what follows may work out others
  if (compute.combine != Combine::assign) {
    const LaneValue old = load_memory(target, present_lanes());
    result = of.type == ElementType::f32 ? lanes_.combine(compute.combine, old, result)
                                         : typed_.combine(compute.combine, of.type, old, result);
  }
  const auto element = static_cast<int>(size_of(of.type));
  if (!lane_ || address.lane_step == Dim(0)) {
    if (lane_) refuse("lanes write the same element of " + of.name);
    typed_.store_first(of.type, memory(address, element), result);
  } else if (address.lane_step == Dim(1)) {
    typed_.store(of.type, memory(address, element), result, mask, present_lanes().bits.value_or(0));
  } else {
    store_strided(address, result);
  }
  drop_loads(address);
  // What has just been worked out and written need not be read again. (A register buffer's own register
  // changes later.)
  const bool worked_out = program_.values[static_cast<size_t>(compute.value)].op != ScalarOp::load;
  if (lane_ && address.lane_step == Dim(1) && result.kind == LaneValue::Kind::vector && worked_out)
    keep_load(load_key(address, lane_->mask_name), result);
}

std::string PhaseEmitter::load_key(const Address& address, const std::string& mask_name) const {
  const bool uniform = !lane_ || address.lane_step == Dim(0);
  return std::to_string(address.buffer) + ":" + address.form.to_string() + "+" +
         std::to_string(address.displacement) +
         (uniform ? "u" : "l" + address.lane_step.to_string() + "," + mask_name);
}

/// Lane by lane, through the stack, where lanes are not close.
void PhaseEmitter::store_strided(const Address& address, const LaneValue& value) {
  const int lanes = lanes_.count();
  const ElementType type = buffer(address.buffer).type;
  const bool close = address.lane_step.is_constant() && address.lane_step.value() > 1 &&
                     address.lane_step.value() <= Lanes::longest_step;
  if (close && type == ElementType::f32)
    return store_steps(memory(address, 4), address.lane_step.value(), value);
  const auto bytes = static_cast<int>(size_of(type));
  const Mem stack = cc_.newStack(static_cast<uint32_t>(lanes * bytes), 64);
  typed_.store(type, stack, value, {}, 0);
  const Gp place = integers_.value(Dim(0));
  cc_.lea(place, memory(address, bytes));
  const Gp step = integers_.value(address.lane_step * Dim(bytes));
  const asmjit::Label done = cc_.newLabel();
  Gp rest;
  if (lane_->mask.defined()) {
    rest = integers_.value(lane_->rest);
  }
  const Gp whole = cc_.newGpq();
  const Gp element = part_of(whole, bytes);
  for (int lane = 0; lane < lanes; ++lane) {
    if (rest.isValid()) {
      cc_.cmp(rest, lane);
      cc_.jle(done);
    }
    Mem from = stack.cloneAdjusted(lane * bytes);
    from.setSize(static_cast<uint32_t>(bytes));
    if (bytes < 4)
      cc_.movzx(whole.r32(), from);
    else
      cc_.mov(element, from);
    cc_.mov(asmjit::x86::ptr(place, 0, static_cast<uint32_t>(bytes)), element);
    cc_.add(place, step);
  }
  cc_.bind(done);
}

// Values
// ---------------------------------------------------------------------------------------------------------

LaneValue PhaseEmitter::without_death(LaneValue value) {
  value.dies = false;
  return value;
}

bool PhaseEmitter::depends_on_lanes(int id) {
  if (!lane_) return false;
  const auto known = lane_dependent_.find({id, lane_->variable});
  if (known != lane_dependent_.end()) return known->second;
  const Value& v = program_.values[static_cast<size_t>(id)];
  bool depends = false;
  if (v.op == ScalarOp::extent) depends = mentions(v.index, lane_->variable);
  if (v.op == ScalarOp::load) {
    for (const Dim& index : v.access.indices) depends = depends || mentions(index, lane_->variable);
    for (const ir::loop::Lookup& lookup : v.access.lookups) {
      for (const Dim& index : lookup.indices) depends = depends || mentions(index, lane_->variable);
    }
  }
  for (const int argument : v.args) depends = depends || (argument != ir::none && depends_on_lanes(argument));
  lane_dependent_[{id, lane_->variable}] = depends;
  return depends;
}

void PhaseEmitter::count_uses(int id) {
  if (++uses_[id] > 1) return;
  for (const int argument : program_.values[static_cast<size_t>(id)].args) {
    if (argument != ir::none) count_uses(argument);
  }
}

LaneValue PhaseEmitter::value(int id) {
  if (uses_.find(id) == uses_.end()) count_uses(id);
  const bool by_lane = depends_on_lanes(id);
  const std::pair<int, int> key{id, by_lane ? lane_->chunk : -1};
  const auto made = values_.find(key);
  if (made != values_.end()) return made->second;
  const Value& v = program_.values[static_cast<size_t>(id)];
  LaneValue result = v.op == ScalarOp::load ? load(v) : operation(v);
  bool own = v.op != ScalarOp::load && result.kind == LaneValue::Kind::vector;
  if (own && (v.op == ScalarOp::cast || v.op == ScalarOp::cast_saturate || v.op == ScalarOp::abs)) {
    // It may have changed nothing: then the register is somebody else's.
    const auto given = values_.find({v.args[0], depends_on_lanes(v.args[0]) ? lane_->chunk : -1});
    own = given == values_.end() || !(given->second.vector == result.vector);
  }
  result.dies = own && uses_[id] == 1 && (by_lane || !lane_);
  values_[key] = without_death(result);
  return result;
}

/// Arithmetic of indices as one Dim.
std::optional<Dim> PhaseEmitter::as_dim(int id) const {
  const Value& v = program_.values[static_cast<size_t>(id)];
  if (v.type != ElementType::i64) return std::nullopt;
  if (v.op == ScalarOp::extent) return v.index;
  if (v.op == ScalarOp::integer) return Dim(v.integer);
  if (v.op != ScalarOp::add && v.op != ScalarOp::sub && v.op != ScalarOp::mul) return std::nullopt;
  const auto a = as_dim(v.args[0]), b = as_dim(v.args[1]);
  if (!a || !b) return std::nullopt;
  return v.op == ScalarOp::add ? *a + *b : v.op == ScalarOp::sub ? *a - *b : *a * *b;
}

LaneValue PhaseEmitter::index_value(const Dim& raw) {
  const int64_t first = lane_ ? int64_t{lane_->chunk} * lanes_.count() : 0;
  Dim dim = at(raw);
  if (lane_ && mentions(dim, lane_->variable)) {
    // In the lanes of this vector perhaps fewer minima are open than in all of the loop.
    const Interval whole = facts_.range(Dim::symbol(lane_->variable));
    facts_.set_range(lane_->variable, {first, first + lanes_.count() - 1});
    dim = at(dim);
    facts_.set_range(lane_->variable, whole);
  }
  const Interval range = facts_.range(dim);
  if (range.low < std::numeric_limits<int32_t>::min() || range.high > std::numeric_limits<int32_t>::max())
    refuse("the index " + raw.to_string() + " may not fit 32 bits");
  if (!lane_ || !mentions(dim, lane_->variable)) {
    if (dim.is_constant()) return lanes_.constant(static_cast<uint32_t>(dim.value()));
    return lanes_.broadcast(integers_.value(dim));
  }
  const Linear linear = linear_in(dim, lane_->variable);
  if (!linear.exists || !linear.coefficient.is_constant()) return each_lane(dim);
  const Dim start = linear.rest + linear.coefficient * Dim(first);
  LaneValue lanes = LaneValue::of(lanes_.iota());
  if (linear.coefficient != Dim(1)) {
    const auto factor = lanes_.constant(static_cast<uint32_t>(linear.coefficient.value()));
    lanes = lanes_.apply(Opcode::i32_mul, {lanes, factor, {}});
  }
  const LaneValue base = start.is_constant() ? lanes_.constant(static_cast<uint32_t>(start.value()))
                                             : lanes_.broadcast(integers_.value(start));
  return lanes_.apply(Opcode::i32_add, {lanes, base, {}});
}

LaneValue PhaseEmitter::float_operation(const Value& v) {
  const auto argument = [&](int k) { return value(v.args[static_cast<size_t>(k)]); };
  const auto type_of = [&](int k) {
    return program_.values[static_cast<size_t>(v.args[static_cast<size_t>(k)])].type;
  };
  const auto lane_op = [&](Opcode opcode) {
    const LaneValue a = argument(0);
    return lanes_.apply(opcode, {a, ir::argument_count(v.op) > 1 ? argument(1) : LaneValue{}, {}});
  };
  const auto need_f32 = [&](int k) {
    if (form_of(type_of(k)) != Form::f32)
      refuse(std::string(ir::name_of(v.op)) + " of " + std::string(name_of(type_of(k))));
  };
  const bool booleans = type_of(0) == ElementType::boolean;
  switch (v.op) {
    case ScalarOp::add:
      need_f32(0);
      return lane_op(Opcode::add);
    case ScalarOp::sub:
      need_f32(0);
      return lane_op(Opcode::sub);
    case ScalarOp::mul:
      need_f32(0);
      return lane_op(Opcode::mul);
    case ScalarOp::div: {
      need_f32(0);
      const LaneValue a = argument(0), b = argument(1);
      const auto is_constant = [](const LaneValue& v) { return v.kind == LaneValue::Kind::constant; };
      if (!is_constant(a) || !is_constant(b)) return lanes_.apply(Opcode::div, {a, b, {}});
      return lanes_.constant(
          std::bit_cast<uint32_t>(std::bit_cast<float>(a.bits) / std::bit_cast<float>(b.bits)));
    }
    case ScalarOp::min:
    case ScalarOp::max: {
      need_f32(0);
      const LaneValue a = argument(0), b = argument(1);
      return lanes_.minimum_or_maximum(v.op == ScalarOp::max, a, b);
    }
    case ScalarOp::neg:
      need_f32(0);
      return lane_op(Opcode::neg);
    case ScalarOp::abs:
      need_f32(0);
      return lane_op(Opcode::abs);
    case ScalarOp::sqrt:
      need_f32(0);
      return lane_op(Opcode::sqrt);
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
    case ScalarOp::truncate: {
      need_f32(0);
      const int how = v.op == ScalarOp::round_even ? 0
                      : v.op == ScalarOp::floor    ? 1
                      : v.op == ScalarOp::ceil     ? 2
                                                   : 3;
      return lanes_.round(argument(0), how);
    }
    case ScalarOp::pow: {
      need_f32(0);
      const Value& exponent = program_.values[static_cast<size_t>(v.args[1])];
      const LaneValue base = without_death(argument(0));
      if (exponent.op == ScalarOp::real && exponent.real == 2)
        return lanes_.apply(Opcode::mul, {base, base, {}});
      if (exponent.op == ScalarOp::real && exponent.real == 3) {
        const LaneValue square = lanes_.apply(Opcode::mul, {base, base, {}});
        return lanes_.apply(Opcode::mul, {square, base, {}});
      }
      refuse("a power with another exponent than 2 or 3");
    }
    case ScalarOp::is_nan: {
      need_f32(0);
      const LaneValue a = argument(0);
      return lanes_.apply(Opcode::unordered, {a, a, {}});
    }
    case ScalarOp::logical_and:
      return lane_op(Opcode::mask_and);
    case ScalarOp::logical_or:
      return lane_op(Opcode::mask_or);
    case ScalarOp::logical_xor:
      return lane_op(Opcode::mask_xor);
    case ScalarOp::logical_not:
      return lane_op(Opcode::mask_not);
    case ScalarOp::equal:
    case ScalarOp::not_equal: {
      const bool inverted = (v.op == ScalarOp::not_equal) != booleans;
      const LaneValue same = lane_op(booleans ? Opcode::mask_xor : Opcode::equal);
      return inverted ? lanes_.apply(Opcode::mask_not, {same, {}, {}}) : same;
    }
    case ScalarOp::less:
    case ScalarOp::greater:
    case ScalarOp::less_equal:
    case ScalarOp::greater_equal: {
      need_f32(0);
      LaneValue a = argument(0), b = argument(1);
      if (v.op == ScalarOp::greater || v.op == ScalarOp::greater_equal) std::swap(a, b);
      const bool strict = v.op == ScalarOp::less || v.op == ScalarOp::greater;
      return lanes_.apply(strict ? Opcode::less : Opcode::less_equal, {a, b, {}});
    }
    default:
      if (const ir::lane::Program* program = lane_program_of(v.op)) {
        need_f32(0);
        return function(*program, argument(0));
      }
      refuse("the operation " + std::string(ir::name_of(v.op)));
  }
}

}  // namespace axrun::jit::x86
