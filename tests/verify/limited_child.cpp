#include "tests/verify/limited_child.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace axrun::tests {
namespace {

void write_all(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

}  // namespace

LimitedChild::LimitedChild(const std::function<std::string()>& work, int seconds) {
  std::array<int, 2> ends{};
  std::fflush(nullptr);  // else what is buffered could be written twice
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("no process");
  if (process_ == 0) {
    close(ends[0]);
    const rlimit most{static_cast<rlim_t>(seconds), static_cast<rlim_t>(seconds)};
    setrlimit(RLIMIT_CPU, &most);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    alarm(static_cast<unsigned>(10 * seconds));
    int code = 1;
    try {
      write_all(ends[1], work());
      code = 0;
    } catch (const std::exception&) {
      // Says so by its exit code.
    }
    _exit(code);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

LimitedChild::~LimitedChild() {
  if (process_ > 0) kill(process_, SIGKILL);
  result();
}

std::optional<std::string> LimitedChild::result() {
  if (process_ <= 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t count = read(pipe_, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(part.data(), static_cast<size_t>(count));
  }
  close(pipe_);
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

}  // namespace axrun::tests
