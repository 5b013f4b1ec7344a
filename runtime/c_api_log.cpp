// The log, for C.
#include "runtime/c_api_handles.h"
#include "runtime/log.h"

using axrun::runtime::LogLevel;
using axrun::runtime::LogRecord;

static_assert(static_cast<int>(LogLevel::off) == AXRUN_LOG_OFF &&
              static_cast<int>(LogLevel::error) == AXRUN_LOG_ERROR &&
              static_cast<int>(LogLevel::debug) == AXRUN_LOG_DEBUG);

axrun_status axrun_set_log(int level, axrun_log_function call, void* context) {
  return axrun::c_api::guarded([&] {
    axrun::c_api::require(level >= AXRUN_LOG_OFF && level <= AXRUN_LOG_DEBUG, "there is no such log level");
    if (call == nullptr) return axrun::runtime::set_log(LogLevel::off, {});
    axrun::runtime::set_log(static_cast<LogLevel>(level), [call, context](const LogRecord& record) {
      call(context, static_cast<int>(record.level), log_line(record).c_str());
    });
  });
}

const char* axrun_status_name(axrun_status status) {
  switch (status) {
    case AXRUN_OK:
      return "ok";
    case AXRUN_USER_ERROR:
      return "user";
    case AXRUN_MODEL_ERROR:
      return "model";
    case AXRUN_UNSUPPORTED:
      return "unsupported";
    case AXRUN_CANCELLED:
      return "cancelled";
    case AXRUN_DEADLINE:
      return "deadline";
    case AXRUN_NOT_YET:
      return "not_yet";
    case AXRUN_INTERNAL_ERROR:
      break;
  }
  return "internal";
}
