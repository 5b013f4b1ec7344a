#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "runtime/onnxruntime_ep/ort_abi.h"

namespace axrun::ort {

/// As much of ONNX Runtime as it takes to see how the plugin answers to it: tables with the functions that a
/// test fills in, and statuses. One at a time.
class FakeHost {
 public:
  explicit FakeHost(std::string version);
  ~FakeHost();

  const ApiBase* base() const { return &base_; }
  template <class Signature>
  void set(const Function<Signature>& function, Signature* answer) {
    api_[function.slot] = reinterpret_cast<const void*>(answer);
  }
  template <class Signature>
  void set_ep(const Function<Signature>& function, Signature* answer) {
    ep_api_[function.slot] = reinterpret_cast<const void*>(answer);
  }

  std::uint32_t asked = 0;      ///< the version of the last get_api
  std::uint32_t newest = 1000;  ///< get_api answers null above
  bool takes_providers = true;
  int statuses = 0;  ///< made and not released

  /// The message of a status, which is released; "" for null.
  std::string message(Status* status);

 private:
  static FakeHost* one;
  ApiBase base_;
  std::string version_;
  std::array<const void*, 440> api_{};
  std::array<const void*, 80> ep_api_{};
};

}  // namespace axrun::ort
