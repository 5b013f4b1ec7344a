#include "onnx_import/typed_data.h"

#include <fmt/format.h>

#include <array>

#include "ir/error.h"
#include "onnx_import/packed_bits.h"

namespace axrun::onnx_import {
namespace {

using ir::ElementType;
using ir::Tensor;

struct DataField {
  uint32_t number;
  std::string_view name;
};

constexpr DataField float_data = {4, "float_data"};
constexpr DataField int32_data = {5, "int32_data"};
constexpr DataField string_data = {6, "string_data"};
constexpr DataField int64_data = {7, "int64_data"};
constexpr DataField double_data = {10, "double_data"};
constexpr DataField uint64_data = {11, "uint64_data"};
constexpr std::array<DataField, 6> data_fields = {float_data, int32_data,  string_data,
                                                  int64_data, double_data, uint64_data};

/// The field that ONNX gives to an element type.
DataField field_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return float_data;
    case ElementType::f64:
      return double_data;
    case ElementType::i64:
      return int64_data;
    case ElementType::u32:
    case ElementType::u64:
      return uint64_data;
    case ElementType::string:
      return string_data;
    default:
      return int32_data;
  }
}

/// Reads the elements of one tensor, in order.
class ElementReader {
 public:
  ElementReader(const TensorMessage& message, const ElementCode& code, int64_t count, const Origin& what)
      : message_(message), code_(code), count_(count), what_(what) {}

  Tensor read() {
    // Every element takes at least two bits, so that what is allocated stays in proportion to the file.
    if (static_cast<uint64_t>(count_) > 4 * message_.bytes.size()) fail_count("fewer");
    tensor_ = Tensor::allocate_uninitialized(code_.type, message_.dims);
    const DataField expected = field_of(code_.type);
    WireReader reader(message_.bytes, "TensorProto");
    for (WireField field; reader.next(field);) {
      if (field.number == expected.number) {
        read_field(field);
      } else {
        refuse_other(field);
      }
    }
    if (position_ != count_) fail_count("fewer");
    return std::move(tensor_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(Fault::model, what_.text() + ": " + why);
  }
  [[noreturn]] void fail_count(const char* relation) const {
    fail(fmt::format("has {} than the {} elements of its shape", relation, count_));
  }

  void refuse_other(const WireField& field) const {
    for (const DataField& other : data_fields) {
      if (other.number == field.number && !(field.type == WireType::bytes && field.bytes.empty())) {
        fail(fmt::format("has its {} elements in {}", code_.name, other.name));
      }
    }
  }

  template <typename T>
  void put(T value) {
    if (position_ == count_) fail_count("more");
    tensor_.as<T>()[position_++] = value;
  }

  void read_field(const WireField& field) {
    switch (code_.type) {
      case ElementType::f32:
        return for_each_fixed<float>(field, [&](float value) { put(value); });
      case ElementType::f64:
        return for_each_fixed<double>(field, [&](double value) { put(value); });
      case ElementType::string:
        if (position_ == count_) fail_count("more");
        tensor_.strings()[position_++] = field.as_bytes();
        return;
      case ElementType::i64:
        return for_each_integer(field, [&](int64_t value) { put(value); });
      case ElementType::u64:
        return for_each_integer(field, [&](int64_t value) { put(static_cast<uint64_t>(value)); });
      case ElementType::i2:
      case ElementType::u2:
      case ElementType::i4:
      case ElementType::u4:
      case ElementType::f4e2m1:
        return for_each_integer(field, [&](int64_t value) { put_packed(narrow<uint8_t>(value)); });
      case ElementType::f6e2m3:
      case ElementType::f6e3m2:
        return for_each_integer(field, [&](int64_t value) {
          if (value < 0 || value > 63)
            fail(fmt::format("the element {} does not fit into {}", value, code_.name));
          put(static_cast<uint8_t>(value));
        });
      case ElementType::boolean:
        return for_each_integer(field, [&](int64_t value) { put<uint8_t>(value != 0); });
      default:
        break;
    }
    switch (ir::size_of(code_.type)) {
      case 1:
        return for_each_integer(field, [&](int64_t value) { put(narrow<uint8_t>(value)); });
      case 2:
        return for_each_integer(field, [&](int64_t value) { put(narrow<uint16_t>(value)); });
      default:
        return for_each_integer(field, [&](int64_t value) { put(narrow<uint32_t>(value)); });
    }
  }

  /// The bits of a value that fits, signed or unsigned: writers differ in which of the two they store.
  template <typename T>
  T narrow(int64_t value) const {
    constexpr int bits = 8 * sizeof(T);
    if (value < -(int64_t{1} << (bits - 1)) || value >= int64_t{1} << bits) {
      fail(fmt::format("the element {} does not fit into {}", value, code_.name));
    }
    return static_cast<T>(value);
  }

  /// The elements of one byte; what follows the last one is padding.
  void put_packed(uint8_t byte) {
    const char bytes = static_cast<char>(byte);
    for (int64_t k = 0; k < 8 / ir::bits_of(code_.type) && (k == 0 || position_ != count_); ++k) {
      put(unpacked(code_.type, std::string_view(&bytes, 1), k));
    }
  }

  const TensorMessage& message_;
  const ElementCode& code_;
  const int64_t count_;
  const Origin& what_;
  Tensor tensor_;
  int64_t position_ = 0;
};

}  // namespace

Tensor typed_data(const TensorMessage& message, const ElementCode& code, int64_t count, const Origin& what) {
  return ElementReader(message, code, count, what).read();
}

}  // namespace axrun::onnx_import
