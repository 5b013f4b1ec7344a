// Elementwise groups: the expression itself, block by block on vector primitives. Reads no operator names.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/error.h"
#include "runtime/kernels/isa/table.h"
#include "runtime/operators/map_program.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {

using ir::ElementType;
using ir::ScalarOp;

namespace {

constexpr int64_t block_elements = 512;
constexpr size_t register_bytes = block_elements * 8;
/// Rows at least this long are cut into blocks of their own; shorter ones are gathered into blocks of several
/// rows. Where inputs stay the same along a row, blocks of their own pay earlier.
constexpr int64_t shortest_row = 64;
constexpr int64_t shortest_row_with_uniform_inputs = 16;
/// Elements below which starting threads costs more than it saves.
constexpr int64_t parallel_grain_elements = 16384;

Number number_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return Number::f64;
    case ElementType::i32:
      return Number::i32;
    case ElementType::i64:
      return Number::i64;
    default:
      return Number::f32;
  }
}

/// An operand of a block: where it starts, and 1 or 0 elements to the next.
struct BlockOperand {
  const void* data = nullptr;
  int64_t stride = 1;
};

template <typename From, typename To>
void convert_values(int64_t count, const void* from, int64_t stride, void* to) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
      // In-range values convert as C does; the rest saturate, NaN gives 0.
      const From value = x[i * stride];
      constexpr auto low = static_cast<double>(std::numeric_limits<To>::min());
      constexpr auto high = static_cast<double>(std::numeric_limits<To>::max());
      const double wide = static_cast<double>(value);
      y[i] = wide >= high  ? std::numeric_limits<To>::max()
             : wide > low  ? static_cast<To>(value)
             : wide <= low ? std::numeric_limits<To>::min()
                           : To{0};
    } else {
      y[i] = static_cast<To>(x[i * stride]);
    }
  }
}

template <typename From>
void convert_to_boolean(int64_t count, const void* from, int64_t stride, void* to) {
  const From* x = static_cast<const From*>(from);
  auto* y = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < count; ++i) y[i] = x[i * stride] != From{0} ? 1 : 0;
}

template <typename From>
void convert_from(ElementType to, int64_t count, const void* x, int64_t stride, void* y) {
  switch (to) {
    case ElementType::f32:
      return convert_values<From, float>(count, x, stride, y);
    case ElementType::f64:
      return convert_values<From, double>(count, x, stride, y);
    case ElementType::i32:
      return convert_values<From, int32_t>(count, x, stride, y);
    case ElementType::i64:
      return convert_values<From, int64_t>(count, x, stride, y);
    case ElementType::i8:
      return convert_values<From, int8_t>(count, x, stride, y);
    case ElementType::u8:
      return convert_values<From, uint8_t>(count, x, stride, y);
    default:
      return convert_to_boolean<From>(count, x, stride, y);
  }
}

void convert(ElementType from, ElementType to, int64_t count, const BlockOperand& x, void* y) {
  switch (from) {
    case ElementType::f32:
      return convert_from<float>(to, count, x.data, x.stride, y);
    case ElementType::f64:
      return convert_from<double>(to, count, x.data, x.stride, y);
    case ElementType::i32:
      return convert_from<int32_t>(to, count, x.data, x.stride, y);
    case ElementType::i64:
      return convert_from<int64_t>(to, count, x.data, x.stride, y);
    case ElementType::i8:
      return convert_from<int8_t>(to, count, x.data, x.stride, y);
    default:
      return convert_from<uint8_t>(to, count, x.data, x.stride, y);  // u8 and boolean
  }
}

