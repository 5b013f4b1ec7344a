#include "perf/axrun_values.h"

#include <cstring>
#include <utility>

namespace axrun::perf {
namespace {

/// perf's element types and axrun's, both ways. Types of either side that the other lacks are left out.
constexpr std::pair<Type, ir::ElementType> types[] = {
    {Type::float32, ir::ElementType::f32},
    {Type::uint8, ir::ElementType::u8},
    {Type::int8, ir::ElementType::i8},
    {Type::uint16, ir::ElementType::u16},
    {Type::int16, ir::ElementType::i16},
    {Type::int32, ir::ElementType::i32},
    {Type::int64, ir::ElementType::i64},
    {Type::string, ir::ElementType::string},
    {Type::boolean, ir::ElementType::boolean},
    {Type::float16, ir::ElementType::f16},
    {Type::float64, ir::ElementType::f64},
    {Type::uint32, ir::ElementType::u32},
    {Type::uint64, ir::ElementType::u64},
    {Type::bfloat16, ir::ElementType::bf16},
    {Type::float8e4m3fn, ir::ElementType::f8e4m3fn},
    {Type::float8e4m3fnuz, ir::ElementType::f8e4m3fnuz},
    {Type::float8e5m2, ir::ElementType::f8e5m2},
    {Type::float8e5m2fnuz, ir::ElementType::f8e5m2fnuz},
    {Type::uint4, ir::ElementType::u4},
    {Type::int4, ir::ElementType::i4},
};

Type type_of(ir::ElementType type) {
  for (const auto& [outside, inside] : types) {
    if (inside == type) return outside;
  }
  return Type::undefined;
}

ir::ElementType type_of(Type type) {
  for (const auto& [outside, inside] : types) {
    if (outside == type) return inside;
  }
  return ir::ElementType::undefined;
}

}  // namespace

std::vector<InputDeclaration> declarations_of(const runtime::Session& session) {
  std::vector<InputDeclaration> declarations;
  for (const runtime::Port& port : session.inputs()) {
    if (port.kind != ir::ValueKind::tensor || !port.dims) {
      throw HostError(HostError::model, "input '" + port.name + "' is not a tensor of known rank");
    }
    InputDeclaration declaration{port.name, type_of(port.type), {}, {}};
    for (const ir::Dim& dim : *port.dims) {
      declaration.shape.push_back(dim.constant().value_or(-1));
      declaration.dim_names.push_back(dim.is_constant() ? "" : dim.to_string());
    }
    declarations.push_back(std::move(declaration));
  }
  return declarations;
}

ir::Tensor to_axrun(const Tensor& tensor) {
  const ir::ElementType type = type_of(tensor.type);
  if (tensor.type == Type::string) return ir::Tensor::from_strings(tensor.shape, tensor.strings);
  if (ir::bits_of(type) != 4) return ir::Tensor::borrow(type, tensor.shape, tensor.bytes.data());
  ir::Tensor unpacked = ir::Tensor::allocate(type, tensor.shape);
  for (int64_t k = 0; k < unpacked.size(); ++k) {
    const auto pair = static_cast<uint8_t>(tensor.bytes.data()[k / 2]);
    const int nibble = k % 2 == 0 ? pair & 15 : pair >> 4;
    unpacked.set_int(k, type == ir::ElementType::i4 && nibble >= 8 ? nibble - 16 : nibble);
  }
  return unpacked;
}

Tensor to_host(const std::string& name, const ir::Tensor& tensor) {
  Tensor result = make_tensor(name, type_of(tensor.type()), tensor.shape());
  if (tensor.type() == ir::ElementType::string) {
    result.strings.assign(tensor.strings(), tensor.strings() + tensor.size());
  } else if (ir::bits_of(tensor.type()) == 4) {
    std::memset(result.bytes.data(), 0, result.bytes.size());
    for (int64_t k = 0; k < tensor.size(); ++k) {
      const auto nibble = static_cast<uint8_t>(tensor.get_int(k) & 15);
      result.bytes.data()[k / 2] |= static_cast<std::byte>(k % 2 == 0 ? nibble : nibble << 4);
    }
  } else if (tensor.bytes() > 0) {
    std::memcpy(result.bytes.data(), tensor.data(), tensor.bytes());
  }
  return result;
}

HostError translated_error(const Error& error) {
  constexpr int internal_error = 70;
  const bool of_model = error.fault() == Fault::model || error.fault() == Fault::unsupported;
  return {error.fault() == Fault::user ? HostError::user
          : of_model                   ? HostError::model
                                       : internal_error,
          error.what()};
}

}  // namespace axrun::perf
