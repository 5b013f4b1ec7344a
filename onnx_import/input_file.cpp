#include "onnx_import/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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

std::shared_ptr<const InputFile> InputFile::open(const std::string& path) {
  // Non-blocking, so that a named pipe cannot hold us up; regular files ignore it.
  std::shared_ptr<InputFile> file(
      new InputFile(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
  if (file->descriptor_ < 0) fail(path, "opened", errno);
  if (::fstat(file->descriptor_, &file->opened_) != 0) fail(path, "examined", errno);
  if (S_ISDIR(file->opened_.st_mode)) fail(path, "read", EISDIR);
  if (!S_ISREG(file->opened_.st_mode)) {
    throw Error(Fault::user, fmt::format("{} cannot be read: it is not a regular file", in_quotes(path)));
  }
  return file;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(uint64_t offset, void* to, size_t count) const {
  constexpr size_t largest = size_t{1} << 30;  // the kernel's own limit is near 2^31
  auto* begin = static_cast<char*>(to);
  while (count != 0) {
    const ssize_t got = ::pread(descriptor_, begin, std::min(count, largest), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "read", errno);
    if (got == 0) break;
    begin += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<size_t>(got);
  }
  struct stat now = {};
  if (::fstat(descriptor_, &now) != 0) fail(path_, "examined", errno);
  if (count != 0 || now.st_size != opened_.st_size || now.st_mtim.tv_sec != opened_.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec) {
    throw Error(Fault::user, fmt::format("{} was written to while it was read", in_quotes(path_)));
  }
}

std::shared_ptr<const FileBytes> FileBytes::of_size(const InputFile& file) {
  std::shared_ptr<FileBytes> bytes(new FileBytes());
  if (file.size() == 0) return bytes;
  void* start = ::mmap(nullptr, file.size(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) fail(file.path(), "read", errno);
  bytes->bytes_ = std::string_view(static_cast<const char*>(start), file.size());
  return bytes;
}

std::shared_ptr<const FileBytes> FileBytes::read(const std::string& path) {
  const auto file = InputFile::open(path);
  auto bytes = of_size(*file);
  file->read(0, bytes->writable(), file->size());
  return bytes;
}

FileBytes::~FileBytes() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
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
