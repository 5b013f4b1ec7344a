#include "runtime/onnxruntime_ep/host_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "onnx_import/element_codes.h"

namespace axrun::ort {
namespace {

/// Where tensors without elements point to.
alignas(64) char nowhere[64];

Value* make_output(const Host& host, KernelContext* context, std::size_t output, const ir::Shape& shape) {
  Value* value = nullptr;
  host.call(context_output, context, output, shape.data(), shape.size(), &value);
  if (value == nullptr)
    throw HostError(Fault::internal, fmt::format("ONNX Runtime gives no memory for output {}", output));
  return value;
}

}  // namespace

ValueShape shape_of(const Host& host, const Value* value) {
  ValueShape shape;
  if (host.version() >= 24) {
    const std::int64_t* dims = nullptr;
    std::size_t rank = 0;
    host.call(type_and_shape, value, &shape.type, &dims, &rank);
    shape.type = onnx_element_type(shape.type);
    if (rank > 0) shape.dims.assign(dims, dims + rank);
    return shape;
  }
  TensorInfo* made = nullptr;
  host.call(tensor_info, value, &made);
  const HostObject<TensorInfo> info(host, release_tensor_info, made);
  std::size_t rank = 0;
  host.call(element_type, made, &shape.type);
  shape.type = onnx_element_type(shape.type);
  host.call(dim_count, made, &rank);
  shape.dims.resize(rank);
  if (rank > 0) host.call(get_dims, made, shape.dims.data(), rank);
  return shape;
}

std::string_view bytes_of(const Host& host, const Value* value) {
  const void* data = nullptr;
  std::size_t size = 0;
  host.call(const_tensor_data, value, &data);
  host.call(tensor_bytes, value, &size);
  return data == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(data), size);
}

std::vector<std::string> strings_of(const Host& host, const Value* value, const ValueShape& shape) {
  std::vector<std::string> all(static_cast<std::size_t>(ir::element_count(shape.dims)));
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::size_t length = 0;
    host.call(string_length, value, k, &length);
    all[k].resize(length);
    if (length > 0) host.call(string_content, value, length, k, static_cast<void*>(all[k].data()));
  }
  return all;
}

ir::ElementType shared_type(int type) {
  const onnx_import::ElementCode* code = onnx_import::find_element_code(type);
  if (code == nullptr || code->type == ir::ElementType::undefined ||
      (ir::bits_of(code->type) < 8 && code->type != ir::ElementType::string)) {
    return ir::ElementType::undefined;
  }
  return code->type;
}

ir::Tensor borrowed(const Host& host, const Value* value) {
  ValueShape shape = shape_of(host, value);
  const ir::ElementType type = shared_type(shape.type);
  if (type == ir::ElementType::undefined) {
    throw Error(Fault::unsupported, fmt::format("element type {} of an input", shape.type));
  }
  if (type == ir::ElementType::string)
    return ir::Tensor::from_strings(shape.dims, strings_of(host, value, shape));
  const void* data = nullptr;
  host.call(const_tensor_data, value, &data);
  return ir::Tensor::borrow(type, shape.dims, data == nullptr ? nowhere : const_cast<void*>(data));
}

void borrow_into(const Host& host, const Value* value, ir::Tensor& tensor) {
  const bool could_be_same = tensor.defined() && tensor.type() != ir::ElementType::string;
  if (host.version() < 24 || !could_be_same) {
    tensor = borrowed(host, value);
    return;
  }
  int type = 0;
  const std::int64_t* dims = nullptr;
  std::size_t rank = 0;
  host.call(type_and_shape, value, &type, &dims, &rank);
  if (shared_type(onnx_element_type(type)) != tensor.type() ||
      !std::equal(dims, dims + rank, tensor.shape().begin(), tensor.shape().end())) {
    tensor = borrowed(host, value);
    return;
  }
  const void* data = nullptr;
  host.call(const_tensor_data, value, &data);
  if (data == nullptr) data = nowhere;
  if (data != tensor.data())
    tensor = ir::Tensor::borrow(tensor.type(), tensor.shape(), const_cast<void*>(data));
}

ir::Tensor output_buffer(const Host& host, KernelContext* context, std::size_t output, ir::ElementType type,
                         const ir::Shape& shape, bool type_is_known) {
  Value* const value = make_output(host, context, output, shape);
  void* data = nullptr;
  host.call(tensor_data, value, &data);
  ir::Tensor tensor = ir::Tensor::borrow(type, shape, data == nullptr ? nowhere : data);
  if (type_is_known) return tensor;
  std::size_t size = 0;
  host.call(tensor_bytes, value, &size);
  if (size != tensor.bytes()) {
    throw HostError(Fault::internal, fmt::format("ONNX Runtime gives {} bytes for output {}, which has {}",
                                                 size, output, tensor.bytes()));
  }
  return tensor;
}

void copy_output(const Host& host, KernelContext* context, std::size_t output, const ir::Tensor& result) {
  if (result.type() == ir::ElementType::string) {
    std::vector<const char*> texts;
    for (std::int64_t k = 0; k < result.size(); ++k) texts.push_back(result.strings()[k].c_str());
    Value* const value = make_output(host, context, output, result.shape());
    if (!texts.empty()) host.call(fill_strings, value, texts.data(), texts.size());
    return;
  }
  ir::Tensor to = output_buffer(host, context, output, result.type(), result.shape());
  if (to.bytes() > 0) std::memcpy(to.data(), result.data(), to.bytes());
}

}  // namespace axrun::ort
