#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace axrun::jit {

/// What a part of a kernel's prepared constants is: what is computed, in words that name no address, and of
/// which constants, in the order in which the text has them.
struct PreparedKey {
  struct Constant {
    const void* address;
    size_t bytes;
  };
  std::string text;
  std::vector<Constant> constants;

  friend bool operator<(const Constant& a, const Constant& b) {
    return std::tie(a.address, a.bytes) < std::tie(b.address, b.bytes);
  }
  friend bool operator<(const PreparedKey& a, const PreparedKey& b) {
    return std::tie(a.text, a.constants) < std::tie(b.text, b.constants);
  }
};

/// Parts that were prepared by another process.
class KeptParts {
 public:
  virtual ~KeptParts() = default;
  /// So many bytes that were computed alike of constants of equal contents, 64-byte aligned, never to be
  /// written to; null where there are none. Safe from many threads.
  virtual std::shared_ptr<char> find(const PreparedKey& key, size_t bytes) = 0;
};

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

  /// Where to look for what no kernel has. Before the store is used.
  void start_from(std::shared_ptr<KeptParts> kept) { kept_ = std::move(kept); }

  /// Null where no kernel has it, and nobody has kept it.
  std::shared_ptr<char> find(const PreparedKey& key, size_t bytes);
  /// What is there under this name: what another thread was faster with, or else `memory`, from now on.
  std::shared_ptr<char> keep(const PreparedKey& key, std::shared_ptr<char> memory, size_t bytes);

  /// Of the parts that are in use; and of those of them that were found kept.
  size_t bytes() const;
  size_t kept_bytes() const;
  /// Calls for each of them, which stays for the time of the call.
  void for_each(
      const std::function<void(const PreparedKey& key, const char* memory, size_t bytes)>& call) const;

 private:
  struct Part {
    std::weak_ptr<char> memory;
    size_t bytes = 0;
    bool kept = false;
  };
  std::shared_ptr<char> add(const PreparedKey& key, std::shared_ptr<char> memory, size_t bytes, bool kept);
  std::mutex own_;
  std::mutex& mutex_ = own_;
  std::map<PreparedKey, Part> parts_;
  std::shared_ptr<KeptParts> kept_;
};

}  // namespace axrun::jit
