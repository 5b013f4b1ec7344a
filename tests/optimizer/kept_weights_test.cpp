// Packed constants as files that processes share.
#include "runtime/warm/kept_weights.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/cache/child.h"
#include "tests/cache/folder.h"
#include "tests/cache/settings.h"

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;
using cache::Refusal;
using cache::Stored;
using jit::PreparedKey;
using runtime::KeptWeights;
using std::chrono::milliseconds;

constexpr milliseconds long_enough{20'000};
constexpr size_t large = KeptWeights::least_bytes + 40;

/// Constants by number: contents follow from `seed`, so that two may be equal and lie elsewhere.
struct Constants {
  explicit Constants(char seed) : bytes(1000, seed) {}
  PreparedKey key(const std::string& text) const { return {text, {{bytes.data(), bytes.size()}}}; }
  std::string bytes;
};

std::optional<cache::Hash> every_hash(const void* address, size_t bytes) {
  return cache::hash_of_bytes(address, bytes);
}

std::shared_ptr<char> packed(char value, size_t bytes = large) {
  std::shared_ptr<char> memory(new char[bytes], std::default_delete<char[]>());
  std::memset(memory.get(), value, bytes);
  return memory;
}

bool holds(const std::shared_ptr<char>& part, char value, size_t bytes = large) {
  return part && std::string_view(part.get(), bytes) == std::string(bytes, value);
}

/// Of this process, of files in the folder: how many, and with which permissions.
std::vector<std::string> mappings_of(const fs::path& folder) {
  std::ifstream maps("/proc/self/maps");
  std::vector<std::string> found;
  for (std::string line; std::getline(maps, line);)
    if (line.find(folder.string()) != std::string::npos) found.push_back(line.substr(line.find(' ') + 1, 4));
  return found;
}

class KeptWeightsTest : public testing::Test {
 protected:
  std::shared_ptr<cache::Store> open() const {
    return cache::Store::open(cache::settings_in(folder_.path()));
  }
  /// What a process keeps that has packed these.
  std::vector<std::string> keep(const std::shared_ptr<cache::Store>& store, const PreparedKey& key,
                                char value, size_t bytes = large, milliseconds longest = long_enough) const {
    jit::PreparedStore prepared;
    const auto part = prepared.keep(key, packed(value, bytes), bytes);
    const KeptWeights::Kept kept = KeptWeights(store, every_hash).keep({&prepared}, longest);
    EXPECT_EQ(kept.in_time, longest.count() > 0 || !kept.names.empty() || !store->writable());
    return kept.names;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (!fs::exists(folder_ / "weights")) return found;
    for (const auto& entry : fs::directory_iterator(folder_ / "weights")) found.push_back(entry.path());
    return found;
  }

  const cache::TemporaryFolder folder_;
  const Constants constants_{'c'};
  const PreparedKey key_ = constants_.key("in panels");
};

TEST_F(KeptWeightsTest, TheNextProcessMapsWhatOneHasPacked) {
  EXPECT_EQ(keep(open(), key_, 'p').size(), 1U);
  // Equal constants that lie elsewhere.
  const Constants elsewhere('c');
  auto kept = std::make_shared<KeptWeights>(open(), every_hash);
  jit::PreparedStore prepared;
  prepared.start_from(kept);
  auto part = prepared.find(elsewhere.key("in panels"), large);
  ASSERT_TRUE(holds(part, 'p'));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(part.get()) % 64, 0U);
  EXPECT_EQ(prepared.bytes(), large);
  EXPECT_EQ(prepared.find(elsewhere.key("in panels"), large), part) << "one mapping for all kernels";
  const std::vector<std::string> mapped = mappings_of(folder_.path());
  ASSERT_EQ(mapped.size(), 1U);
  EXPECT_EQ(mapped[0], "r--s");
  part.reset();
  EXPECT_TRUE(mappings_of(folder_.path()).empty()) << "with its last kernel";
}

TEST_F(KeptWeightsTest, OtherConstantsAndOtherFormsAreOtherParts) {
  keep(open(), key_, 'p');
  KeptWeights kept(open(), every_hash);
  EXPECT_EQ(kept.find(Constants('d').key("in panels"), large), nullptr);
  EXPECT_EQ(kept.find(constants_.key("in other panels"), large), nullptr);
  EXPECT_EQ(kept.find(key_, large + 64), nullptr);
  PreparedKey two = key_;
  two.constants.push_back(two.constants[0]);
  EXPECT_EQ(kept.find(two, large), nullptr);
  EXPECT_TRUE(holds(kept.find(key_, large), 'p'));
}

