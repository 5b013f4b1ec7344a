#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/prepared_store.h"
#include "runtime/cache/hash.h"
#include "runtime/cache/store.h"
#include "runtime/optimizer_status.h"
#include "runtime/parallel.h"

namespace axrun::runtime {

/// Constants in the forms that kernels want, as files of the cache that every process of the machine maps
/// read only: one file for each, found by what was computed of which bytes. So models, numbers of threads and
/// plans that pack the same constants alike share one file, and one copy in memory.
class KeptWeights final : public jit::KeptParts {
 public:
  /// Smaller parts are packed sooner than found.
  static constexpr size_t least_bytes = size_t{64} << 10;
  /// How the keys of their files begin.
  static constexpr const char* prefix = "packed ";
  /// The hash of a constant's bytes; nothing where nobody knows it. Asked by any thread.
  using HashOf = std::function<std::optional<cache::Hash>(const void* address, size_t bytes)>;

  KeptWeights(std::shared_ptr<cache::Store> store, HashOf hash_of)
      : store_(std::move(store)), hash_of_(std::move(hash_of)) {}

  std::shared_ptr<char> find(const jit::PreparedKey& key, size_t bytes) override;

  /// Maps files of these names and looks at every byte of them, on the pool's threads, so that find() has
  /// them at hand. Before anybody calls that. False where one is missing, or was refused.
  bool fetch(const std::vector<std::string>& names, ThreadPool& pool);

  /// Stores what is in use in any of these and not stored yet, as long as there is time and room: half of
  /// the cache's at most.
  struct Kept {
    std::vector<std::string> names;  ///< of all that is stored now, in order
    bool in_time = true;             ///< otherwise there is more to be stored
    bool operator==(const Kept&) const = default;
  };
  using InUse = std::initializer_list<const jit::PreparedStore*>;
  Kept keep(InUse prepared, std::chrono::milliseconds longest);
  /// What is in use in any of these and stored, too.
  PackedComparison compare(InUse prepared) const;

 private:
  const std::shared_ptr<cache::Store> store_;
  const HashOf hash_of_;
  /// Whoever is first has it: without a lock, which a forked process might find closed.
  struct Fetched {
    std::atomic<bool> taken{false};
    std::shared_ptr<const cache::MappedFile> file;
  };
  std::map<std::string, Fetched> fetched_;
};

}  // namespace axrun::runtime
