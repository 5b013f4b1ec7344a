#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What one machine instruction does to its operands, as a tree that can be printed, evaluated (evaluate.h)
/// and unfolded into formulas. The text of a row, e.g.
///
///   vfmadd231ps xy:fma (d:f32 v rw, a:f32 v r, b:f32 v|m r) { d[i] = fma(a[i], b[i], d[i]) }
///
/// names the instruction as asmjit and Zydis do (what follows a dot tells rows of one mnemonic apart), its
/// vector widths with the CPU features that each needs, its operands in Intel's order, flags, and what lane i
/// of the destination is. `print(parse(text)) == text` for every row of the tables.
namespace axrun::ir::isa {

/// What one lane of an operand holds. `bit` is a lane of a mask register.
enum class Lane { bit, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

/// What an expression gives. Integers are mathematical: they never wrap by themselves; a row says
/// wrap_i32(...) or sat_i16(...), and the grammar refuses a lane whose range does not fit. Floats are bit
/// patterns of one format.
enum class Type { integer, boolean, f16, bf16, f32, f64 };

enum class Op {
  constant,   ///< value
  lane,       ///< i, the destination's lane
  lanes,      ///< n, how many lanes the destination has
  variable,   ///< the innermost sum's variable j; `value` counts sums outwards
  immediate,  ///< imm
  read,       ///< operand[index]
  // Integers; also + - on floats (see below).
  add,
  subtract,
  multiply,
  divide,
  modulo,
  shift_left,
  shift_right,
  bit_and,
  bit_or,
  bit_xor,
  complement,
  minimum,
  maximum,
  absolute,
  sum,   ///< sum(count, term): count is a constant
  wrap,  ///< to `to`, modulo 2^bits
  saturate,
  // Conditions. select evaluates only the chosen side: what it does not choose is not accessed either.
  less,
  less_equal,
  equal,
  not_equal,
  unordered,
  logical_and,
  logical_or,
  logical_not,
  select,
  // Floats: IEEE 754, default MXCSR (round to nearest even, denormals kept). NaN results are exact: the first
  // operand that is a NaN, quieted; without one, the default NaN (sign 1, payload 0). Operand order in a tree
  // matters.
  divide_float,
  square_root,
  fma,
  fms,
  fnma,
  fnms,   ///< a*b+c, a*b-c, -(a*b)+c, -(a*b)-c with one rounding; a NaN keeps its sign
  scale,  ///< scale(a, b): a * 2^floor(b) with one rounding. A quiet NaN times 2^infinity is infinity, times
          ///< 2^-infinity 0
  round,  ///< round(x, mode) to an integral value; modes: 0 nearest even, 1 down, 2 up, 3 towards zero
  near,
  truncate,   ///< float to integer type `to`; NaN and out of range: the indefinite value (see indefinite())
  convert,    ///< to float `to`, nearest even: from an integer or another format
  narrow,     ///< narrow_f16(x, mode): f32 to f16, modes as of round
  bits,       ///< the pattern of a float as an unsigned integer
  from_bits,  ///< the inverse, to `to`
  denormal_as_zero,  ///< daz(x): denormals become zero of the same sign
  within,  ///< within(x, m, k): any float of relative error at most m / 2^k to the f64 x; bounded, not a
           ///< function
};

struct Node {
  Op op;
  Type type;
  Lane to{};           ///< of conversions
  bool hexadecimal{};  ///< how a constant is written
  uint64_t value{};    ///< constant, count of a sum, operand of a read, depth of a variable
  std::array<int, 3> arguments{-1, -1, -1};
};

/// An expression; children come before their parents, the last node is the root.
using Tree = std::vector<Node>;

enum class Place {
  vector,      ///< 1/divisor of the row's width, in the low part of a vector register
  low,         ///< a fixed number of bits in the low part of an xmm register
  general,     ///< a general register of `bits`
  mask,        ///< a mask register (k)
  write_mask,  ///< the mask in {k} or {k}{z}: the encoding's, not an operand of its own
  immediate,
};

struct Operand {
  std::string name;
  Lane lane{};
  Place place{};
  int divisor = 1;
  int bits = 0;
  bool may_be_register = true, may_be_memory = false;  ///< memory holds exactly the bits that are used
  bool repeated = false;  ///< memory of one lane, which stands for all: {1toN}. It is read as lane 0
  bool read = false, written = false;
  bool zeroing = false;                ///< write_mask only: {z}
  uint64_t lowest = 0, highest = 255;  ///< immediate only
};

enum class Width { x = 128, y = 256, z = 512 };

struct Form {
  std::string widths;                 ///< letters of "xyz"
  std::vector<std::string> features;  ///< all are needed; names as in /proc/cpuinfo
};

/// How an instruction is encoded; it decides what happens above the destination's bits in its vector
/// register: legacy SSE keeps them, VEX and EVEX zero them.
enum class Encoding { legacy, vex, evex };

struct Row {
  std::string name;
  Encoding encoding{};
  std::vector<Form> forms;
  std::vector<Operand> operands;
  bool maskable = false;  ///< EVEX: exists with {k} and {k}{z} as well (with_mask)
  bool broadcastable = false;  ///< EVEX: the operand in memory may be one lane, repeated (with_broadcast)
  bool guarded =
      false;  ///< memory lanes that the expression does not reach are not accessed: no fault from them
  bool aligned = false;  ///< faults on memory that is not aligned to its size (stated, not tested)
  bool any_nan = false;  ///< where a lane is a NaN, its sign and payload are not known
  std::string variable = "j";
  size_t destination = 0;  ///< the written operand
  Tree result;

  std::string_view mnemonic() const { return std::string_view(name).substr(0, name.find('.')); }
  std::vector<Width> widths() const;
  /// Empty when the row does not have the width.
  std::vector<std::string> features(Width width) const;
  /// -1: there is none.
  int find(Place place) const;
};

/// One target's instructions: the table is data (x86_*.cpp), one row a line; lines that start with # are
/// comments.
struct Table {
  std::string_view name;
  Encoding encoding;
  std::string_view text;
};
const std::vector<Table>& tables();
/// The rows of all tables, parsed and checked once.
const std::vector<Row>& rows();
/// By name and encoding; throws Error(user) when there is none.
const Row& find_row(std::string_view name, Encoding encoding);

/// Throws Error(user) with the place of the fault. Types are checked here, ranges and lanes by check().
Row parse_row(std::string_view text, Encoding encoding);
std::string print_row(const Row& row);
std::string print_tree(const Row& row);

/// Throws Error(user): a lane index out of range, or a lane whose value may not fit, at some width, lane,
/// immediate; operands that do not make sense.
void check(const Row& row);

/// The row with {k} (merging) or {k}{z}; the row must be maskable.
Row with_mask(const Row& row, bool zeroing);

/// The row whose operand in memory is one lane, repeated; the row must be broadcastable.
Row with_broadcast(const Row& row);

int bits_of(Lane lane);
bool is_float(Lane lane);
bool is_signed(Lane lane);
Type type_of(Lane lane);
std::string_view name_of(Lane lane);
std::string_view name_of(Encoding encoding);
/// Bits of the operand that are used at this width; of memory: its size.
int used_bits(const Row& row, const Operand& operand, Width width);
int lane_count(const Row& row, const Operand& operand, Width width);
/// What a conversion to an integer gives for NaN and values out of range: INT_MIN; for unsigned types all
/// ones.
__int128 indefinite(Lane to);

}  // namespace axrun::ir::isa
