#include "runtime/cli/model_path.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "ir/error.h"

namespace axrun::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what) {
  throw Error(Fault::user, fmt::format("standard input cannot be {}: {}", what, std::strerror(errno)));
}

bool write_all(int file, const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = write(file, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

void copy_standard_input(int file) {
  std::vector<char> buffer(size_t{1} << 20);
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) return;
    if (!write_all(file, buffer.data(), static_cast<size_t>(got))) fail("copied");
  }
}

}  // namespace

ModelPath::ModelPath(const std::string& given) : file_(given) {
  std::error_code error;
  if (given == "-" || given == "/dev/stdin") {
    copy_ = (fs::temp_directory_path(error) / "axrun_stdin_XXXXXX.onnx").string();
    const int file = mkstemps(copy_.data(), 5);
    if (file < 0) {
      copy_.clear();
      fail("copied");
    }
    try {
      copy_standard_input(file);
    } catch (...) {
      close(file);
      unlink(copy_.c_str());
      throw;
    }
    close(file);
    file_ = copy_;
  } else if (fs::is_directory(given, error)) {
    file_ = (fs::path(given) / "model.onnx").string();
    if (!fs::exists(file_, error))
      throw Error(Fault::user, fmt::format("'{}' is a folder without a file model.onnx", given));
  }
}

ModelPath::~ModelPath() {
  if (!copy_.empty()) unlink(copy_.c_str());
}

}  // namespace axrun::cli
