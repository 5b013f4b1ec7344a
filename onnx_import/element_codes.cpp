#include "onnx_import/element_codes.h"

#include <algorithm>
#include <array>

#include "ir/error.h"

namespace axrun::onnx_import {
namespace {

using ir::ElementType;

constexpr std::array<ElementCode, 28> table = {{
    {1, ElementType::f32, "float"},
    {2, ElementType::u8, "uint8"},
    {3, ElementType::i8, "int8"},
    {4, ElementType::u16, "uint16"},
    {5, ElementType::i16, "int16"},
    {6, ElementType::i32, "int32"},
    {7, ElementType::i64, "int64"},
    {8, ElementType::string, "string"},
    {9, ElementType::boolean, "bool"},
    {10, ElementType::f16, "float16"},
    {11, ElementType::f64, "double"},
    {12, ElementType::u32, "uint32"},
    {13, ElementType::u64, "uint64"},
    {14, ElementType::undefined, "complex64"},
    {15, ElementType::undefined, "complex128"},
    {16, ElementType::bf16, "bfloat16"},
    {17, ElementType::f8e4m3fn, "float8e4m3fn"},
    {18, ElementType::f8e4m3fnuz, "float8e4m3fnuz"},
    {19, ElementType::f8e5m2, "float8e5m2"},
    {20, ElementType::f8e5m2fnuz, "float8e5m2fnuz"},
    {21, ElementType::u4, "uint4"},
    {22, ElementType::i4, "int4"},
    {23, ElementType::f4e2m1, "float4e2m1"},
    {24, ElementType::f8e8m0, "float8e8m0"},
    {25, ElementType::u2, "uint2"},
    {26, ElementType::i2, "int2"},
    {27, ElementType::f6e2m3, "float6e2m3"},
    {28, ElementType::f6e3m2, "float6e3m2"},
}};

}  // namespace

const ElementCode* find_element_code(int64_t code) {
  return code >= 1 && code <= static_cast<int64_t>(table.size()) ? &table[static_cast<size_t>(code) - 1]
                                                                 : nullptr;
}

const ElementCode* find_element_code(std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

int32_t element_code_of(ir::ElementType type) {
  AXRUN_ASSERT(type != ElementType::undefined);
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.type == type; });
  AXRUN_ASSERT(found != table.end());
  return found->code;
}

}  // namespace axrun::onnx_import