TEST_F(KeptWeightsTest, OneFileForAllModelsThatHaveTheConstant) {
  const auto store = open();
  const auto names = keep(store, key_, 'p');
  const int64_t written = store->counters().bytes_written;
  const Constants of_another_model('c');
  EXPECT_EQ(keep(store, of_another_model.key("in panels"), 'p'), names);
  EXPECT_EQ(store->counters().bytes_written, written);
  EXPECT_EQ(files().size(), 1U);
  EXPECT_NE(keep(store, Constants('d').key("in panels"), 'q'), names);
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(KeptWeightsTest, SmallPartsAndThoseOfUnknownConstantsAreNotKept) {
  EXPECT_TRUE(keep(open(), key_, 'p', KeptWeights::least_bytes - 1).empty());
  const auto nobody_knows = [](const void*, size_t) { return std::optional<cache::Hash>(); };
  jit::PreparedStore prepared;
  const auto part = prepared.keep(key_, packed('p'), large);
  KeptWeights kept(open(), nobody_knows);
  EXPECT_TRUE(kept.keep({&prepared}, long_enough).names.empty());
  EXPECT_EQ(kept.find(key_, large), nullptr);
  EXPECT_TRUE(files().empty());
}

TEST_F(KeptWeightsTest, WithoutTimeOrRoomNothingIsKept) {
  EXPECT_TRUE(keep(open(), key_, 'p', large, milliseconds(0)).empty());
  cache::Settings settings = cache::settings_in(folder_.path());
  settings.limit_bytes = static_cast<int64_t>(2 * large - 2);
  const auto store = cache::Store::open(settings);
  EXPECT_TRUE(keep(store, key_, 'p').empty()) << "more than half of the cache";
  EXPECT_TRUE(files().empty());
  settings.limit_bytes = 0;
  settings.directory.clear();
  EXPECT_TRUE(keep(cache::Store::open(settings), key_, 'p').empty());
}

TEST_F(KeptWeightsTest, AFullDiskIsNoTrouble) {
  const auto work = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{large / 2, large / 2};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto store = open();
    if (!keep(store, key_, 'p').empty()) return 1;
    return store->counters().of(Stored::disk_full) == 1 ? 0 : 2;
  };
  EXPECT_EQ(cache::in_child(work), 0);
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(keep(open(), key_, 'p').size(), 1U);
}

TEST_F(KeptWeightsTest, ALayerIsReadAndNotWrittenTo) {
  keep(open(), key_, 'p');
  const cache::TemporaryFolder own;
  cache::Settings settings = cache::settings_in(own.path());
  settings.layers = {folder_.path()};
  const auto store = cache::Store::open(settings);
  EXPECT_EQ(keep(store, key_, 'p').size(), 1U) << "it is there";
  EXPECT_FALSE(fs::exists(own / "weights"));
  EXPECT_TRUE(holds(KeptWeights(store, every_hash).find(key_, large), 'p'));
}

TEST_F(KeptWeightsTest, FetchedFilesGoToTheFirstWhoAsks) {
  const auto store = open();
  std::vector<std::string> names = keep(store, key_, 'p');
  KeptWeights kept(store, every_hash);
  const auto pool = runtime::ThreadPool::make(2);
  EXPECT_TRUE(kept.fetch(names, *pool));
  EXPECT_EQ(mappings_of(folder_.path()).size(), 1U);
  fs::remove(files().at(0));
  {
    const auto part = kept.find(key_, large);
    EXPECT_TRUE(holds(part, 'p')) << "what is mapped stays";
  }
  EXPECT_TRUE(mappings_of(folder_.path()).empty());
  EXPECT_EQ(kept.find(key_, large), nullptr);
  names.emplace_back("what nobody has");
  EXPECT_FALSE(KeptWeights(store, every_hash).fetch(names, *pool));
}

TEST_F(KeptWeightsTest, WhatIsDamagedTruncatedOrSwappedIsRefusedAndKeptAnew) {
  const PreparedKey other = constants_.key("in other panels");
  const auto damage = [&](const std::string& how) {
    const fs::path file = files().at(0);
    if (how == "a bit") {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(static_cast<std::streamoff>(fs::file_size(file) - 30));
      bytes.put('x');
    } else if (how == "cut off") {
      fs::resize_file(file, fs::file_size(file) - 4096);
    } else if (how == "of length 0") {
      fs::resize_file(file, 0);
    } else {
      fs::rename(files().at(0), files().at(1));
    }
  };
  for (const std::string how : {"a bit", "cut off", "of length 0", "swapped"}) {
    for (const fs::path& file : files()) fs::remove(file);
    keep(open(), key_, 'p');
    if (how == "swapped") keep(open(), other, 'o');
    damage(how);
    const auto store = open();
    const auto pool = runtime::ThreadPool::make(1);
    std::vector<std::string> names = keep(store, key_, 'p', large, milliseconds(0));
    KeptWeights kept(store, every_hash);
    kept.fetch(names, *pool);
    const auto part = kept.find(key_, large), second = kept.find(other, large);
    if (how == "swapped") {
      // One of the two lies where the other one was.
      EXPECT_TRUE(!part && !second);
      EXPECT_EQ(store->counters().of(Refusal::other_key), 1);
    } else {
      EXPECT_EQ(part, nullptr) << how;
      EXPECT_EQ(store->counters().of(Refusal::damaged), 1) << how;
      EXPECT_TRUE(files().empty()) << how;
    }
    for (const fs::path& file : files()) fs::remove(file);
    EXPECT_EQ(keep(store, key_, 'n').size(), 1U) << how;
    EXPECT_TRUE(holds(KeptWeights(open(), every_hash).find(key_, large), 'n')) << how;
  }
}

TEST_F(KeptWeightsTest, ProcessesReadOneCopyOfLargeFiles) {
  constexpr size_t bytes = size_t{5} << 20;
  keep(open(), key_, 'p', bytes);
  // Resident and of nobody else's, of the file's mapping: in KiB.
  const auto work = [&] {
    KeptWeights kept(open(), every_hash);
    const auto part = kept.find(key_, bytes);
    if (!holds(part, 'p', bytes)) return 1;
    std::ifstream maps("/proc/self/smaps");
    bool ours = false;
    for (std::string line; std::getline(maps, line);) {
      if (line.find("r--s") != std::string::npos)
        ours = line.find(folder_.path().string()) != std::string::npos;
      if (ours && line.starts_with("Anonymous:")) return std::stoi(line.substr(10)) == 0 ? 0 : 2;
    }
    return 3;
  };
  const pid_t one = cache::start_child(work);
  EXPECT_EQ(cache::in_child(work), 0);
  EXPECT_EQ(cache::end_of(one), 0);
}

}  // namespace
}  // namespace axrun::tests
