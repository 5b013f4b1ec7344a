#include "runtime/cache/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/cache/directory.h"

namespace axrun::cache {
namespace {

/// "axrn", so that file(1) and we know whose it is.
constexpr int application_id = 0x6178726e;
constexpr const char* entries_table =
    "CREATE TABLE entries(subject BLOB NOT NULL, origin BLOB NOT NULL, part INTEGER NOT NULL, "
    "generator TEXT NOT NULL, machine TEXT NOT NULL, used INTEGER NOT NULL, bytes INTEGER NOT NULL, "
    "checksum BLOB NOT NULL, body BLOB NOT NULL, PRIMARY KEY(subject, origin))";
constexpr const char* use_index = "CREATE INDEX by_use ON entries(used, bytes)";
constexpr const char* columns =
    "rowid, used, bytes, part, subject, origin, generator, machine, checksum, body";
/// Versions and machines of one subject: more than that nobody has.
constexpr int most_of_subject = 64;
constexpr int longest_value = static_cast<int>(longest_key + longest_payload + (size_t{2} << 20));

/// What has other characters than these would be read as options.
std::string uri_of(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (const char c : file.string()) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

}  // namespace

class Database::Statement {
 public:
  Statement(sqlite3* connection, const char* sql) {
    code_ = sqlite3_prepare_v2(connection, sql, -1, &statement_, nullptr);
  }
  Statement(sqlite3* connection, const std::string& sql) : Statement(connection, sql.c_str()) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int64_t value) {
    if (code_ == SQLITE_OK) code_ = sqlite3_bind_int64(statement_, ++bound_, value);
  }
  void bind_text(std::string_view text) {
    if (text.data() == nullptr) text = "";  // would be NULL
    if (code_ == SQLITE_OK)
      code_ =
          sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  }
  void bind_blob(const void* bytes, size_t count) {
    if (code_ == SQLITE_OK) code_ = sqlite3_bind_blob64(statement_, ++bound_, bytes, count, SQLITE_STATIC);
  }
  void bind(const Hash& hash) {
    if (code_ == SQLITE_OK)
      code_ = sqlite3_bind_blob64(statement_, ++bound_, hash.data(), hash.size(), SQLITE_TRANSIENT);
  }

  bool step() {
    if (code_ != SQLITE_OK && code_ != SQLITE_ROW) return false;
    code_ = sqlite3_step(statement_);
    return code_ == SQLITE_ROW;
  }
  void again() {
    sqlite3_reset(statement_);
    bound_ = 0;
    code_ = SQLITE_OK;
  }
  int code() const { return code_; }

  int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view text(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const int count = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr ? std::string_view()
                            : std::string_view(static_cast<const char*>(bytes), static_cast<size_t>(count));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK, bound_ = 0;
};

namespace {

/// Columns in the order of `columns`. A part that we do not know becomes one that has another checksum.
template <class Statement>
Database::Row row_of(const Statement& statement) {
  Database::Row row;
  row.row = statement.number(0);
  row.used = statement.number(1);
  row.bytes = statement.number(2);
  const int64_t part = statement.number(3);
  row.found.part = static_cast<Part>(part >= 0 && part < static_cast<int64_t>(part_count) ? part : 0);
  row.found.subject = statement.text(4);
  row.found.origin = statement.text(5);
  row.found.generator = statement.text(6);
  row.found.machine = statement.text(7);
  row.found.checksum = statement.text(8);
  row.found.body = statement.text(9);
  return row;
}

}  // namespace

Access Database::access_of(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return Access::done;
  message_ = connection_ != nullptr ? sqlite3_errmsg(connection_) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Access::busy;
    case SQLITE_FULL:
      return is_whole() ? Access::full : Access::damaged;
    case SQLITE_ERROR:  // what we ask is right, but the first bytes may name a format that there is not
      return is_whole() ? Access::failed : Access::damaged;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:  // ours hold, unless the index is not that of the table
      return Access::damaged;
    case SQLITE_READONLY:
      // A file that we may write to, but whose first bytes say that SQLite may not.
      if (code == SQLITE_READONLY && mode_ == Mode::read_write && access(file_.c_str(), W_OK) == 0)
        return Access::damaged;
      return Access::read_only;
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Access::read_only;
    default:
      break;
  }
  // Files that may not grow.
  if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE) return Access::full;
  return code == SQLITE_IOERR_SHORT_READ ? Access::damaged : Access::failed;
}

