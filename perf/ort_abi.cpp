#include "perf/ort_abi.h"

#include <dlfcn.h>

#include "perf/host/tensor.h"

namespace axrun::perf::ort {

Api::Api(const std::string& library_path) {
  void* library = dlopen(library_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw HostError(HostError::user, std::string("can't load ONNX Runtime: ") + dlerror());
  const auto get_base = reinterpret_cast<const ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (!get_base) throw HostError(HostError::user, "'" + library_path + "' is not ONNX Runtime's library");
  base_ = get_base();
  version_ = base_->get_version_string();
  slots_ = base_->get_api(api_version);
  if (!slots_) throw HostError(HostError::user, "ONNX Runtime " + version_ + " is older than 1.14");
}

void Api::require(std::uint32_t version) const {
  if (base_->get_api(version) != nullptr) return;
  throw HostError(HostError::user,
                  "ONNX Runtime " + version_ + " is older than 1." + std::to_string(version));
}

void Api::raise(const char* name, Status* status) const {
  const std::string message = std::string(name) + ": " + pointer(get_error_message)(status);
  release(release_status, status);
  throw HostError(HostError::model, message);
}

}  // namespace axrun::perf::ort