void logical(ScalarOp op, int64_t count, const BlockOperand& a, const BlockOperand& b, void* result) {
  const auto* x = static_cast<const uint8_t*>(a.data);
  const auto* y = static_cast<const uint8_t*>(b.data);
  auto* out = static_cast<uint8_t*>(result);
  for (int64_t i = 0; i < count; ++i) {
    const bool p = x[i * a.stride] != 0;
    const bool q = y != nullptr && y[i * b.stride] != 0;
    switch (op) {
      case ScalarOp::logical_and:
        out[i] = p && q;
        break;
      case ScalarOp::logical_or:
        out[i] = p || q;
        break;
      case ScalarOp::logical_xor:
        out[i] = p != q;
        break;
      default:
        out[i] = !p;
        break;
    }
  }
}

template <typename Function>
void each(int64_t count, const BlockOperand& a, void* result, Function function) {
  const auto* x = static_cast<const float*>(a.data);
  auto* y = static_cast<float*>(result);
  for (int64_t i = 0; i < count; ++i) y[i] = function(x[i * a.stride]);
}

void library(ScalarOp op, int64_t count, const BlockOperand& a, void* y) {
  switch (op) {
    case ScalarOp::tan:
      return each(count, a, y, [](float x) { return std::tan(x); });
    case ScalarOp::asin:
      return each(count, a, y, [](float x) { return std::asin(x); });
    case ScalarOp::acos:
      return each(count, a, y, [](float x) { return std::acos(x); });
    case ScalarOp::atan:
      return each(count, a, y, [](float x) { return std::atan(x); });
    case ScalarOp::sinh:
      return each(count, a, y, [](float x) { return std::sinh(x); });
    case ScalarOp::cosh:
      return each(count, a, y, [](float x) { return std::cosh(x); });
    case ScalarOp::asinh:
      return each(count, a, y, [](float x) { return std::asinh(x); });
    case ScalarOp::acosh:
      return each(count, a, y, [](float x) { return std::acosh(x); });
    case ScalarOp::atanh:
      return each(count, a, y, [](float x) { return std::atanh(x); });
    case ScalarOp::truncate:
      return each(count, a, y, [](float x) { return std::trunc(x); });
    default:
      break;
  }
  const auto* x = static_cast<const float*>(a.data);
  auto* flags = static_cast<uint8_t*>(y);
  for (int64_t i = 0; i < count; ++i) {
    flags[i] = op == ScalarOp::is_nan ? std::isnan(x[i * a.stride]) : std::isinf(x[i * a.stride]);
  }
}

template <typename T>
bool has_zero(int64_t count, const BlockOperand& x) {
  const T* const first = static_cast<const T*>(x.data);
  const T* const last = first + (x.stride == 0 ? 1 : count);
  return std::find(first, last, T{0}) != last;
}

/// Which inputs are the same throughout a block, and which are read in the output's own order: bits, those of
/// the first 64.
struct InputKinds {
  uint64_t uniform = 0, identity = 0;
  friend bool operator==(const InputKinds&, const InputKinds&) = default;
};

/// What follows from the program and the kinds of its inputs.
struct MapHabits {
  /// Of an instruction: whether its result is one value, and the strides of operands in registers.
  struct Uniformity {
    bool result = false;
    int64_t strides[3] = {1, 1, 1};
  };
  InputKinds kinds;
  std::vector<Uniformity> uniformity;
  std::vector<int> in_place;
};

class MapKernel final : public Kernel {
 public:
  /// like: the same kernel at other sizes, or null.
  MapKernel(std::shared_ptr<const MapProgram> program, MapSizes sizes,
            std::shared_ptr<const std::string> name, int threads, const MapKernel* like = nullptr)
      : program_(std::move(program)), sizes_(std::move(sizes)), name_(std::move(name)), threads_(threads) {
    count_ = sizes_.extents.count();
    inner_ = sizes_.extents.back();
    const bool uniform_inputs = std::any_of(
        sizes_.walks.begin(), sizes_.walks.end(),
        [](const MapWalk& walk) { return !walk.uniform && !walk.identity && walk.strides.back() == 0; });
    by_rows_ = inner_ >= (uniform_inputs ? shortest_row_with_uniform_inputs : shortest_row) ||
               sizes_.extents.size() == 1;
    find_habits(like);
    out_bytes_ = static_cast<int64_t>(ir::size_of(map_.result));
  }

