#include "onnx_import/wire.h"

#include <fmt/format.h>

namespace axrun::onnx_import {

uint64_t read_varint(const char*& at, const char* end, const char* message) {
  const char* start = at;
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at == end) throw WireError{start, fmt::format("a number in {} is cut off", message)};
    const auto byte = static_cast<uint8_t>(*at++);
    value |= shift < 64 ? static_cast<uint64_t>(byte & 0x7F) << shift : 0;
    if (byte < 0x80) return value;
  }
  throw WireError{start, fmt::format("a number in {} has more than 10 bytes", message)};
}

bool WireReader::next(WireField& field) {
  if (at_ == end_) return false;
  field.at = at_;
  field.message = message_;
  const uint64_t key = read_varint(at_, end_, message_);
  const uint64_t number = key >> 3;
  if (number == 0 || number >= (uint64_t{1} << 29)) {
    throw WireError{field.at, fmt::format("{} has a field of number {}", message_, number)};
  }
  field.number = static_cast<uint32_t>(number);
  field.value = 0;
  field.bytes = {};
  const auto left = [this] { return static_cast<uint64_t>(end_ - at_); };
  const auto fixed = [&](size_t size) {
    if (left() < size) throw WireError{field.at, fmt::format("field {} of {} is cut off", number, message_)};
    std::memcpy(&field.value, at_, size);
    at_ += size;
  };
  switch (key & 7) {
    case 0:
      field.type = WireType::varint;
      field.value = read_varint(at_, end_, message_);
      return true;
    case 1:
      field.type = WireType::fixed64;
      fixed(8);
      return true;
    case 2: {
      field.type = WireType::bytes;
      const uint64_t size = read_varint(at_, end_, message_);
      if (size > left()) {
        throw WireError{field.at, fmt::format("field {} of {} has {} bytes where {} are left", number,
                                              message_, size, left())};
      }
      field.bytes = std::string_view(at_, size);
      at_ += size;
      return true;
    }
    case 5:
      field.type = WireType::fixed32;
      fixed(4);
      return true;
    default:
      throw WireError{field.at, fmt::format("field {} of {} has wire type {}", number, message_, key & 7)};
  }
}

void throw_wrong_wire_type(const WireField& field) {
  throw WireError{field.at, fmt::format("field {} of {} does not have the type that ONNX gives it",
                                        field.number, field.message)};
}

int64_t WireField::as_int64() const {
  if (type != WireType::varint) throw_wrong_wire_type(*this);
  return static_cast<int64_t>(value);
}

float WireField::as_float() const {
  if (type != WireType::fixed32) throw_wrong_wire_type(*this);
  return std::bit_cast<float>(static_cast<uint32_t>(value));
}

std::string_view WireField::as_bytes() const {
  if (type != WireType::bytes) throw_wrong_wire_type(*this);
  return bytes;
}

void append_int64(const WireField& field, std::vector<int64_t>& values) {
  for_each_integer(field, [&](int64_t value) { values.push_back(value); });
}

void append_float(const WireField& field, std::vector<float>& values) {
  for_each_fixed<float>(field, [&](float value) { values.push_back(value); });
}

}  // namespace axrun::onnx_import
