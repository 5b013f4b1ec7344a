// What the library exports, and the factory behind it.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/onnxruntime_ep/context_model.h"
#include "runtime/onnxruntime_ep/host_value.h"
#include "runtime/onnxruntime_ep/provider.h"
#include "runtime/version.h"

namespace axrun::ort {
namespace {

class Factory final : public EpFactory {
 public:
  explicit Factory(const ApiBase* base) : host_(base) {
    get_name = [](const EpFactory*) { return provider_name; };
    get_vendor = [](const EpFactory*) { return "axrun"; };
    get_version = [](const EpFactory*) { return runtime::version().data(); };
    get_supported_devices = [](EpFactory* self, const HardwareDevice* const* hardware, std::size_t count,
                               EpDevice** devices, std::size_t room, std::size_t* found) {
      auto* const factory = static_cast<Factory*>(self);
      return guarded(factory->host_, [&] { *found = factory->offer(hardware, count, devices, room); });
    };
    create_ep = [](EpFactory* self, const HardwareDevice* const*, const KeyValuePairs* const*, std::size_t,
                   const SessionOptions* options, const Logger* logger, Ep** ep) {
      auto* const factory = static_cast<Factory*>(self);
      *ep = nullptr;
      return guarded(factory->host_, [&] {
        *ep = std::make_unique<Provider>(factory->host_, logger, read_options(factory->entries_of(options)))
                  .release();
      });
    };
    release_ep = [](EpFactory*, Ep* ep) { delete static_cast<Provider*>(ep); };
    create_data_transfer = [](EpFactory*, void** transfer) -> Status* {
      *transfer = nullptr;
      return nullptr;
    };
    validate_compiled_model_compatibility_info = [](EpFactory*, const HardwareDevice* const*, std::size_t,
                                                    const char* information, int* answer) -> Status* {
      *answer = compatibility_of(information);
      return nullptr;
    };
    is_stream_aware = [](const EpFactory*) { return false; };
  }

 private:
  /// The processor, once.
  std::size_t offer(const HardwareDevice* const* hardware, std::size_t count, EpDevice** devices,
                    std::size_t room) {
    for (std::size_t k = 0; k < count && room > 0; ++k) {
      if (host_.get(hardware_type, hardware[k]) != hardware_cpu) continue;
      host_.call_ep(create_ep_device, static_cast<EpFactory*>(this), hardware[k], nullptr, nullptr,
                    &devices[0]);
      return 1;
    }
    return 0;
  }

  std::vector<std::pair<std::string, std::string>> entries_of(const SessionOptions* options) const {
    KeyValuePairs* pairs = nullptr;
    host_.call(session_config, options, &pairs);
    const HostObject<KeyValuePairs> owned(host_, release_key_value_pairs, pairs);
    const char* const* keys = nullptr;
    const char* const* values = nullptr;
    std::size_t count = 0;
    host_.get(key_value_pairs, pairs, &keys, &values, &count);
    std::vector<std::pair<std::string, std::string>> entries;
    for (std::size_t k = 0; k < count; ++k) entries.emplace_back(keys[k], values[k]);
    return entries;
  }

  const Host host_;
};

/// A status from a runtime that may be too old for anything else: its first function has always been this
/// one.
Status* refusal(const ApiBase* base, const char* message) noexcept {
  const Table api = base->get_api(1);
  return api == nullptr ? nullptr : function_of(api, create_status)(error_fail, message);
}

}  // namespace
}  // namespace axrun::ort

#define AXRUN_EXPORT extern "C" __attribute__((visibility("default")))

AXRUN_EXPORT axrun::ort::Status* CreateEpFactories(const char*, const axrun::ort::ApiBase* base,
                                                   const axrun::ort::Logger*,
                                                   axrun::ort::EpFactory** factories, std::size_t room,
                                                   std::size_t* count) {
  using namespace axrun::ort;
  *count = 0;
  if (room < 1) return refusal(base, "axrun: no room for a factory");
  try {
    factories[0] = std::make_unique<Factory>(base).release();
    *count = 1;
    return nullptr;
  } catch (const std::exception& error) {
    return refusal(base, error.what());
  }
}

AXRUN_EXPORT axrun::ort::Status* ReleaseEpFactory(axrun::ort::EpFactory* factory) {
  delete static_cast<axrun::ort::Factory*>(factory);
  return nullptr;
}