  void run(const KernelCall& call) const override {
    const int64_t rows = by_rows_ ? count_ / inner_ : 1;
    const int64_t row = by_rows_ ? inner_ : count_;
    const int64_t blocks_per_row = (row + block_elements - 1) / block_elements;
    const int64_t cost = std::max<int64_t>(1, static_cast<int64_t>(map_.code.size()) / 2);
    const int64_t block = std::min(row, block_elements);
    const int64_t grain = std::max<int64_t>(1, parallel_grain_elements / (block * cost));
    call.pool.parallel_for_workers(
        rows * blocks_per_row, grain, [&](int64_t worker, int64_t begin, int64_t end) {
          char* scratch = static_cast<char*>(call.scratch) + static_cast<size_t>(worker) * worker_bytes();
          for (int64_t b = begin; b < end; ++b) {
            const int64_t start = (b % blocks_per_row) * block_elements;
            run_block(call, scratch, b / blocks_per_row, start, std::min(block_elements, row - start));
          }
        });
  }

  std::string describe() const override {
    return fmt::format("map {} ({} instructions)", *name_, map_.code.size());
  }
  size_t scratch_bytes() const override { return worker_bytes() * static_cast<size_t>(threads_); }
  std::vector<int> in_place() const override { return habits_->in_place; }
  double flops() const override { return map_.flops_per_element * static_cast<double>(count_); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    if (!map_.is_open || ports.output(0).count() == 0) return nullptr;
    return make_in_block<MapKernel>(program_, sizes_at(map_, ports), name_, threads_, this);
  }

 private:
  size_t worker_bytes() const { return (map_.registers.size() + map_.inputs.size()) * register_bytes; }

  void run_block(const KernelCall& call, char* scratch, int64_t row, int64_t start, int64_t count) const {
    const int64_t first = by_rows_ ? row * inner_ + start : start;
    // Small programs only: the compiler bounds the number of inputs by the step's ports.
    BlockOperand stack_inputs[16];
    std::vector<BlockOperand> heap_inputs;
    BlockOperand* inputs = stack_inputs;
    if (map_.inputs.size() > 16) {
      heap_inputs.resize(map_.inputs.size());
      inputs = heap_inputs.data();
    }
    for (size_t k = 0; k < map_.inputs.size(); ++k) {
      char* buffer = scratch + (map_.registers.size() + k) * register_bytes;
      inputs[k] = input_block(map_.inputs[k].type, sizes_.walks[k], call.inputs[map_.inputs[k].port], row,
                              start, first, count, buffer);
    }
    const auto operand = [&](const MapOperand& o, int64_t register_stride) -> BlockOperand {
      switch (o.kind) {
        case MapOperand::Kind::reg:
          return {scratch + static_cast<size_t>(o.index) * register_bytes, register_stride};
        case MapOperand::Kind::input:
          return inputs[o.index];
        case MapOperand::Kind::constant:
          return {map_.constants[static_cast<size_t>(o.index)].bytes, 0};
        default:
          return {};
      }
    };
    for (size_t i = 0; i < map_.code.size(); ++i) {
      const MapInstruction& instruction = map_.code[i];
      const MapHabits::Uniformity& known = habits_->uniformity[i];
      void* y = i + 1 == map_.code.size()
                    ? static_cast<char*>(call.outputs[0]) + first * out_bytes_
                    : scratch + static_cast<size_t>(instruction.destination) * register_bytes;
      execute(instruction, known.result ? 1 : count, operand(instruction.a, known.strides[0]),
              operand(instruction.b, known.strides[1]), operand(instruction.c, known.strides[2]), y);
    }
  }

  /// One value for all elements of a block.
  bool is_uniform(size_t input) const {
    const MapWalk& walk = sizes_.walks[input];
    return walk.uniform || (by_rows_ && !walk.identity && walk.strides.back() == 0);
  }

