#include "onnx_import/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "ir/error.h"
#include "onnx_import/names.h"

namespace axrun::onnx_import {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  /// Closes and says whether that worked: a write can fail as late as here.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

[[noreturn]] void fail(const std::string& path, const char* doing, int error) {
  throw Error(Fault::user, fmt::format("{} cannot be {}: {}", in_quotes(path), doing, std::strerror(error)));
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // Non-blocking, so that a named pipe cannot hold us up; regular files ignore it.
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.number() < 0) fail(path, "opened", errno);
  struct stat status = {};
  if (::fstat(descriptor.number(), &status) != 0) fail(path, "examined", errno);
  if (S_ISDIR(status.st_mode)) fail(path, "read", EISDIR);
  if (!S_ISREG(status.st_mode)) {
    throw Error(Fault::user, fmt::format("{} cannot be read: it is not a regular file", in_quotes(path)));
  }
  std::shared_ptr<MappedFile> file(new MappedFile());
  const auto size = static_cast<size_t>(status.st_size);
  if (size != 0) {
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
    if (start == MAP_FAILED) fail(path, "mapped", errno);
    file->bytes_ = std::string_view(static_cast<const char*>(start), size);
  }
  return file;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

ByteSource source_of(std::shared_ptr<const MappedFile> file) {
  const std::string_view bytes = file->bytes();
  return {bytes, std::move(file), true};
}

void release_pages(std::string_view part) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(part.data()) + part.size()) / page * page;
  // Only an optimisation: the pages are clean, and come back from the file when they are read again.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void write_whole_file(const std::string& path, std::string_view bytes) {
  const std::string aside = fmt::format("{}.{}.tmp", path, ::getpid());
  Descriptor descriptor(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (descriptor.number() < 0) fail(path, "written", errno);
  const auto give_up = [&](int error) {
    ::unlink(aside.c_str());
    fail(path, "written", error);
  };
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) give_up(errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (!descriptor.close()) give_up(errno);
  if (std::rename(aside.c_str(), path.c_str()) != 0) give_up(errno);
}

}  // namespace axrun::onnx_import
