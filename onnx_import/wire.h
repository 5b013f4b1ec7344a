#pragma once

// Protocol Buffers' wire format, read in place. A message is a string_view of the file; reading a field
// yields a number or another string_view, nothing is copied.
// https://protobuf.dev/programming-guides/encoding/

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace axrun::onnx_import {

static_assert(std::endian::native == std::endian::little, "the wire format is read in place");

/// A damaged message. `at` points into the bytes being read; the entry points turn it into an offset.
struct WireError {
  const char* at;
  std::string what;
};

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;      ///< varint, fixed32, fixed64
  std::string_view bytes;  ///< type bytes

  // The field as a type of its message's declaration. Throws WireError when the file holds another one.
  int64_t as_int64() const;
  int32_t as_int32() const { return static_cast<int32_t>(as_int64()); }
  float as_float() const;
  std::string_view as_bytes() const;

  const char* at = nullptr;  ///< the field's first byte
  const char* message = "";  ///< name of the message it belongs to
};

/// Walks over the fields of one message.
class WireReader {
 public:
  /// `message` is the message's name for errors; it must outlive the reader.
  WireReader(std::string_view bytes, const char* message)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), message_(message) {}

  /// False at the end. Throws WireError for a field that does not fit into the message, a varint of more than
  /// 10 bytes, or a wire type that ONNX does not use.
  bool next(WireField& field);

 private:
  uint64_t varint();
  const char* at_;
  const char* end_;
  const char* message_;
};

/// Appends the elements of one occurrence of a repeated number, packed or not.
void append_int64(const WireField& field, std::vector<int64_t>& values);
void append_float(const WireField& field, std::vector<float>& values);

/// Calls sink(int64_t) for each varint of one occurrence of a repeated integer, packed or not.
template <typename Sink>
void for_each_integer(const WireField& field, Sink&& sink);
/// Calls sink(Fixed) for each element of a repeated float or double.
template <typename Fixed, typename Sink>
void for_each_fixed(const WireField& field, Sink&& sink);

/// Reads one varint, moving `at`. Throws WireError.
uint64_t read_varint(const char*& at, const char* end, const char* message);
[[noreturn]] void throw_wrong_wire_type(const WireField& field);

// Implementation
// ---------------------------------------------------------------------------------------------------------

template <typename Sink>
void for_each_integer(const WireField& field, Sink&& sink) {
  if (field.type != WireType::bytes) return sink(field.as_int64());
  const char* at = field.bytes.data();
  const char* end = at + field.bytes.size();
  while (at != end) sink(static_cast<int64_t>(read_varint(at, end, field.message)));
}

template <typename Fixed, typename Sink>
void for_each_fixed(const WireField& field, Sink&& sink) {
  using Bits = std::conditional_t<sizeof(Fixed) == 4, uint32_t, uint64_t>;
  if (field.type == (sizeof(Fixed) == 4 ? WireType::fixed32 : WireType::fixed64)) {
    return sink(std::bit_cast<Fixed>(static_cast<Bits>(field.value)));
  }
  if (field.type != WireType::bytes || field.bytes.size() % sizeof(Fixed) != 0) throw_wrong_wire_type(field);
  for (size_t position = 0; position < field.bytes.size(); position += sizeof(Fixed)) {
    Fixed value;
    std::memcpy(&value, field.bytes.data() + position, sizeof(Fixed));
    sink(value);
  }
}

}  // namespace axrun::onnx_import
