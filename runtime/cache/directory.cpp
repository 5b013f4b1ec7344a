#include "runtime/cache/directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <system_error>

namespace axrun::cache {
namespace {

namespace fs = std::filesystem;

constexpr mode_t others_write = S_IWGRP | S_IWOTH;
constexpr int most_links = 40;

bool is_ours(const struct stat& status) { return status.st_uid == geteuid() || status.st_uid == 0; }

void put_in_front(std::deque<fs::path>& parts, const fs::path& path) {
  const fs::path relative = path.relative_path();
  parts.insert(parts.begin(), relative.begin(), relative.end());
}

}  // namespace

Trust trust_in(const fs::path& folder, bool of_root) {
  Trust result;
  const auto refused = [&](const fs::path& where, std::string_view why) {
    result.reason = fmt::format("{} {}", where.string(), why);
    return result;
  };
  std::error_code error;
  const fs::path absolute = fs::absolute(folder, error);
  if (error) return refused(folder, error.message());
  std::deque<fs::path> parts;
  put_in_front(parts, absolute);
  fs::path at = "/";
  struct stat status {};
  int links = 0;
  for (;;) {
    if (lstat(at.c_str(), &status) != 0) return refused(at, std::strerror(errno));
    if (!is_ours(status)) return refused(at, "belongs to another user");
    if (S_ISLNK(status.st_mode)) {
      if (++links > most_links) return refused(at, "has too many symbolic links");
      const fs::path target = fs::read_symlink(at, error);
      if (error) return refused(at, error.message());
      at = target.is_absolute() ? fs::path("/") : at.parent_path();
      put_in_front(parts, target);
      continue;
    }
    if (!S_ISDIR(status.st_mode)) return refused(at, "is no folder");
    while (!parts.empty() && (parts.front().empty() || parts.front() == ".")) parts.pop_front();
    // In a sticky folder like /tmp, others cannot exchange what is ours.
    const bool sticky = (status.st_mode & S_ISVTX) != 0 && !parts.empty();
    if ((status.st_mode & others_write) != 0 && !sticky) return refused(at, "can be written to by others");
    if (parts.empty()) break;
    at = parts.front() == ".." ? at.parent_path() : at / parts.front();
    parts.pop_front();
  }
  if (!of_root && status.st_uid != geteuid()) return refused(at, "belongs to another user");
  result.trusted = true;
  result.folder = at;
  result.writable = access(at.c_str(), W_OK | X_OK) == 0;
  return result;
}

std::string make_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path absolute = fs::absolute(folder, error);
  if (error) return error.message();
  fs::path at;
  for (const fs::path& part : absolute) {
    at /= part;
    if (part.empty()) continue;
    if (mkdir(at.c_str(), S_IRWXU) == 0 || errno == EEXIST) continue;
    // What is there already may say otherwise on a disk that is read only.
    const int failure = errno;
    struct stat status {};
    if (stat(at.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
      return fmt::format("{} cannot be made: {}", at.string(), std::strerror(failure));
  }
  return {};
}

bool is_trusted_file(const fs::path& file) {
  struct stat status {};
  if (lstat(file.c_str(), &status) != 0) return errno == ENOENT;
  return is_trusted(status);
}

bool is_trusted_folder(const fs::path& folder, bool of_root) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) return errno == ENOENT;
  return S_ISDIR(status.st_mode) && (status.st_mode & others_write) == 0 &&
         (status.st_uid == geteuid() || (of_root && status.st_uid == 0));
}

bool is_trusted(const struct stat& status) {
  return S_ISREG(status.st_mode) && is_ours(status) && (status.st_mode & others_write) == 0;
}

}  // namespace axrun::cache
