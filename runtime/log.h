#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/api.h"

namespace axrun::runtime {

/// What is told, each with all before it. info: what an operator of a service wants to read in order; debug:
/// what explains it, of every candidate and every request.
enum class LogLevel : uint8_t { off, error, warn, info, debug };
AXRUN_API const char* name_of(LogLevel level);
/// Empty for what is none of these words.
AXRUN_API std::optional<LogLevel> log_level_of(std::string_view name);

/// Something that happened. runtime/README.md lists the events and their fields.
struct LogRecord {
  LogLevel level = LogLevel::info;
  const char* event = "";  ///< "model_loaded": never changes its meaning
  /// In a fixed order. The first one is "model", where a model is concerned.
  std::vector<std::pair<const char*, std::string>> fields;
};
/// Called by whatever thread it happens in, by several at once. Must not set the log; what it throws is lost.
using LogSink = std::function<void(const LogRecord&)>;

/// What the process does with records up to that level; an empty sink: nothing. When this returns, the sink
/// before is not being called and will not be again.
AXRUN_API void set_log(LogLevel most, LogSink sink);

/// Whether somebody listens: an atomic load. To be asked before a record is made.
AXRUN_API bool logs(LogLevel level);
AXRUN_API void log(LogRecord record);

/// One line without its end: level=info event=model_loaded model=/m.onnx ms=12.5. Values with blanks, quotes
/// or unprintable characters are quoted as in JSON.
AXRUN_API std::string log_line(const LogRecord& record);

/// From construction to destruction, what this thread tells concerns this model; threads that a Background
/// starts inherit it from who made the Background.
class LogModel {
 public:
  explicit LogModel(std::string name);
  ~LogModel();
  LogModel(const LogModel&) = delete;
  LogModel& operator=(const LogModel&) = delete;
  static std::string current();

 private:
  std::string before_;
};

/// Forks of the process wait for sinks that are being called. To be asked for before anything else that
/// handles forks, so that its locks are taken last.
void keep_log_across_forks();

}  // namespace axrun::runtime
