#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace axrun::onnx_import {

/// Writes the fields of one message, in the order of the calls.
class WireWriter {
 public:
  void integer(uint32_t number, int64_t value) {
    key(number, 0);
    varint(static_cast<uint64_t>(value));
  }
  void real(uint32_t number, float value) {
    key(number, 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    bytes_.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  void bytes(uint32_t number, std::string_view value) {
    begin_bytes(number, value.size());
    bytes_ += value;
  }
  void message(uint32_t number, const WireWriter& value) { bytes(number, value.bytes_); }
  /// The head of a bytes field; the caller then appends exactly `size` bytes to raw().
  void begin_bytes(uint32_t number, size_t size) {
    key(number, 2);
    varint(size);
  }
  std::string& raw() { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  void key(uint32_t number, uint32_t type) { varint(uint64_t{number} << 3 | type); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace axrun::onnx_import
