#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "runtime/onnxruntime_ep/host.h"

namespace axrun::ort {

/// An object that the runtime made, and what releases it.
template <class Object>
class HostObject {
 public:
  HostObject(const Host& host, const Function<void(Object*)>& release, Object* object)
      : host_(host), release_(release), object_(object) {}
  ~HostObject() {
    if (object_ != nullptr) host_.get(release_, object_);
  }
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;
  Object* get() const { return object_; }

 private:
  const Host& host_;
  const Function<void(Object*)>& release_;
  Object* object_;
};

inline constexpr int string_type = 8;

struct ValueShape {
  int type = 0;  ///< ONNX's number of the element type
  ir::Shape dims;
};

/// Of a tensor.
ValueShape shape_of(const Host& host, const Value* value);
/// The elements of a tensor that is not one of strings. 4-bit elements are packed.
std::string_view bytes_of(const Host& host, const Value* value);
std::vector<std::string> strings_of(const Host& host, const Value* value, const ValueShape& shape);

/// Our type for ONNX's number, where the bytes of a tensor mean the same on both sides; undefined otherwise
/// (4-bit integers are packed there).
ir::ElementType shared_type(int type);

/// A tensor of the runtime: the same memory; strings are copied. Throws Error(unsupported).
ir::Tensor borrowed(const Host& host, const Value* value);
/// The same, for a tensor that was borrowed before: costs next to nothing where it looks the same.
void borrow_into(const Host& host, const Value* value, ir::Tensor& tensor);
/// Memory of the runtime for an output of a run. Throws where it is of another size than ours, which is not
/// looked at where the type is known to be the runtime's.
ir::Tensor output_buffer(const Host& host, KernelContext* context, std::size_t output, ir::ElementType type,
                         const ir::Shape& shape, bool type_is_known = false);
/// Hands over a result that lies in memory of ours.
void copy_output(const Host& host, KernelContext* context, std::size_t output, const ir::Tensor& result);

}  // namespace axrun::ort
