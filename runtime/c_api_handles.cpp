#include "runtime/c_api_handles.h"

#include <fmt/format.h>

namespace axrun::c_api {

using ir::ElementType;
using ir::Shape;
using ir::Tensor;

namespace {

struct LastError {
  std::string text;
  ErrorPlace place;
};
thread_local LastError last_error;

}  // namespace

PortInfo::PortInfo(const runtime::Port& from) : name(from.name) {
  for (size_t d = 0; from.dims && d < from.dims->size(); ++d) {
    const ir::Dim& dim = (*from.dims)[d];
    dims.push_back(dim.constant().value_or(-1));
    dim_names.push_back(dim.is_constant() ? "" : dim.to_string());
  }
  for (const std::string& text : dim_names) dim_name_pointers.push_back(text.c_str());
  port = {name.c_str(),
          static_cast<int>(from.kind),
          static_cast<int>(from.type),
          from.dims ? static_cast<int>(dims.size()) : -1,
          dims.data(),
          dim_name_pointers.data()};
}

StringArrays::StringArrays(const Tensor& strings) {
  for (int64_t e = 0; e < strings.size(); ++e) {
    pointers.push_back(strings.strings()[e].c_str());
    sizes.push_back(strings.strings()[e].size());
  }
}

axrun_status fail(axrun_status status, const char* text) noexcept {
  last_error = {};
  try {
    last_error.text = text;
  } catch (const std::bad_alloc&) {
  }
  return status;
}

axrun_status fail(axrun_status status, const Error& error) noexcept {
  fail(status, error.what());
  try {
    last_error.place = error_place(error);
  } catch (const std::bad_alloc&) {
  }
  return status;
}

axrun_status status_of(Fault fault) {
  switch (fault) {
    case Fault::user:
      return AXRUN_USER_ERROR;
    case Fault::model:
      return AXRUN_MODEL_ERROR;
    case Fault::unsupported:
      return AXRUN_UNSUPPORTED;
    case Fault::internal:
      break;
  }
  return AXRUN_INTERNAL_ERROR;
}

void require(bool condition, const char* text) {
  if (!condition) throw Error(Fault::user, text);
}

void require_index(size_t index, size_t count, const char* what) {
  if (index >= count) {
    throw Error(Fault::user, fmt::format("there is no {} {}: the model has {}", what, index, count));
  }
}

Tensor tensor_of(const axrun_tensor& given) {
  require(given.type > AXRUN_UNDEFINED && given.type <= AXRUN_STRING,
          "the tensor has an unknown element type");
  require(given.rank == 0 || given.dims != nullptr, "the tensor has no dims");
  const auto type = static_cast<ElementType>(given.type);
  const Shape shape(given.dims, given.dims + given.rank);
  const auto count = static_cast<size_t>(ir::element_count(shape));
  const size_t size = type == ElementType::string ? sizeof(const char*) : ir::size_of(type);
  if (given.bytes / size < count) {
    throw Error(Fault::user,
                fmt::format("a tensor {} {} takes {} elements of {} bytes, its data has {} bytes",
                            ir::name_of(type), ir::to_string(shape), count, size, given.bytes));
  }
  require(given.data != nullptr || count == 0, "the tensor has no data");
  if (type != ElementType::string) return Tensor::borrow(type, shape, given.data);
  const auto* pointers = static_cast<const char* const*>(given.data);
  std::vector<std::string> strings;
  for (size_t k = 0; k < count; ++k) {
    require(pointers[k] != nullptr, "a string is NULL");
    strings.emplace_back(pointers[k]);
  }
  return Tensor::from_strings(shape, std::move(strings));
}

axrun_tensor view_of(const Tensor& tensor, const StringArrays& strings) {
  const bool text = tensor.type() == ElementType::string;
  const void* data = text ? static_cast<const void*>(strings.pointers.data()) : tensor.data();
  return {static_cast<int>(tensor.type()), tensor.shape().size(), tensor.shape().data(),
          const_cast<void*>(data), text ? strings.pointers.size() * sizeof(const char*) : tensor.bytes()};
}

}  // namespace axrun::c_api

const char* axrun_last_error(void) { return axrun::c_api::last_error.text.c_str(); }
const char* axrun_last_error_input(void) { return axrun::c_api::last_error.place.input.c_str(); }
const char* axrun_last_error_node(void) { return axrun::c_api::last_error.place.node.c_str(); }
const char* axrun_last_error_op(void) { return axrun::c_api::last_error.place.op.c_str(); }

axrun_request::axrun_request(const axrun_session& of)
    : session(*of.session),
      inputs(of.inputs.size()),
      containers(of.inputs.size()),
      outputs(of.outputs.size()),
      bound(of.outputs.size(), false),
      strings(of.outputs.size()) {}

std::vector<axrun::runtime::RuntimeValue> axrun_request::input_values() const {
  std::vector<axrun::runtime::RuntimeValue> given(inputs.begin(), inputs.end());
  for (size_t k = 0; k < given.size(); ++k) {
    if (containers[k].kind != axrun::ir::ValueKind::tensor) {
      given[k] = containers[k];
    } else if (!inputs[k].defined()) {
      const std::string& name = session.inputs()[k].name;
      if (state && state->has_input(k)) continue;
      throw axrun::PlacedError(axrun::Fault::user, fmt::format("input '{}' is not bound", name),
                               axrun::ErrorPlace::of_input(name));
    }
  }
  return given;
}
