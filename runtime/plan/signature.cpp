#include "runtime/plan/signature.h"

#include <cstdint>
#include <cstring>

#include "ir/bytes.h"
#include "ir/error.h"

namespace axrun::runtime {
namespace {

/// In place of the rank of a tensor that is not there.
constexpr uint8_t no_tensor = 0xff;

constexpr size_t longest_content = size_t{1} << 20;

ir::Tensor read_content(ByteReader& in, ir::ElementType type, const ir::Shape& shape) {
  const std::string_view bytes = in.text(longest_content);
  // What is not there in full is not allocated: the shape may be anything.
  const bool there = static_cast<uint64_t>(ir::element_count(shape)) <= bytes.size();
  if (type == ir::ElementType::string || !there) in.fail();
  if (in.failed()) return {};
  ir::Tensor tensor = ir::Tensor::allocate_uninitialized(type, shape);
  if (tensor.bytes() != bytes.size()) {
    in.fail();
  } else if (!bytes.empty()) {
    std::memcpy(tensor.data(), bytes.data(), bytes.size());
  }
  return tensor;
}

Signature read_one(ByteReader& in) {
  Signature one;
  one.kind = in.get<ir::ValueKind>();
  const auto type = in.get<ir::ElementType>();
  const auto rank = in.get<uint8_t>();
  if (one.kind > ir::ValueKind::map) in.fail();
  if (in.failed() || rank == no_tensor) return one;
  ir::Shape shape(rank);
  for (int64_t& extent : shape) extent = in.get<int64_t>();
  const bool with_content = in.get<bool>();
  const bool known = type != ir::ElementType::undefined && type <= ir::ElementType::u2;  // the last one
  if (!known) in.fail();
  if (in.failed()) return one;
  ir::element_count(shape);  // throws for shapes that cannot be
  const ir::Tensor content = with_content ? read_content(in, type, shape) : ir::Tensor();
  if (one.kind == ir::ValueKind::tensor) one.fact = {type, ir::to_dims(shape), content, {}};
  return one;
}

}  // namespace

void append_signature(std::string& key, const RuntimeValue& value, bool with_content) {
  const ir::Tensor& tensor = value.tensor;
  key.push_back(static_cast<char>(value.kind));
  key.push_back(static_cast<char>(tensor.defined() ? tensor.type() : value.type));
  if (!tensor.defined()) {
    key.push_back(static_cast<char>(no_tensor));
    return;
  }
  key.push_back(static_cast<char>(tensor.rank()));
  key.append(reinterpret_cast<const char*>(tensor.shape().data()), tensor.shape().size() * sizeof(int64_t));
  key.push_back(with_content ? '\1' : '\0');
  if (!with_content) return;
  const auto bytes = static_cast<uint32_t>(tensor.bytes());
  key.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  key.append(tensor.as<char>(), bytes);
}

bool has_same_signature(const RuntimeValue& a, const RuntimeValue& b) {
  return a.kind == b.kind && a.type == b.type && a.tensor.type() == b.tensor.type() &&
         a.tensor.shape() == b.tensor.shape();
}

std::optional<std::vector<Signature>> signatures_in(std::string_view key) {
  std::vector<Signature> all;
  ByteReader in(key);
  try {
    while (in.left() > 0) all.push_back(read_one(in));
  } catch (const Error&) {
    return std::nullopt;
  }
  if (in.failed()) return std::nullopt;
  return all;
}

}  // namespace axrun::runtime
