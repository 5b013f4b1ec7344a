#include "perf/host/tensor.h"

#include <algorithm>
#include <new>

namespace axrun::perf {

int bits_of(Type type) {
  switch (type) {
    case Type::uint4:
    case Type::int4:
      return 4;
    case Type::uint8:
    case Type::int8:
    case Type::boolean:
    case Type::float8e4m3fn:
    case Type::float8e4m3fnuz:
    case Type::float8e5m2:
    case Type::float8e5m2fnuz:
      return 8;
    case Type::uint16:
    case Type::int16:
    case Type::float16:
    case Type::bfloat16:
      return 16;
    case Type::float32:
    case Type::int32:
    case Type::uint32:
      return 32;
    case Type::float64:
    case Type::int64:
    case Type::uint64:
    case Type::complex64:
      return 64;
    case Type::complex128:
      return 128;
    case Type::string:
    case Type::undefined:
      return 0;
  }
  return 0;
}

std::string_view name_of(Type type) {
  static constexpr std::string_view names[] = {
      "undefined", "f32",      "u8",         "i8",     "u16",        "i16", "i32", "i64",
      "string",    "bool",     "f16",        "f64",    "u32",        "u64", "c64", "complex128",
      "bf16",      "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4",  "i4"};
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(names) ? names[index] : "undefined";
}

Buffer::Buffer(std::size_t size) : size_(size) {
  // aligned_alloc asks for a multiple of the alignment.
  const std::size_t rounded = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  bytes_.reset(static_cast<std::byte*>(rounded < size ? nullptr : std::aligned_alloc(alignment, rounded)));
  if (!bytes_) throw std::bad_alloc();
}

std::size_t element_count(const std::vector<std::int64_t>& shape) {
  // Small enough that no element type overflows the byte count.
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0) throw HostError(HostError::user, "a dim of " + std::to_string(dim) + " is out of range");
    if (__builtin_mul_overflow(count, dim, &count) || count > most) {
      throw HostError(HostError::user, "the shape has too many elements");
    }
  }
  return static_cast<std::size_t>(count);
}

Tensor make_tensor(std::string name, Type type, std::vector<std::int64_t> shape) {
  Tensor tensor;
  const std::size_t count = element_count(shape);
  if (type == Type::string) {
    tensor.strings.resize(count);
  } else if (bits_of(type) == 0) {
    throw HostError(HostError::user, "'" + name + "' has an element type that is not supported here");
  } else {
    tensor.bytes = Buffer((count * static_cast<std::size_t>(bits_of(type)) + 7) / 8);
  }
  tensor.name = std::move(name);
  tensor.type = type;
  tensor.shape = std::move(shape);
  return tensor;
}

}  // namespace axrun::perf
