#include "tests/onnxruntime_ep/fake_host.h"

namespace axrun::ort {

struct Status {
  int code;
  std::string message;
};

FakeHost* FakeHost::one = nullptr;

FakeHost::FakeHost(std::string version) : version_(std::move(version)) {
  one = this;
  base_.get_api = [](std::uint32_t asked) -> Table {
    one->asked = asked;
    return asked <= one->newest ? one->api_.data() : nullptr;
  };
  base_.get_version_string = [] { return one->version_.c_str(); };
  set(
      create_status, +[](int code, const char* message) {
        ++one->statuses;
        return new Status{code, message};
      });
  set(
      get_error_message, +[](const Status* status) { return status->message.c_str(); });
  set(
      release_status, +[](Status* status) {
        --one->statuses;
        delete status;
      });
  set(
      get_ep_api, +[]() -> Table { return one->takes_providers ? one->ep_api_.data() : nullptr; });
}

FakeHost::~FakeHost() { one = nullptr; }

std::string FakeHost::message(Status* status) {
  if (status == nullptr) return "";
  const std::string text = status->message;
  --statuses;
  delete status;
  return text;
}

}  // namespace axrun::ort
