#include "runtime/cache/weights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/cache/bytes.h"
#include "runtime/cache/directory.h"
#include "runtime/cache/entry.h"

namespace axrun::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "axrun weights  \n", suffix = ".weights", unfinished = ".writing";
constexpr size_t page = 4096;
constexpr size_t longest_head = 2 * longest_key + (size_t{1} << 16);
constexpr std::chrono::hours abandoned_after{1};

/// Large files lie on huge pages where the system has them for files, in memory that everybody shares: from
/// the one who writes them on.
void want_huge_pages(void* mapping, size_t bytes) {
  if (bytes >= size_t{2} << 20) madvise(mapping, bytes, MADV_HUGEPAGE);
}

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int operator*() const { return number_; }
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

size_t whole_pages(size_t bytes) { return (bytes + page - 1) / page * page; }

/// Everything that comes before the bytes of a file: its own length and checksum first.
std::string head_of(const FileName& name, const Hash& checksum, size_t bytes) {
  Writer rest;
  rest.put(name.key).put(name.generator).put(name.machine).put(uint64_t{bytes});
  rest.put(std::string_view(reinterpret_cast<const char*>(checksum.data()), checksum.size()));
  const Hash own = hash_of({magic, rest.text()});
  Writer head;
  head.put(format_version).put(std::string_view(reinterpret_cast<const char*>(own.data()), own.size()));
  head.put(std::string_view(rest.text()));
  std::string text = std::string(magic) + head.text();
  text.resize(whole_pages(text.size()));
  return text;
}

struct Head {
  std::string_view key, generator, machine, checksum;
  size_t offset = 0, bytes = 0;
};

std::variant<Head, Refusal> read_head(std::string_view file) {
  if (!file.starts_with(magic)) return Refusal::damaged;
  Reader reader(file.substr(magic.size()));
  if (reader.get<uint32_t>() != format_version) return Refusal::outdated;
  const std::string_view own = reader.text(sizeof(Hash)), rest = reader.text(longest_head);
  const Hash right = hash_of({magic, rest});
  if (reader.failed() || own != std::string_view(reinterpret_cast<const char*>(right.data()), right.size()))
    return Refusal::damaged;
  Head head;
  head.offset = whole_pages(file.size() - reader.left());
  Reader fields(rest);
  head.key = fields.text(longest_key);
  head.generator = fields.text(longest_head);
  head.machine = fields.text(longest_head);
  head.bytes = fields.get<uint64_t>();
  head.checksum = fields.text(sizeof(Hash));
  if (!fields.finished() || head.offset > file.size() || head.bytes != file.size() - head.offset)
    return Refusal::damaged;
  return head;
}

Stored failure_of(int error) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) return Stored::disk_full;
  return error == EROFS || error == EACCES || error == EPERM ? Stored::read_only : Stored::failed;
}

}  // namespace

std::string FileName::text() const {
  return to_text(hash_of({key, generator, machine})) + std::string(suffix);
}

std::variant<FileFound, Refusal> map_any(const fs::path& file, bool whole) {
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (*descriptor < 0) return errno == ELOOP ? Refusal::untrusted : Refusal::unreadable;
  struct stat status {};
  if (fstat(*descriptor, &status) != 0) return Refusal::unreadable;
  if (!is_trusted(status)) return Refusal::untrusted;
  const auto size = static_cast<size_t>(status.st_size);
  if (size < page) return Refusal::damaged;
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, *descriptor, 0);
  if (mapping == MAP_FAILED) return Refusal::unreadable;
  const auto unmapped = [&](Refusal refusal) {
    munmap(mapping, size);
    return refusal;
  };
  want_huge_pages(mapping, size);
#ifdef MADV_POPULATE_READ
  if (whole)
    madvise(mapping, size, MADV_POPULATE_READ);  // quicker than by faults; they do what this does not
#endif
  const auto read = read_head({static_cast<const char*>(mapping), size});
  if (const Refusal* refusal = std::get_if<Refusal>(&read)) return unmapped(*refusal);
  const Head& head = std::get<Head>(read);
  if (whole) {
    const Hash right = hash_of_bytes(static_cast<const char*>(mapping) + head.offset, head.bytes);
    if (head.checksum != std::string_view(reinterpret_cast<const char*>(right.data()), right.size()))
      return unmapped(Refusal::damaged);
  }
  FileFound found{nullptr, std::string(head.key), std::string(head.generator), std::string(head.machine)};
  found.file = std::make_shared<MappedFile>(mapping, size, head.offset, head.bytes);
  return found;
}

std::variant<std::shared_ptr<const MappedFile>, Refusal> map_file(const fs::path& folder,
                                                                  const FileName& name) {
  const fs::path path = folder / name.text();
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return nullptr;
    return Refusal::unreadable;
  }
  auto mapped = map_any(path, true);
  if (const Refusal* refusal = std::get_if<Refusal>(&mapped)) return *refusal;
  FileFound& found = std::get<FileFound>(mapped);
  if (found.generator != name.generator) return Refusal::outdated;
  if (found.machine != name.machine) return Refusal::other_machine;
  if (found.key != name.key) return Refusal::other_key;
  return std::move(found.file);
}

Stored write_file(const fs::path& folder, const FileName& name, size_t bytes,
                  const std::function<void(std::span<std::byte>)>& fill) {
  if (name.key.size() > longest_key || name.generator.size() + name.machine.size() > longest_key)
    return Stored::too_large;
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return failure_of(errno);
  static std::atomic<int64_t> count{0};
  const fs::path path = folder / name.text();
  const fs::path aside =
      folder / (std::to_string(getpid()) + "_" + std::to_string(++count) + std::string(unfinished));
  unlink(aside.c_str());  // of a process that was killed
  Descriptor descriptor(
      open(aside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (*descriptor < 0) return failure_of(errno);
  const auto failed = [&](int error) {
    unlink(aside.c_str());
    return failure_of(error);
  };
  // Room for all of it first: a page of a mapping for which there is none would kill the process.
  const size_t offset = head_of(name, {}, bytes).size(), size = offset + bytes;
  if (const int error = posix_fallocate(*descriptor, 0, static_cast<off_t>(size)); error != 0)
    return failed(error);
  void* mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, *descriptor, 0);
  if (mapping == MAP_FAILED) return failed(errno);
  want_huge_pages(mapping, size);
  auto* start = static_cast<std::byte*>(mapping);
  try {
    fill({start + offset, bytes});
  } catch (...) {
    munmap(mapping, size);
    unlink(aside.c_str());
    throw;
  }
  const std::string head = head_of(name, hash_of_bytes(start + offset, bytes), bytes);
  std::memcpy(start, head.data(), head.size());
  munmap(mapping, size);
  if (!descriptor.close()) return failed(errno);
  if (rename(aside.c_str(), path.c_str()) != 0) return failed(errno);
  return Stored::stored;
}

void remove_unfinished(const fs::path& folder) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != unfinished) continue;
    const auto written = fs::last_write_time(entry.path(), error);
    if (!error && now - written > abandoned_after) fs::remove(entry.path(), error);
  }
}

std::vector<FileInFolder> files_in(const fs::path& folder) {
  std::vector<FileInFolder> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    struct stat status {};
    if (entry.path().extension() != suffix || lstat(entry.path().c_str(), &status) != 0) continue;
    files.push_back({entry.path(), status.st_size, status.st_mtime});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

void touch(const fs::path& file) { utimensat(AT_FDCWD, file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

}  // namespace axrun::cache
