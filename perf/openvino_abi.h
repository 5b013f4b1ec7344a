// The slice of OpenVINO's C interface that openvino_host uses, looked up by name in libopenvino_c.so.
//
// No header of OpenVINO is needed. Signatures and structures are those of its reference of the C interface;
// the element types are numbered differently before 2026, so older libraries are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "perf/host/tensor.h"

namespace axrun::perf::openvino {

struct Core;
struct Model;
struct CompiledModel;
struct InferRequest;
struct Port;
struct OvTensor;

/// `ov_shape_t`; whoever fills `dims` frees them.
struct Shape {
  std::int64_t rank = 0;
  std::int64_t* dims = nullptr;
};

/// `ov_dimension_t`: the range of sizes; both ends are the same for a known one.
struct Dimension {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// `ov_partial_shape_t`: the rank too is a range.
struct PartialShape {
  Dimension rank;
  Dimension* dims = nullptr;
};

/// `ov_property_t`; `value` is text for every key used here.
struct Property {
  const char* key;
  const void* value;
};

/// `ov_version_t`
struct Version {
  const char* build = nullptr;
  const char* description = nullptr;
};

/// OpenVINO's number of an element type, -1 for those it lacks, and back.
int number_of(Type type);
Type type_of(int number);

/// The loaded library; it stays loaded until the process ends.
class Library {
 public:
  /// Throws HostError when it can't be loaded.
  explicit Library(const std::string& path);
  /// Throws HostError when the library has no such function.
  void* find(const char* name) const;
  /// Throws HostError (the model's fault) with the library's words on the last failure.
  [[noreturn]] void raise(const char* name, int status) const;

 private:
  void* handle_;
  std::string path_;
};

/// A function that reports a status. Calling it throws HostError unless it is ok.
template <class Signature>
class Function;
template <class... Parameters>
class Function<int(Parameters...)> {
 public:
  Function(const Library& library, const char* name)
      : library_(library), name_(name), pointer_(reinterpret_cast<Pointer>(library.find(name))) {}
  void operator()(Parameters... arguments) const {
    if (const int status = pointer_(arguments...)) library_.raise(name_, status);
  }

 private:
  using Pointer = int (*)(Parameters...);
  const Library& library_;
  const char* name_;
  Pointer pointer_;
};

/// A function that frees something; null is allowed.
template <class Object>
class Free {
 public:
  Free(const Library& library, const char* name)
      : pointer_(reinterpret_cast<void (*)(Object*)>(library.find(name))) {}
  void operator()(Object* object) const {
    if (object) pointer_(object);
  }

 private:
  void (*pointer_)(Object*);
};

// clang-format off
struct Api {
  explicit Api(const std::string& path);

  Library library;
  Function<int(Version*)> get_version{library, "ov_get_openvino_version"};
  Free<Version> free_version{library, "ov_version_free"};
  Free<const char> free_text{library, "ov_free"};
  Function<int(Core**)> create_core{library, "ov_core_create"};
  Free<Core> free_core{library, "ov_core_free"};
  Function<int(const Core*, const char* path, const char* weights, Model**)> read_model{library, "ov_core_read_model"};
  Free<Model> free_model{library, "ov_model_free"};
  Function<int(const Core*, const Model*, const char* device, std::size_t count, const Property*, CompiledModel**)> compile{library, "ov_core_compile_model_props"};
  Free<CompiledModel> free_compiled{library, "ov_compiled_model_free"};
  Function<int(const CompiledModel*, InferRequest**)> create_request{library, "ov_compiled_model_create_infer_request"};
  Free<InferRequest> free_request{library, "ov_infer_request_free"};
  Function<int(const Model*, std::size_t*)> input_count{library, "ov_model_inputs_size"};
  Function<int(const Model*, std::size_t*)> output_count{library, "ov_model_outputs_size"};
  Function<int(const Model*, std::size_t index, Port**)> input_port{library, "ov_model_const_input_by_index"};
  Function<int(const Model*, std::size_t index, Port**)> output_port{library, "ov_model_const_output_by_index"};
  Free<Port> free_port{library, "ov_output_const_port_free"};
  Function<int(const Port*, char** name)> port_name{library, "ov_port_get_any_name"};
  Function<int(const Port*, PartialShape*)> port_shape{library, "ov_port_get_partial_shape"};
  Free<PartialShape> free_partial_shape{library, "ov_partial_shape_free"};
  Function<int(const Port*, int* type)> port_type{library, "ov_port_get_element_type"};
  Function<int(int type, Shape, void* data, OvTensor**)> wrap_tensor{library, "ov_tensor_create_from_host_ptr"};
  Function<int(const char** strings, std::size_t count, Shape, OvTensor**)> create_strings{library, "ov_tensor_create_from_string_array"};
  Function<int(const OvTensor*, Shape*)> tensor_shape{library, "ov_tensor_get_shape"};
  Free<Shape> free_shape{library, "ov_shape_free"};
  Function<int(const OvTensor*, int* type)> tensor_type{library, "ov_tensor_get_element_type"};
  Function<int(const OvTensor*, std::size_t*)> tensor_bytes{library, "ov_tensor_get_byte_size"};
  Function<int(const OvTensor*, void**)> tensor_data{library, "ov_tensor_data"};
  Free<OvTensor> free_tensor{library, "ov_tensor_free"};
  Function<int(InferRequest*, std::size_t index, const OvTensor*)> set_input{library, "ov_infer_request_set_input_tensor_by_index"};
  Function<int(InferRequest*, std::size_t index, const OvTensor*)> set_output{library, "ov_infer_request_set_output_tensor_by_index"};
  Function<int(const InferRequest*, std::size_t index, OvTensor**)> get_output{library, "ov_infer_request_get_output_tensor_by_index"};
  Function<int(InferRequest*)> infer{library, "ov_infer_request_infer"};
};
// clang-format on

/// An object of the library and the function that frees it.
template <class Object>
class Owned {
 public:
  explicit Owned(const Free<Object>& free) : free_(&free) {}
  Owned(Owned&& other) noexcept : free_(other.free_), object_(other.object_) { other.object_ = nullptr; }
  Owned& operator=(Owned&&) = delete;
  ~Owned() { (*free_)(object_); }

  Object* get() const { return object_; }
  Object** out() { return &object_; }  ///< Where a function stores a new object; once only.

 private:
  const Free<Object>* free_;
  Object* object_ = nullptr;
};

}  // namespace axrun::perf::openvino