  void find_habits(const MapKernel* like) {
    constexpr size_t most = 64;
    InputKinds kinds;
    for (size_t k = 0; k < map_.inputs.size() && k < most; ++k) {
      if (is_uniform(k)) kinds.uniform |= uint64_t{1} << k;
      if (sizes_.walks[k].identity) kinds.identity |= uint64_t{1} << k;
    }
    if (like != nullptr && map_.inputs.size() <= most && like->habits_->kinds == kinds) {
      habits_ = like->habits_;
      return;
    }
    auto habits = std::make_shared<MapHabits>();
    habits->kinds = kinds;
    find_uniformity(*habits);
    find_in_place(*habits);
    habits_ = std::move(habits);
  }

  void find_in_place(MapHabits& habits) const {
    for (size_t k = 0; k < map_.inputs.size(); ++k) {
      const MapInput& input = map_.inputs[k];
      if (!sizes_.walks[k].identity || ir::size_of(input.type) != ir::size_of(map_.result)) continue;
      bool only_identity = true;
      for (size_t other = 0; other < map_.inputs.size(); ++other)
        only_identity &= map_.inputs[other].port != input.port || sizes_.walks[other].identity;
      if (only_identity) habits.in_place.push_back(input.port);
    }
  }

  /// What is the same for all elements of a block, because it depends on such inputs only, is computed once.
  void find_uniformity(MapHabits& habits) const {
    habits.uniformity.reserve(map_.code.size());
    std::vector<bool> registers(map_.registers.size(), false);
    const auto is_one_value = [&](const MapOperand& operand) {
      const auto at = static_cast<size_t>(operand.index);
      switch (operand.kind) {
        case MapOperand::Kind::reg:
          return static_cast<bool>(registers[at]);
        case MapOperand::Kind::input:
          return is_uniform(at);
        default:
          return true;
      }
    };
    for (size_t i = 0; i < map_.code.size(); ++i) {
      const MapInstruction& instruction = map_.code[i];
      MapHabits::Uniformity known;
      known.result = true;
      const MapOperand* operands[] = {&instruction.a, &instruction.b, &instruction.c};
      for (size_t k = 0; k < 3; ++k) {
        const bool uniform = is_one_value(*operands[k]);
        known.strides[k] = uniform ? 0 : 1;
        known.result = known.result && uniform;
      }
      if (i + 1 == map_.code.size()) {
        known.result = false;  // the output is written in full
      } else {
        registers[static_cast<size_t>(instruction.destination)] = known.result;
      }
      habits.uniformity.push_back(known);
    }
  }

  void execute(const MapInstruction& instruction, int64_t count, const BlockOperand& a, const BlockOperand& b,
               const BlockOperand& c, void* y) const {
    const KernelTable& table = kernel_table();
    switch (instruction.kind) {
      case MapInstruction::Kind::unary:
        if (a.stride == 1) {
          table.unary(static_cast<Unary>(instruction.code), count, static_cast<const float*>(a.data),
                      static_cast<float*>(y), instruction.alpha, instruction.beta);
        } else {
          table.unary(static_cast<Unary>(instruction.code), 1, static_cast<const float*>(a.data),
                      static_cast<float*>(y), instruction.alpha, instruction.beta);
          std::fill_n(static_cast<float*>(y), count, *static_cast<float*>(y));
        }
        return;
      case MapInstruction::Kind::binary:
        table.binary(static_cast<Binary>(instruction.code), number_of(instruction.type), count, a.data,
                     a.stride, b.data, b.stride, y);
        return;
      case MapInstruction::Kind::quotient:
        if (instruction.type == ElementType::i32 ? has_zero<int32_t>(count, b) : has_zero<int64_t>(count, b))
          throw Error(Fault::user, map_.places[static_cast<size_t>(instruction.place)] +
                                       ": an integer is divided by zero");
        table.binary(Binary::divide, number_of(instruction.type), count, a.data, a.stride, b.data, b.stride,
                     y);
        return;
      case MapInstruction::Kind::compare:
        table.compare(static_cast<Comparison>(instruction.code), number_of(instruction.type), count, a.data,
                      a.stride, b.data, b.stride, static_cast<uint8_t*>(y));
        return;
      case MapInstruction::Kind::select:
        table.select(ir::size_of(instruction.result), count, static_cast<const uint8_t*>(a.data), a.stride,
                     b.data, b.stride, c.data, c.stride, y);
        return;
      case MapInstruction::Kind::logical:
        return logical(static_cast<ScalarOp>(instruction.code), count, a, b, y);
      case MapInstruction::Kind::convert:
        return convert(instruction.type, instruction.result, count, a, y);
      case MapInstruction::Kind::library:
        return library(static_cast<ScalarOp>(instruction.code), count, a, y);
    }
  }

