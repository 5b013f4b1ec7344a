// TypeProto: the one message that is read as a tree, because types are small and looked at as a whole.
#include "onnx_import/messages.h"

namespace axrun::onnx_import {
namespace {

constexpr int nesting_limit = 64;

class TypeReader {
 public:
  explicit TypeReader(UnknownFields& unknown) : unknown_(unknown) {}

  TypeMessage type(std::string_view bytes, int nesting) {
    if (nesting > nesting_limit) throw WireError{bytes.data(), "a type is nested too deeply"};
    TypeMessage type;
    WireReader reader(bytes, "TypeProto");
    for (WireField field; reader.next(field);) {
      const TypeMessage::Kind kind = kind_of(field.number);
      if (kind == TypeMessage::Kind::none) {
        if (field.number != 6) note(field);  // 6: denotation
        continue;
      }
      // A oneof: the last alternative in the file is the one that counts.
      type = TypeMessage();
      type.kind = kind;
      switch (kind) {
        case TypeMessage::Kind::tensor:
        case TypeMessage::Kind::sparse_tensor:
          read_tensor(field.as_bytes(), type);
          break;
        case TypeMessage::Kind::opaque:
          break;
        default:
          read_container(field.as_bytes(), type, nesting);
      }
    }
    return type;
  }

 private:
  static TypeMessage::Kind kind_of(uint32_t field_number) {
    switch (field_number) {
      case 1:
        return TypeMessage::Kind::tensor;
      case 4:
        return TypeMessage::Kind::sequence;
      case 5:
        return TypeMessage::Kind::map;
      case 7:
        return TypeMessage::Kind::opaque;
      case 8:
        return TypeMessage::Kind::sparse_tensor;
      case 9:
        return TypeMessage::Kind::optional;
      default:
        return TypeMessage::Kind::none;
    }
  }

  void note(const WireField& field) { unknown_.emplace(field.message, field.number); }

  /// TypeProto.Tensor and TypeProto.SparseTensor.
  void read_tensor(std::string_view bytes, TypeMessage& type) {
    WireReader reader(bytes, "TypeProto.Tensor");
    for (WireField field; reader.next(field);) {
      if (field.number == 1) {
        type.element = field.as_int32();
      } else if (field.number == 2) {
        type.has_shape = true;
        read_shape(field.as_bytes(), type);
      } else {
        note(field);
      }
    }
  }

  void read_shape(std::string_view bytes, TypeMessage& type) {
    WireReader reader(bytes, "TensorShapeProto");
    for (WireField field; reader.next(field);) {
      if (field.number == 1) {
        type.dims.push_back(dimension(field.as_bytes()));
      } else {
        note(field);
      }
    }
  }

  DimensionMessage dimension(std::string_view bytes) {
    DimensionMessage dimension;
    WireReader reader(bytes, "TensorShapeProto.Dimension");
    for (WireField field; reader.next(field);) {
      if (field.number == 1) {
        dimension.value = field.as_int64();
      } else if (field.number == 2) {
        dimension.name = field.as_bytes();
      } else if (field.number != 3) {  // denotation
        note(field);
      }
    }
    return dimension;
  }

  /// TypeProto.Sequence and TypeProto.Optional hold their element; TypeProto.Map a key and a value.
  void read_container(std::string_view bytes, TypeMessage& type, int nesting) {
    const bool is_map = type.kind == TypeMessage::Kind::map;
    WireReader reader(bytes, is_map ? "TypeProto.Map" : "TypeProto.Sequence");
    for (WireField field; reader.next(field);) {
      if (is_map && field.number == 1) {
        type.element = field.as_int32();
      } else if (field.number == (is_map ? 2u : 1u)) {
        type.inner = std::make_unique<TypeMessage>(this->type(field.as_bytes(), nesting + 1));
      } else {
        note(field);
      }
    }
  }

  UnknownFields& unknown_;
};

}  // namespace

TypeMessage read_type(std::string_view bytes, UnknownFields& unknown) {
  return TypeReader(unknown).type(bytes, 0);
}

}  // namespace axrun::onnx_import