/// SQLite says that there is no room for a page whose number is beyond any, too. Asked once.
bool Database::is_whole() {
  if (!whole_) {
    whole_ = true;
    Statement check(connection_, "PRAGMA quick_check(1)");
    whole_ = check.step() && check.text(0) == "ok";
  }
  return *whole_;
}

Access Database::run(const char* sql) {
  return access_of(sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr));
}

Access Database::open(bool make) {
  if (connection_ != nullptr) return Access::done;
  struct stat status {};
  const bool exists = lstat(file_.c_str(), &status) == 0;
  if (!exists && (!make || mode_ == Mode::immutable)) return Access::absent;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    if (is_trusted_file(file_.string() + suffix)) continue;
    message_ = "others can write to it";
    return Access::untrusted;
  }
  if (file_number_ != status.st_ino) whole_.reset();
  file_number_ = exists ? status.st_ino : 0;
  const bool immutable = mode_ == Mode::immutable;
  const std::string name = immutable ? uri_of(file_) : file_.string();
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= immutable ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW;
  if (make && !immutable) flags |= SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(name.c_str(), &connection_, flags, nullptr);
  Access access = access_of(code);
  if (access == Access::done) {
    // A database may come from anywhere: nothing in it runs, and its values are no longer than ours.
    sqlite3_limit(connection_, SQLITE_LIMIT_LENGTH, longest_value);
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_busy_timeout(connection_, busy_milliseconds_);
    access = prepare_tables(make);
  }
  if (access != Access::done) {
    const std::string message = message_;
    close_quickly();
    message_ = message;
  }
  return access;
}

