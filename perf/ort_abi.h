// ONNX Runtime's C interface as ort_host uses it: the functions that runtime/onnxruntime_ep/ort_abi.h
// declares, called from the host's side. Every status that a call returns is owned by the caller; `Api::call`
// releases it and throws its message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/onnxruntime_ep/ort_abi.h"

namespace axrun::perf::ort {

using namespace axrun::ort;

/// Old enough for any library in use, new enough for every function that ort_host calls without a plugin.
inline constexpr std::uint32_t api_version = 14;

/// The loaded library; it stays loaded until the process ends.
class Api {
 public:
  /// Throws HostError when the library can't be loaded or is too old.
  explicit Api(const std::string& library_path);

  const std::string& version() const { return version_; }
  /// To be asked for before functions of a version above api_version: they are in the same table. Throws
  /// HostError where the library is older.
  void require(std::uint32_t version) const;

  /// Calls a function that reports a status; throws HostError (the model's fault) with its message unless it
  /// is ok.
  template <class... Parameters, class... Arguments>
  void call(const Function<Status*(Parameters...)>& function, Arguments... arguments) const {
    if (Status* status = pointer(function)(arguments...)) raise(function.name, status);
  }

  /// Calls one of the release functions; null is allowed, as the ABI says.
  template <class Object>
  void release(const Function<void(Object*)>& function, Object* object) const {
    pointer(function)(object);
  }

 private:
  template <class Signature>
  Signature* pointer(const Function<Signature>& function) const {
    return function_of(slots_, function);
  }
  [[noreturn]] void raise(const char* name, Status* status) const;

  const ApiBase* base_ = nullptr;
  Table slots_ = nullptr;
  std::string version_;
};

/// An object of the library and the function that releases it.
template <class Object>
class Owned {
 public:
  Owned(const Api& api, const Function<void(Object*)>& release) : api_(&api), release_(&release) {}
  Owned(Owned&& other) noexcept : api_(other.api_), release_(other.release_), object_(other.object_) {
    other.object_ = nullptr;
  }
  Owned& operator=(Owned&&) = delete;
  ~Owned() { reset(); }

  Object* get() const { return object_; }
  Object** out() {  ///< Where a function stores a new object; an old one is released first.
    reset();
    return &object_;
  }
  void reset() {
    if (object_) api_->release(*release_, object_);
    object_ = nullptr;
  }

 private:
  const Api* api_;
  const Function<void(Object*)>* release_;
  Object* object_ = nullptr;
};

}  // namespace axrun::perf::ort
