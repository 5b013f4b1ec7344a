// Loads: guards, bounds checks, and reading the stored types.
#include <array>
#include <bit>
#include <memory>

#include "ir/element_access.h"
#include "ir/error.h"
#include "ir/interpreter/workspace.h"
#include "ir/lasting.h"

namespace axrun::ir::interpreter {
namespace {

template <typename Out, typename Read>
void read_lanes(const LaneSource& source, void* lanes, int count, Read read) {
  Out* __restrict out = static_cast<Out*>(lanes);
  const int64_t base = source.base;
  const int64_t* offsets = source.offsets;
  if (source.excluded) {
    const Out* otherwise = static_cast<const Out*>(source.otherwise);
    const int step = source.uniform_otherwise ? 0 : 1;
    for (int k = 0; k < count; ++k) {
      out[k] = source.excluded[k] < 0 ? otherwise[k * step] : read(base + (offsets ? offsets[k] : 0));
    }
  } else if (!offsets) {
    const Out value = read(base);
    for (int k = 0; k < count; ++k) out[k] = value;
  } else if (source.contiguous) {
    const int64_t first = base + offsets[0];
    for (int k = 0; k < count; ++k) out[k] = read(first + k);
  } else {
    for (int k = 0; k < count; ++k) out[k] = read(base + offsets[k]);
  }
}

/// The values of the 16-bit and 8-bit float patterns.
template <ElementType type>
const float* float_table() {
  static const auto& table = lasting([] {
    const size_t patterns = size_of(type) == 2 ? 65536 : 256;
    std::unique_ptr<float[]> values(new float[patterns]);
    for (size_t k = 0; k < patterns; ++k) {
      double value = 0;
      if (type == ElementType::f16) {
        value = f16_to_double(static_cast<uint16_t>(k));
      } else if (type == ElementType::bf16) {
        value = bf16_to_double(static_cast<uint16_t>(k));
      } else {
        value = f8_to_double(type, static_cast<uint8_t>(k));
      }
      values[k] = static_cast<float>(value);
    }
    return values;
  }());
  return table.get();
}

template <ElementType type, typename Stored>
void load_narrow_float(const LaneSource& source, void* lanes, int count) {
  const float* table = float_table<type>();
  read_lanes<double>(source, lanes, count, [&source, table](int64_t position) {
    return static_cast<double>(table[load_element<Stored>(source.data, position)]);
  });
}

template <typename Stored>
void load_float(const LaneSource& source, void* lanes, int count) {
  read_lanes<double>(source, lanes, count, [&source](int64_t position) {
    return static_cast<double>(load_element<Stored>(source.data, position));
  });
}

template <ElementType type, typename Stored>
void load_integer(const LaneSource& source, void* lanes, int count) {
  read_lanes<int64_t>(source, lanes, count, [&source](int64_t position) {
    const Stored stored = load_element<Stored>(source.data, position);
    if constexpr (type == ElementType::boolean) return static_cast<int64_t>(stored != 0);
    // Narrower values fill a byte; only their own bits count.
    if constexpr (type == ElementType::i4) return static_cast<int64_t>(((stored & 15) ^ 8) - 8);
    if constexpr (type == ElementType::u4) return static_cast<int64_t>(stored & 15);
    if constexpr (type == ElementType::i2) return static_cast<int64_t>(((stored & 3) ^ 2) - 2);
    if constexpr (type == ElementType::u2) return static_cast<int64_t>(stored & 3);
    return static_cast<int64_t>(stored);
  });
}

/// A string travels as the address of its std::string.
void load_string(const LaneSource& source, void* lanes, int count) {
  const std::string* strings = static_cast<const std::string*>(source.data);
  read_lanes<int64_t>(source, lanes, count,
                      [strings](int64_t position) { return std::bit_cast<int64_t>(strings + position); });
}

[[noreturn]] void out_of_bounds(const Workspace& workspace, const Load& load, int dimension, int64_t index,
                                int64_t extent) {
  const Body& body = workspace.body();
  const TensorDecl& tensor = body.program->tensors[static_cast<size_t>(load.tensor)];
  throw Error(Fault::user, body.where + ": index " + std::to_string(index) +
                               " is out of bounds for dimension " + std::to_string(dimension) + " of '" +
                               tensor.name + "', whose size is " + std::to_string(extent));
}

/// Marks the lanes where the guard is false by a negative entry.
enum class Lanes { all, some, none };
Lanes evaluate_guard(const Load& load, Workspace& workspace, int count) {
  int64_t* __restrict excluded = workspace.excluded();
  bool started = false;
  auto start = [&] {
    if (!started) std::fill(excluded, excluded + count, 0);
    started = true;
  };
  for (int form : load.guard_forms) {
    if (workspace.low(form) >= 0) continue;
    if (workspace.high(form) < 0) return Lanes::none;
    // A form whose range straddles zero has a table. The sign bit of the union is set when any is negative.
    const int64_t* table = workspace.table(form);
    const int64_t scalar = workspace.scalar(form);
    if (!started) {
      started = true;
      for (int k = 0; k < count; ++k) excluded[k] = table[k] + scalar;
    } else {
      for (int k = 0; k < count; ++k) excluded[k] |= table[k] + scalar;
    }
  }
  for (const auto& [offset, uniform] : load.guard_registers) {
    const int64_t* condition = workspace.lanes<int64_t>(offset);
    if (uniform) {
      if (*condition == 0) return Lanes::none;
      continue;
    }
    start();
    for (int k = 0; k < count; ++k) excluded[k] |= condition[k] - 1;
  }
  return started ? Lanes::some : Lanes::all;
}

void check_affine(const Load& load, Workspace& workspace, const int64_t* excluded, int count) {
  for (const Load::Check& check : load.checks) {
    if (workspace.low(check.index_form) >= 0 && workspace.low(check.room_form) >= 0) continue;
    auto at = [&](int form, int lane) {
      const int64_t* table = workspace.table(form);
      return workspace.scalar(form) + (table ? table[lane] : 0);
    };
    for (int k = 0; k < count; ++k) {
      if (excluded && excluded[k] < 0) continue;
      const int64_t index = at(check.index_form, k);
      const int64_t room = at(check.room_form, k);
      if (index < 0 || room < 0) out_of_bounds(workspace, load, check.dimension, index, index + room + 1);
    }
  }
}

/// Addresses with computed indices, which are checked here. Excluded lanes get meaningless addresses.
void compute_addresses(const Load& load, Workspace& workspace, const int64_t* excluded, int count) {
  const int64_t* table = workspace.table(load.address_form);
  int64_t* __restrict addresses = workspace.addresses();
  for (int k = 0; k < count; ++k) addresses[k] = table ? table[k] : 0;
  for (const Load::Computed& computed : load.computed) {
    const int64_t* indices = workspace.lanes<int64_t>(computed.reg);
    const int step = computed.uniform ? 0 : 1;
    const auto extent = static_cast<uint64_t>(computed.extent);
    bool outside = false;
    for (int k = 0; k < count; ++k) outside |= static_cast<uint64_t>(indices[k * step]) >= extent;
    for (int k = 0; outside && k < count; ++k) {
      const int64_t index = indices[k * step];
      if (static_cast<uint64_t>(index) < extent || (excluded && excluded[k] < 0)) continue;
      out_of_bounds(workspace, load, computed.dimension, index, computed.extent);
    }
    const auto stride = static_cast<uint64_t>(computed.stride);
    for (int k = 0; k < count; ++k) {
      const uint64_t index = static_cast<uint64_t>(indices[k * step]);
      addresses[k] = static_cast<int64_t>(static_cast<uint64_t>(addresses[k]) + stride * index);
    }
  }
}

void run_load(const Instruction& instruction, Workspace& workspace, int count) {
  const Load& load = workspace.body().loads[static_cast<size_t>(instruction.number)];
  LaneSource source;
  source.otherwise = workspace.lanes<std::byte>(load.otherwise);
  source.uniform_otherwise = load.uniform_otherwise;
  Lanes guard = load.guarded ? evaluate_guard(load, workspace, count) : Lanes::all;
  auto* result = workspace.lanes<std::byte>(instruction.result);
  if (guard == Lanes::none) {
    const size_t step = load.uniform_otherwise ? 0 : 8;
    const auto* otherwise = static_cast<const std::byte*>(source.otherwise);
    for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
      std::memcpy(result + 8 * k, otherwise + step * k, 8);
    }
    return;
  }
  if (guard == Lanes::some) source.excluded = workspace.excluded();
  check_affine(load, workspace, source.excluded, count);
  source.data = workspace.data(instruction.number);
  source.base = workspace.scalar(load.address_form);
  if (load.computed.empty()) {
    source.offsets = workspace.table(load.address_form);
    source.contiguous = workspace.contiguous(load.address_form);
  } else {
    compute_addresses(load, workspace, source.excluded, count);
    source.offsets = workspace.addresses();
  }
  load.kernel(source, result, count);
}

}  // namespace

