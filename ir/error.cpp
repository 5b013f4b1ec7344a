#include "ir/error.h"

#include <string_view>

namespace axrun {

void throw_internal(const char* condition, const char* file, int line) {
  // The folder and the file name are enough to find the place, and are the same on every machine.
  std::string_view path = file;
  const size_t name = path.find_last_of('/');
  const size_t folder = name == std::string_view::npos || name == 0 ? name : path.find_last_of('/', name - 1);
  if (folder != std::string_view::npos) path.remove_prefix(folder + 1);
  throw Error(Fault::internal, "broken invariant: " + std::string(condition) + " (" + std::string(path) +
                                   ":" + std::to_string(line) + ")");
}

}  // namespace axrun
