#include "perf/ort_plugin.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "perf/host/tensor.h"

namespace axrun::perf::ort {
namespace {

constexpr const char* registered_name = "plugin";
constexpr std::uint32_t with_plugins = 23;

}  // namespace

Plugin::~Plugin() {
  if (!added_) return;
  try {
    api_.call(unregister_provider_library, env_.get(), registered_name);
  } catch (const HostError&) {
    // The process ends; there is nobody to tell.
  }
}

void Plugin::add(const std::string& path) {
  api_.require(with_plugins);
  const auto devices = [this] {
    const EpDevice* const* first = nullptr;
    std::size_t count = 0;
    api_.call(get_ep_devices, static_cast<const Env*>(env_.get()), &first, &count);
    return std::vector<const EpDevice*>(first, first + count);
  };
  const std::vector<const EpDevice*> before = devices();
  // ONNX Runtime takes a relative path for one in its own folder.
  api_.call(register_provider_library, env_.get(), registered_name, std::filesystem::absolute(path).c_str());
  added_ = true;
  for (const EpDevice* device : devices()) {
    if (std::find(before.begin(), before.end(), device) == before.end()) devices_.push_back(device);
  }
  if (devices_.empty()) throw HostError(HostError::user, "'" + path + "' has no device for this machine");
}

void Plugin::choose(SessionOptions* settings, const std::string& options) const {
  if (devices_.empty()) return;
  std::vector<std::string> keys, values;
  std::istringstream parts(options);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t at = part.find('=');
    if (at == std::string::npos) throw HostError(HostError::user, "'" + part + "' is not KEY=VALUE");
    keys.push_back(part.substr(0, at));
    values.push_back(part.substr(at + 1));
  }
  std::vector<const char*> key_pointers, value_pointers;
  for (const std::string& key : keys) key_pointers.push_back(key.c_str());
  for (const std::string& value : values) value_pointers.push_back(value.c_str());
  api_.call(append_provider, settings, env_.get(), devices_.data(), devices_.size(), key_pointers.data(),
            value_pointers.data(), keys.size());
}

}  // namespace axrun::perf::ort