LoadKernel load_kernel(ElementType stored) {
  switch (stored) {
    case ElementType::f16:
      return load_narrow_float<ElementType::f16, uint16_t>;
    case ElementType::bf16:
      return load_narrow_float<ElementType::bf16, uint16_t>;
    case ElementType::f8e4m3fn:
      return load_narrow_float<ElementType::f8e4m3fn, uint8_t>;
    case ElementType::f8e4m3fnuz:
      return load_narrow_float<ElementType::f8e4m3fnuz, uint8_t>;
    case ElementType::f8e5m2:
      return load_narrow_float<ElementType::f8e5m2, uint8_t>;
    case ElementType::f8e5m2fnuz:
      return load_narrow_float<ElementType::f8e5m2fnuz, uint8_t>;
    case ElementType::f32:
      return load_float<float>;
    case ElementType::f64:
      return load_float<double>;
    case ElementType::i4:
      return load_integer<ElementType::i4, int8_t>;
    case ElementType::i8:
      return load_integer<ElementType::i8, int8_t>;
    case ElementType::i16:
      return load_integer<ElementType::i16, int16_t>;
    case ElementType::i32:
      return load_integer<ElementType::i32, int32_t>;
    case ElementType::i64:
      return load_integer<ElementType::i64, int64_t>;
    case ElementType::u4:
      return load_integer<ElementType::u4, uint8_t>;
    case ElementType::u8:
      return load_integer<ElementType::u8, uint8_t>;
    case ElementType::u16:
      return load_integer<ElementType::u16, uint16_t>;
    case ElementType::u32:
      return load_integer<ElementType::u32, uint32_t>;
    case ElementType::u64:
      return load_integer<ElementType::u64, uint64_t>;
    case ElementType::boolean:
      return load_integer<ElementType::boolean, uint8_t>;
    case ElementType::f8e8m0:
      return load_narrow_float<ElementType::f8e8m0, uint8_t>;
    case ElementType::f4e2m1:
      return load_narrow_float<ElementType::f4e2m1, uint8_t>;
    case ElementType::f6e2m3:
      return load_narrow_float<ElementType::f6e2m3, uint8_t>;
    case ElementType::f6e3m2:
      return load_narrow_float<ElementType::f6e3m2, uint8_t>;
    case ElementType::i2:
      return load_integer<ElementType::i2, int8_t>;
    case ElementType::u2:
      return load_integer<ElementType::u2, uint8_t>;
    case ElementType::string:
      return load_string;
    case ElementType::undefined:
      break;
  }
  throw Error(Fault::internal, "a load of an undefined tensor");
}

Kernel guarded_load_kernel() { return run_load; }

}  // namespace axrun::ir::interpreter
