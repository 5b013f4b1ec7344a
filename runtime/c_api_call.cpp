// What a user's kernel gets, and gives.
#include <fmt/format.h>

#include "runtime/c_api_operators.h"

using namespace axrun::c_api;
using axrun::Error;
using axrun::Fault;
namespace ir = axrun::ir;

namespace {

const ir::Tensor& input_of(const axrun_call* call, size_t index) {
  require(call != nullptr, "call is NULL");
  if (index >= call->inputs.size())
    throw Error(Fault::user, fmt::format("there is no input {} of {}", index, call->inputs.size()));
  return call->inputs[index];
}

ir::CustomResult& result_of(axrun_call* call, size_t index) {
  require(call != nullptr, "call is NULL");
  if (index >= call->results.size())
    throw Error(Fault::user, fmt::format("there is no output {} of {}", index, call->results.size()));
  return call->results[index];
}

/// Throws Error(user) for a shape that is not the declared one, as far as that is known.
ir::Shape checked(const ir::CustomResult& result, size_t index, const int64_t* dims, size_t rank) {
  require(rank == 0 || dims != nullptr, "dims is NULL");
  ir::Shape shape(dims, dims + rank);
  bool fits = rank == result.dims.size();
  for (size_t d = 0; fits && d < rank; ++d)
    fits = shape[d] >= 0 && (!result.dims[d].is_constant() || result.dims[d].value() == shape[d]);
  if (!fits) {
    throw Error(Fault::user, fmt::format("output {} cannot have shape {}: it was defined as {}", index,
                                         ir::to_string(shape), ir::to_string(result.dims)));
  }
  return shape;
}

axrun_tensor none() { return {AXRUN_UNDEFINED, 0, nullptr, nullptr, 0}; }

}  // namespace

axrun_node* axrun_call_node(axrun_call* call) { return &call->node; }
void* axrun_call_state(const axrun_call* call) { return call->state; }
size_t axrun_call_input_count(const axrun_call* call) { return call->inputs.size(); }
size_t axrun_call_output_count(const axrun_call* call) { return call->results.size(); }

axrun_status axrun_call_input(axrun_call* call, size_t index, axrun_tensor* tensor) {
  return guarded([&] {
    require(tensor != nullptr, "tensor is NULL");
    const ir::Tensor& input = input_of(call, index);
    if (!input.defined()) {
      *tensor = none();
    } else if (input.type() == ir::ElementType::string) {
      *tensor = view_of(input, call->strings.emplace_back(input));
    } else {
      *tensor = view_of(input, {});
    }
  });
}

axrun_status axrun_call_input_string_sizes(axrun_call* call, size_t index, const size_t** sizes) {
  return guarded([&] {
    require(sizes != nullptr, "sizes is NULL");
    const ir::Tensor& input = input_of(call, index);
    require(input.type() == ir::ElementType::string, "the input holds no strings");
    *sizes = call->strings.emplace_back(input).sizes.data();
  });
}

axrun_status axrun_call_output(axrun_call* call, size_t index, axrun_tensor* tensor) {
  return guarded([&] {
    require(tensor != nullptr, "tensor is NULL");
    const ir::CustomResult& result = result_of(call, index);
    if (!result.wanted) {
      *tensor = none();
      return;
    }
    require(result.type != ir::ElementType::string, "strings are given by axrun_call_set_strings");
    if (!result.tensor.defined()) {
      throw Error(Fault::user,
                  fmt::format("output {} has open sizes: axrun_call_make_output makes it", index));
    }
    *tensor = view_of(result.tensor, {});
  });
}

axrun_status axrun_call_make_output(axrun_call* call, size_t index, const int64_t* dims, size_t rank,
                                    axrun_tensor* tensor) {
  return guarded([&] {
    require(tensor != nullptr, "tensor is NULL");
    ir::CustomResult& result = result_of(call, index);
    require(result.type != ir::ElementType::string, "strings are given by axrun_call_set_strings");
    if (!result.wanted) {
      *tensor = none();
      return;
    }
    const ir::Shape shape = checked(result, index, dims, rank);
    const bool open = !ir::constant_dims(result.dims).has_value();
    if (open) result.tensor = ir::Tensor::allocate(result.type, shape);
    *tensor = view_of(result.tensor, {});
  });
}

axrun_status axrun_call_set_strings(axrun_call* call, size_t index, const int64_t* dims, size_t rank,
                                    const char* const* strings, const size_t* sizes) {
  return guarded([&] {
    ir::CustomResult& result = result_of(call, index);
    require(result.type == ir::ElementType::string, "the output holds no strings");
    if (!result.wanted) return;
    const ir::Shape shape = checked(result, index, dims, rank);
    const auto count = static_cast<size_t>(ir::element_count(shape));
    require(strings != nullptr || count == 0, "strings is NULL");
    std::vector<std::string> values;
    for (size_t k = 0; k < count; ++k) {
      require(strings[k] != nullptr, "a string is NULL");
      values.push_back(sizes != nullptr ? std::string(strings[k], sizes[k]) : std::string(strings[k]));
    }
    result.tensor = ir::Tensor::from_strings(shape, std::move(values));
  });
}

axrun_status axrun_call_parallel_for(axrun_call* call, int64_t count,
                                     void (*body)(void* context, int64_t begin, int64_t end), void* context) {
  return guarded([&] {
    require(call != nullptr && body != nullptr, "call or body is NULL");
    if (count > 0) call->parallel(count, [&](int64_t begin, int64_t end) { body(context, begin, end); });
  });
}

axrun_status axrun_call_fail(axrun_call* call, const char* text) {
  guarded([&] {
    require(call != nullptr && text != nullptr, "call or text is NULL");
    call->message = text;
  });
  return AXRUN_USER_ERROR;
}
