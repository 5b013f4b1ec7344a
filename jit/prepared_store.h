#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace axrun::jit {

/// What kernels have prepared, by what it is: a part that one kernel has prepared serves every other kernel
/// that would prepare the same bytes, whatever else the two compute. Safe from many threads. Parts live as
/// long as kernels that use them.
class PreparedStore {
 public:
  PreparedStore() = default;
  /// With a lock that is somebody else's too; it must outlive the store.
  explicit PreparedStore(std::mutex& mutex) : mutex_(mutex) {}
  PreparedStore(const PreparedStore&) = delete;
  PreparedStore& operator=(const PreparedStore&) = delete;

  /// Null where no kernel has it.
  std::shared_ptr<char> find(const std::string& key);
  /// What is there under this name: what another thread was faster with, or else `memory`, from now on.
  std::shared_ptr<char> keep(const std::string& key, std::shared_ptr<char> memory, size_t bytes);

  /// Of the parts that are in use.
  size_t bytes() const;

 private:
  struct Part {
    std::weak_ptr<char> memory;
    size_t bytes = 0;
  };
  std::mutex own_;
  std::mutex& mutex_ = own_;
  std::map<std::string, Part> parts_;
};

}  // namespace axrun::jit
