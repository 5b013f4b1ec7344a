// The values that a host program feeds to a model and takes from it.
//
// Host programs share these few files instead of the library's own tensor type, so that the one that runs
// ONNX Runtime contains nothing of axrun: its start-up time and its memory are ONNX Runtime's alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace axrun::perf {

/// What ends a host program: a message for people and the exit code that axrun documents for it.
struct HostError : std::runtime_error {
  static constexpr int user = 1;   ///< command line, missing file, inputs that do not fit
  static constexpr int model = 2;  ///< the model is damaged, invalid or not supported by the engine
  HostError(int code, const std::string& text) : std::runtime_error(text), exit_code(code) {}
  int exit_code;
};

/// ONNX's TensorProto.DataType, whose numbers ONNX Runtime shares for these types.
enum class Type : int {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
};

/// Bits of one element as it is packed in memory; 0 for strings and for types not listed above.
int bits_of(Type type);
std::string_view name_of(Type type);

/// Memory aligned for any vector instruction, not initialised; never null, so that an empty tensor has an
/// address too.
class Buffer {
 public:
  static constexpr std::size_t alignment = 64;

  Buffer() : Buffer(0) {}
  explicit Buffer(std::size_t size);
  std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_;
};

/// A dense tensor in row-major order, little endian; strings are in `strings`, everything else in `bytes`.
struct Tensor {
  std::string name;
  Type type = Type::undefined;
  std::vector<std::int64_t> shape;
  Buffer bytes;
  std::vector<std::string> strings;
};

/// Number of elements; throws HostError when a dim is negative or the product overflows.
std::size_t element_count(const std::vector<std::int64_t>& shape);

/// A tensor of this type and shape whose bytes are not set yet.
Tensor make_tensor(std::string name, Type type, std::vector<std::int64_t> shape);

/// An input as the model declares it: -1 is a dim known by its name only ("" when it has none).
struct InputDeclaration {
  std::string name;
  Type type = Type::undefined;
  std::vector<std::int64_t> shape;
  std::vector<std::string> dim_names;
};

}  // namespace axrun::perf
