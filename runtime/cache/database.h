#pragma once

#include <sqlite3.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/entry.h"

namespace axrun::cache {

/// How a call of the database ended.
enum class Access : uint8_t {
  done,
  absent,     ///< there is no such database
  busy,       ///< another process held it for too long
  full,       ///< no room on the disk
  damaged,    ///< this is no database, or not one of this form
  newer,      ///< a later version of axrun made it
  untrusted,  ///< others can write to it
  read_only,  ///< the system does not let us write
  failed,     ///< anything else
};

/// A table of entries in one SQLite file (https://sqlite.org). For one thread at a time. Not to be used
/// across a fork: SQLite's locks would not survive it; close it before.
class Database {
 public:
  enum class Mode : uint8_t { read_write, immutable };
  Database(std::filesystem::path file, Mode mode, int busy_milliseconds)
      : file_(std::move(file)), mode_(mode), busy_milliseconds_(busy_milliseconds) {}
  ~Database() { close(); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Calls `look` with everything that is stored under a subject until it answers true. `used`: seconds.
  Access find(const Hash& subject, const std::function<bool(int64_t row, const Found&, int64_t used)>& look);
  /// Instead of what has the same subject and origin. Makes the database where it is missing.
  Access put(const Address& address, const Sealed& sealed, int64_t used);
  Access erase(int64_t row);
  Access erase(const Address& address);
  /// Of rows that are there.
  Access set_used(const std::vector<int64_t>& rows, int64_t used);

  /// Everything, with what only the table knows.
  struct Row {
    int64_t row = 0, used = 0, bytes = 0;
    Found found;
  };
  Access each(const std::function<void(const Row&)>& look);
  /// Bytes of all entries.
  Access total(int64_t& bytes);
  /// Those that were used longest ago first: row, last use, bytes.
  struct Old {
    int64_t row = 0, used = 0, bytes = 0;
  };
  Access oldest(size_t most, std::vector<Old>& found);
  Access erase(const std::vector<int64_t>& rows);
  /// Gives back to the disk what is no longer used.
  Access shrink();

  void close();
  /// Closed, and what was written so far stays beside the file: takes no time.
  void close_quickly();
  bool is_open() const { return connection_ != nullptr; }
  const std::filesystem::path& file() const { return file_; }
  /// Moves a damaged database out of the way, so that the next call begins a new one; unless another process
  /// has done so. Whether this one did.
  bool set_aside();
  /// What SQLite said last.
  const std::string& message() const { return message_; }

 private:
  class Statement;
  /// make: where it is missing.
  Access open(bool make);
  Access prepare_tables(bool make);
  Access run(const char* sql);
  /// The statement once per row, bound last, all or none; `first` is bound before it where it is given.
  Access for_rows(const char* text, const std::vector<int64_t>& rows, std::optional<int64_t> first);
  Access access_of(int code);
  bool is_whole();

  std::filesystem::path file_;
  Mode mode_;
  int busy_milliseconds_;
  sqlite3* connection_ = nullptr;
  ino_t file_number_ = 0;  ///< of the file that was opened last
  std::optional<bool> whole_;
  std::string message_;
};

}  // namespace axrun::cache
