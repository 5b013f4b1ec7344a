#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/onnxruntime_ep/ort_plugin.h"

namespace axrun::ort {

/// A call to the runtime that failed.
class HostError : public Error {
 public:
  using Error::Error;
};

/// The ONNX Runtime that loaded the plugin. Functions of it that answer a status throw HostError with its
/// message.
class Host {
 public:
  /// Asks for the newest version that both sides know. Throws Error(unsupported) where the runtime is older
  /// than what a plugin needs, or is none that this version string describes.
  explicit Host(const ApiBase* base);

  /// The minor version of ONNX Runtime 1, as its version string has it: functions that came later are not
  /// to be called.
  std::uint32_t version() const { return version_; }

  template <class... Parameters, class... Arguments>
  void call(const Function<Status*(Parameters...)>& function, Arguments... arguments) const {
    check(function.name, function_of(api_, function)(arguments...));
  }
  template <class... Parameters, class... Arguments>
  void call_ep(const Function<Status*(Parameters...)>& function, Arguments... arguments) const {
    check(function.name, function_of(ep_api_, function)(arguments...));
  }
  /// A function of the table that makes graphs. Throws Error(unsupported) where this runtime has none.
  template <class... Parameters, class... Arguments>
  void call_editor(const Function<Status*(Parameters...)>& function, Arguments... arguments) const {
    const Table editor = get(get_editor_api);
    if (editor == nullptr) throw Error(Fault::unsupported, "this build of ONNX Runtime makes no graphs");
    check(function.name, function_of(editor, function)(arguments...));
  }
  /// A function that cannot fail.
  template <class Result, class... Parameters, class... Arguments>
  Result get(const Function<Result(Parameters...)>& function, Arguments... arguments) const {
    return function_of(api_, function)(arguments...);
  }

  template <class Result, class... Parameters, class... Arguments>
  Result get_ep(const Function<Result(Parameters...)>& function, Arguments... arguments) const {
    return function_of(ep_api_, function)(arguments...);
  }
  /// Throws unless the status is null.
  void check(const char* function, Status* status) const {
    if (status != nullptr) raise(function, status);
  }

  /// The list that two functions give: how many there are, and all of them.
  template <class Object, class Item>
  std::vector<const Item*> list(const Function<Status*(const Object*, std::size_t*)>& count,
                                const Function<Status*(const Object*, const Item**, std::size_t)>& items,
                                const Object* object) const {
    std::size_t number = 0;
    call(count, object, &number);
    std::vector<const Item*> all(number);
    if (number > 0) call(items, object, all.data(), number);
    return all;
  }

  /// Null where memory is short.
  Status* status(int code, const char* message) const noexcept;
  void log(const Logger* logger, int level, const std::string& message) const noexcept;

 private:
  [[noreturn]] void raise(const char* function, Status* status) const;

  Table api_ = nullptr;
  Table ep_api_ = nullptr;
  std::uint32_t version_ = 0;
};

/// The minor version in "1.MINOR.PATCH..."; 0 for anything else.
std::uint32_t minor_version(const char* text);

/// Runs what may throw, for a function that the runtime calls: no exception crosses.
template <class Body>
Status* guarded(const Host& host, const Body& body) noexcept;

/// The status for the exception being handled.
Status* status_of_exception(const Host& host) noexcept;

template <class Body>
Status* guarded(const Host& host, const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return status_of_exception(host);
  }
}

}  // namespace axrun::ort