  /// Elements first..first+count-1 of an input, in the output's order.
  BlockOperand input_block(ElementType type, const MapWalk& input, const void* data, int64_t row,
                           int64_t start, int64_t first, int64_t count, char* buffer) const {
    const auto element = static_cast<int64_t>(ir::size_of(type));
    const char* bytes = static_cast<const char*>(data);
    if (input.uniform) return {bytes, 0};
    if (input.identity) return {bytes + first * element, 1};
    const int64_t stride = input.strides.back();
    if (by_rows_) {
      const char* at = bytes + (row_offset(input, row) + start * stride) * element;
      if (stride <= 1) return {at, stride};
      gather(at, stride, count, element, buffer);
      return {buffer, 1};
    }
    int64_t done = 0;
    while (done < count) {
      const int64_t position = first + done;
      const int64_t column = position % inner_;
      const int64_t run = std::min(inner_ - column, count - done);
      const char* at = bytes + (row_offset(input, position / inner_) + column * stride) * element;
      if (stride == 1) {
        std::memcpy(buffer + done * element, at, static_cast<size_t>(run * element));
      } else {
        gather(at, stride, run, element, buffer + done * element);
      }
      done += run;
    }
    return {buffer, 1};
  }

  template <typename T>
  static void gather_values(const char* from, int64_t stride, int64_t count, char* to) {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) y[i] = x[i * stride];
  }
  static void gather(const char* from, int64_t stride, int64_t count, int64_t element, char* to) {
    if (element == 1) return gather_values<uint8_t>(from, stride, count, to);
    if (element == 4) return gather_values<uint32_t>(from, stride, count, to);
    gather_values<uint64_t>(from, stride, count, to);
  }

  int64_t row_offset(const MapWalk& input, int64_t row) const {
    int64_t offset = 0;
    for (size_t a = sizes_.extents.size() - 1; a-- > 1;) {
      offset += (row % sizes_.extents[a]) * input.strides[a];
      row /= sizes_.extents[a];
    }
    // Rows of the outermost axis: divisions would take longer than a short row.
    return sizes_.extents.size() == 1 ? offset : offset + row * input.strides[0];
  }

  std::shared_ptr<const MapProgram> program_;
  const MapProgram& map_ = *program_;
  MapSizes sizes_;
  std::shared_ptr<const std::string> name_;
  std::shared_ptr<const MapHabits> habits_;
  int threads_;
  int64_t count_ = 1;
  int64_t inner_ = 1;
  bool by_rows_ = true;
  int64_t out_bytes_ = 4;
};

std::unique_ptr<Kernel> make_map(const StepContext& context) {
  auto map = compile_map(context);
  if (!map) return nullptr;
  std::string name;
  for (const ir::Node* node : context.group) name += (name.empty() ? "" : "+") + node->op;
  return std::make_unique<MapKernel>(std::make_shared<const MapProgram>(std::move(map->program)),
                                     std::move(map->sizes),
                                     std::make_shared<const std::string>(std::move(name)), context.threads);
}

}  // namespace

void map_factories(std::vector<FactoryEntry>& table) { table.push_back({"*", "*", make_map}); }

}  // namespace axrun::runtime