/// Exactly our tables, or none yet, which are made then.
Access Database::prepare_tables(bool make) {
  // The log is complete whenever a process is killed; after a power failure it ends earlier.
  run("PRAGMA synchronous=NORMAL; PRAGMA cell_size_check=ON; PRAGMA journal_size_limit=4194304; "
      "PRAGMA temp_store=MEMORY");
  const auto read = [&](std::string& tables, int64_t& owner, int64_t& version) {
    for (const auto& [pragma, value] :
         {std::pair("PRAGMA application_id", &owner), {"PRAGMA user_version", &version}}) {
      Statement statement(connection_, pragma);
      if (statement.step()) *value = statement.number(0);
      if (const Access access = access_of(statement.code()); access != Access::done) return access;
    }
    Statement schema(connection_, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid");
    while (schema.step()) tables.append(schema.text(0)).append("\n");
    return access_of(schema.code());
  };
  // At one moment: another process may make the tables between two statements.
  const auto look = [&](std::string& tables, int64_t& owner, int64_t& version) {
    if (const Access access = run("BEGIN"); access != Access::done) return access;
    const Access access = read(tables, owner, version);
    const std::string message = message_;
    run("COMMIT");
    message_ = message;
    return access;
  };
  const std::string ours = fmt::format("{}\n{}\n", entries_table, use_index);
  for (int attempt = 0;; ++attempt) {
    std::string tables;
    int64_t owner = 0, version = 0;
    if (const Access access = look(tables, owner, version); access != Access::done) return access;
    if (owner == application_id && version > format_version) return Access::newer;
    if (owner == application_id && version == format_version && tables == ours) return Access::done;
    if (!tables.empty() || owner != 0 || attempt > 0) {
      message_ = "other tables than ours";
      return Access::damaged;
    }
    if (!make || mode_ == Mode::immutable) return Access::absent;
    // These stay as they are; where there can be no log, SQLite goes on with a journal.
    run("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL");
    if (const Access access = run("BEGIN IMMEDIATE"); access != Access::done) return access;
    // Another process may have made them meanwhile.
    tables.clear();
    Access access = read(tables, owner, version);
    if (access == Access::done && tables.empty())
      access = run(fmt::format("{}; {}; PRAGMA application_id={}; PRAGMA user_version={}", entries_table,
                               use_index, application_id, format_version)
                       .c_str());
    if (access == Access::done) access = run("COMMIT");
    if (access != Access::done) {
      const std::string message = message_;
      run("ROLLBACK");
      message_ = message;
      return access;
    }
  }
}

void Database::close() {
  sqlite3_close_v2(connection_);
  connection_ = nullptr;
}

void Database::close_quickly() {
  if (connection_ != nullptr) sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  close();
}

bool Database::set_aside() {
  close_quickly();
  // One process at a time, and the others find that it is done.
  const std::filesystem::path folder = file_.parent_path();
  const int lock =
      ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (lock < 0) return false;
  bool done = false;
  struct stat status {};
  if (flock(lock, LOCK_EX | LOCK_NB) == 0 && lstat(file_.c_str(), &status) == 0 &&
      status.st_ino == file_number_) {
    // The log first: a new database must never be taken for the one that it belongs to.
    unlink((file_.string() + "-wal").c_str());
    unlink((file_.string() + "-shm").c_str());
    done = rename(file_.c_str(), (file_.string() + ".damaged").c_str()) == 0;
  }
  ::close(lock);
  return done;
}

Access Database::find(const Hash& subject, const std::function<bool(int64_t, const Found&, int64_t)>& look) {
  if (const Access access = open(false); access != Access::done) return access;
  Statement statement(
      connection_, fmt::format("SELECT {} FROM entries WHERE subject=? LIMIT {}", columns, most_of_subject));
  statement.bind(subject);
  while (statement.step()) {
    const Row row = row_of(statement);
    if (look(row.row, row.found, row.used)) return Access::done;
  }
  return access_of(statement.code());
}

Access Database::put(const Address& address, const Sealed& sealed, int64_t used) {
  if (const Access access = open(true); access != Access::done) return access;
  Statement statement(
      connection_,
      "INSERT OR REPLACE INTO entries(subject, origin, part, generator, machine, used, bytes, "
      "checksum, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
  statement.bind(address.subject());
  statement.bind(address.origin());
  statement.bind(static_cast<int64_t>(address.part));
  statement.bind_text(address.generator);
  statement.bind_text(address.machine);
  statement.bind(used);
  statement.bind(static_cast<int64_t>(sealed.body.size()));
  statement.bind(sealed.checksum);
  statement.bind_blob(sealed.body.data(), sealed.body.size());
  statement.step();
  return access_of(statement.code());
}

Access Database::erase(int64_t row) { return erase(std::vector<int64_t>{row}); }

Access Database::erase(const std::vector<int64_t>& rows) {
  return for_rows("DELETE FROM entries WHERE rowid=?", rows, {});
}

Access Database::for_rows(const char* text, const std::vector<int64_t>& rows, std::optional<int64_t> first) {
  if (const Access access = open(false); access != Access::done) return access;
  if (const Access access = run("BEGIN IMMEDIATE"); access != Access::done) return access;
  Statement statement(connection_, text);
  Access access = Access::done;
  for (const int64_t row : rows) {
    if (first) statement.bind(*first);
    statement.bind(row);
    statement.step();
    if (access = access_of(statement.code()); access != Access::done) break;
    statement.again();
  }
  if (access == Access::done) return run("COMMIT");
  run("ROLLBACK");
  return access;
}

Access Database::erase(const Address& address) {
  if (const Access access = open(false); access != Access::done) return access;
  Statement statement(connection_, "DELETE FROM entries WHERE subject=? AND origin=?");
  statement.bind(address.subject());
  statement.bind(address.origin());
  statement.step();
  return access_of(statement.code());
}

Access Database::set_used(const std::vector<int64_t>& rows, int64_t used) {
  return for_rows("UPDATE entries SET used=? WHERE rowid=?", rows, used);
}

Access Database::each(const std::function<void(const Row&)>& look) {
  if (const Access access = open(false); access != Access::done) return access;
  Statement statement(connection_, fmt::format("SELECT {} FROM entries ORDER BY rowid", columns));
  while (statement.step()) look(row_of(statement));
  return access_of(statement.code());
}

Access Database::total(int64_t& bytes) {
  if (const Access access = open(false); access != Access::done) return access;
  Statement statement(connection_, "SELECT total(bytes) FROM entries");
  if (statement.step()) bytes = statement.number(0);
  return access_of(statement.code());
}

Access Database::oldest(size_t most, std::vector<Old>& found) {
  if (const Access access = open(false); access != Access::done) return access;
  Statement statement(connection_, "SELECT rowid, used, bytes FROM entries ORDER BY used, bytes LIMIT ?");
  statement.bind(static_cast<int64_t>(most));
  while (statement.step()) found.push_back({statement.number(0), statement.number(1), statement.number(2)});
  return access_of(statement.code());
}

Access Database::shrink() {
  if (const Access access = open(false); access != Access::done) return access;
  return run("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace axrun::cache
