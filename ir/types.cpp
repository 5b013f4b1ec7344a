#include "ir/types.h"

#include <array>
#include <limits>

#include "ir/error.h"

namespace axrun::ir {
namespace {

enum class Family : uint8_t { none, floating, signed_integer, unsigned_integer, boolean, text };

struct TypeFacts {
  std::string_view name;
  Family family;
  uint8_t bytes;
  uint8_t bits;
};

// Indexed by ElementType.
constexpr std::array<TypeFacts, 27> type_facts = {{
    {"undefined", Family::none, 0, 0},        {"f16", Family::floating, 2, 16},
    {"bf16", Family::floating, 2, 16},        {"f32", Family::floating, 4, 32},
    {"f64", Family::floating, 8, 64},         {"f8e4m3fn", Family::floating, 1, 8},
    {"f8e4m3fnuz", Family::floating, 1, 8},   {"f8e5m2", Family::floating, 1, 8},
    {"f8e5m2fnuz", Family::floating, 1, 8},   {"i4", Family::signed_integer, 1, 4},
    {"i8", Family::signed_integer, 1, 8},     {"i16", Family::signed_integer, 2, 16},
    {"i32", Family::signed_integer, 4, 32},   {"i64", Family::signed_integer, 8, 64},
    {"u4", Family::unsigned_integer, 1, 4},   {"u8", Family::unsigned_integer, 1, 8},
    {"u16", Family::unsigned_integer, 2, 16}, {"u32", Family::unsigned_integer, 4, 32},
    {"u64", Family::unsigned_integer, 8, 64}, {"bool", Family::boolean, 1, 8},
    {"string", Family::text, 0, 0},           {"f8e8m0", Family::floating, 1, 8},
    {"f4e2m1", Family::floating, 1, 4},       {"f6e2m3", Family::floating, 1, 6},
    {"f6e3m2", Family::floating, 1, 6},       {"i2", Family::signed_integer, 1, 2},
    {"u2", Family::unsigned_integer, 1, 2},
}};
static_assert(type_facts.size() == static_cast<size_t>(ElementType::u2) + 1);

const TypeFacts& facts(ElementType type) {
  const size_t index = static_cast<size_t>(type);
  AXRUN_ASSERT(index < type_facts.size());
  return type_facts[index];
}

constexpr double two_to_63 = 9223372036854775808.0;

}  // namespace

size_t size_of(ElementType type) { return facts(type).bytes; }
int bits_of(ElementType type) { return facts(type).bits; }
bool is_float(ElementType type) { return facts(type).family == Family::floating; }
bool is_signed_integer(ElementType type) { return facts(type).family == Family::signed_integer; }
bool is_unsigned_integer(ElementType type) { return facts(type).family == Family::unsigned_integer; }
bool is_integer(ElementType type) { return is_signed_integer(type) || is_unsigned_integer(type); }

int64_t integer_min(ElementType type) {
  AXRUN_ASSERT(is_integer(type));
  if (is_unsigned_integer(type)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - bits_of(type));
}

int64_t integer_max(ElementType type) {
  AXRUN_ASSERT(is_integer(type));
  const int value_bits = is_signed_integer(type) ? bits_of(type) - 1 : bits_of(type);
  return std::numeric_limits<int64_t>::max() >> (63 - (value_bits < 63 ? value_bits : 63));
}

std::string_view name_of(ElementType type) { return facts(type).name; }

std::optional<ElementType> parse_element_type(std::string_view name) {
  for (size_t index = 0; index < type_facts.size(); ++index) {
    if (type_facts[index].name == name) return static_cast<ElementType>(index);
  }
  return std::nullopt;
}

double round_to(ElementType type, double value) {
  switch (type) {
    case ElementType::f64:
      return value;
    case ElementType::f32:
      return static_cast<double>(static_cast<float>(value));
    case ElementType::f16:
      return f16_to_double(f16_from_double(value));
    case ElementType::bf16:
      return bf16_to_double(bf16_from_double(value));
    case ElementType::f8e4m3fn:
    case ElementType::f8e4m3fnuz:
    case ElementType::f8e5m2:
    case ElementType::f8e5m2fnuz:
    case ElementType::f8e8m0:
    case ElementType::f4e2m1:
    case ElementType::f6e2m3:
    case ElementType::f6e3m2:
      return f8_to_double(type, f8_from_double(type, value, /*saturate=*/true));
    case ElementType::boolean:
      return value != 0 ? 1 : 0;
    case ElementType::u64:
      return static_cast<double>(static_cast<uint64_t>(integer_from_real(type, value)));
    default:
      return static_cast<double>(integer_from_real(type, value));
  }
}

int64_t wrap_to(ElementType type, int64_t value) {
  if (type == ElementType::boolean) return value != 0 ? 1 : 0;
  AXRUN_ASSERT(is_integer(type));
  const int spare = 64 - bits_of(type);
  const uint64_t raised = static_cast<uint64_t>(value) << spare;
  if (is_signed_integer(type)) return static_cast<int64_t>(raised) >> spare;
  return static_cast<int64_t>(raised >> spare);
}

int64_t integer_from_real(ElementType type, double value) {
  if (type == ElementType::boolean) return value != 0 ? 1 : 0;
  AXRUN_ASSERT(is_integer(type));
  if (value != value) return 0;
  if (type == ElementType::u64) {
    if (value <= 0) return 0;
    if (value >= 2 * two_to_63) return -1;
    return static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  const int64_t low = integer_min(type);
  const int64_t high = integer_max(type);
  // The bounds of i64 are compared as powers of two: INT64_MAX itself is not a double.
  if (value <= static_cast<double>(low)) return low;
  if (value >= (type == ElementType::i64 ? two_to_63 : static_cast<double>(high))) return high;
  return static_cast<int64_t>(value);
}

}  // namespace axrun::ir
