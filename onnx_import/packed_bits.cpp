#include "onnx_import/packed_bits.h"

namespace axrun::onnx_import {

int64_t packed_bytes(ir::ElementType type, int64_t count) {
  if (!is_packed(type)) return count * static_cast<int64_t>(ir::size_of(type));
  const int64_t bits = ir::bits_of(type);
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

uint8_t unpacked(ir::ElementType type, std::string_view bytes, int64_t position) {
  const int bits = ir::bits_of(type);
  const auto first = static_cast<uint64_t>(position) * static_cast<uint64_t>(bits);
  const auto at = static_cast<size_t>(first / 8);
  unsigned window = static_cast<uint8_t>(bytes[at]);
  if (at + 1 < bytes.size()) window |= static_cast<unsigned>(static_cast<uint8_t>(bytes[at + 1])) << 8;
  const auto element = static_cast<int64_t>(window >> (first % 8) & ((1U << bits) - 1));
  return static_cast<uint8_t>(ir::is_signed_integer(type) ? ir::wrap_to(type, element) : element);
}

std::string packed(const ir::Tensor& tensor) {
  const int bits = ir::bits_of(tensor.type());
  std::string bytes(static_cast<size_t>(packed_bytes(tensor.type(), tensor.size())), '\0');
  const auto* elements = tensor.as<uint8_t>();
  for (int64_t position = 0; position < tensor.size(); ++position) {
    const auto first = static_cast<uint64_t>(position) * static_cast<uint64_t>(bits);
    const auto at = static_cast<size_t>(first / 8);
    const unsigned element = (elements[position] & ((1U << bits) - 1)) << (first % 8);
    bytes[at] = static_cast<char>(static_cast<uint8_t>(bytes[at]) | (element & 255));
    if (element > 255) bytes[at + 1] = static_cast<char>(element >> 8);
  }
  return bytes;
}

}  // namespace axrun::onnx_import
