#include "runtime/onnxruntime_ep/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <new>

namespace axrun::ort {

std::uint32_t minor_version(const char* text) {
  if (text == nullptr || std::strncmp(text, "1.", 2) != 0) return 0;
  std::uint32_t minor = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text + 2, end, minor);
  return error == std::errc() && (stop == end || *stop == '.') ? minor : 0;
}

Host::Host(const ApiBase* base) {
  const char* text = base->get_version_string();
  version_ = minor_version(text);
  if (version_ < oldest_version) {
    throw Error(Fault::unsupported,
                fmt::format("axrun needs ONNX Runtime 1.{} or later, this is {}", oldest_version,
                            text == nullptr ? "of no known version" : text));
  }
  api_ = base->get_api(std::min(version_, declared_version));
  if (api_ == nullptr) {
    throw Error(
        Fault::unsupported,
        fmt::format("ONNX Runtime {} does not offer the version of its interface that axrun asks for", text));
  }
  ep_api_ = get(get_ep_api);
  if (ep_api_ == nullptr) {
    throw Error(Fault::unsupported,
                fmt::format("this build of ONNX Runtime {} takes no execution providers", text));
  }
}

void Host::raise(const char* function, Status* status) const {
  const char* message = get(get_error_message, static_cast<const Status*>(status));
  std::string text = fmt::format("ONNX Runtime's {}: {}", function, message == nullptr ? "failed" : message);
  get(release_status, status);
  throw HostError(Fault::internal, text);
}

Status* Host::status(int code, const char* message) const noexcept {
  return get(create_status, code, message);
}

void Host::log(const Logger* logger, int level, const std::string& message) const noexcept {
  if (logger == nullptr) return;
  Status* status = get(log_message, logger, level, message.c_str(), "axrun", 0, "axrun");
  if (status != nullptr) get(release_status, status);
}

// Never EP_FAIL: on that, Python's sessions go on with another provider, and the failure is not seen.
Status* status_of_exception(const Host& host) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    const int code = error.fault() == Fault::user          ? error_invalid_argument
                     : error.fault() == Fault::unsupported ? error_not_implemented
                                                           : error_runtime_exception;
    try {
      return host.status(code, fmt::format("axrun: {}", error.what()).c_str());
    } catch (...) {
      return host.status(code, error.what());
    }
  } catch (const std::bad_alloc&) {
    return host.status(error_runtime_exception, "axrun: not enough memory");
  } catch (const std::exception& error) {
    return host.status(error_runtime_exception, error.what());
  } catch (...) {
    return host.status(error_runtime_exception, "axrun: an unknown failure");
  }
}

}  // namespace axrun::ort
