// Processes that are killed while they write, many at once, and forks. 30 kills in a few seconds;
// AXRUN_TEST_KILLS=1000 for more.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "runtime/cache/store.h"
#include "tests/cache/child.h"
#include "tests/cache/folder.h"
#include "tests/cache/known_content.h"
#include "tests/cache/settings.h"

namespace axrun::cache {
namespace {

namespace fs = std::filesystem;

int kills() {
  const char* text = std::getenv("AXRUN_TEST_KILLS");
  return text == nullptr ? 30 : std::atoi(text);
}

constexpr Part parts[] = {Part::schedules, Part::code};
constexpr uint64_t most_numbers = 200;

bool put_file(Store& store, uint64_t number) {
  const std::string payload = payload_of(number);
  return store.put_file(key_of(number), payload.size(), [&](std::span<std::byte> bytes) {
    std::memcpy(bytes.data(), payload.data(), payload.size());
  }) != nullptr;
}

/// Empty where nothing is found.
std::string file_in(Store& store, uint64_t number) {
  const auto file = store.get_file(key_of(number));
  if (file == nullptr) return {};
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

/// Writes in an order of its own until it is killed; says what is stored.
int write_without_end(const fs::path& folder, uint64_t seed, int pipe) {
  std::mt19937_64 random(seed);
  const auto store = Store::open(settings_in(folder));
  for (;;) {
    const uint32_t number = random() % most_numbers, kind = random() % 3;
    const bool stored = kind == 2
                            ? put_file(*store, number)
                            : store->put(parts[kind], key_of(number), payload_of(number)) == Stored::stored;
    if (!stored) return 1;
    const std::array<uint32_t, 2> done = {kind, number};
    if (write(pipe, done.data(), sizeof done) != sizeof done) return 2;
    if (random() % 50 == 0) store->release();
  }
}

TEST(Processes, WhatWasStoredOutlivesEveryKill) {
  std::mt19937_64 random(std::random_device{}());
  const uint64_t seed = random();
  random.seed(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const TemporaryFolder folder;
  std::set<std::array<uint32_t, 2>> stored;
  int64_t said = 0;
  for (int kill_number = 0; kill_number < kills(); ++kill_number) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK), 0);
    const uint64_t child_seed = random();
    const pid_t child = start_child([&] {
      fcntl(ends[1], F_SETFL, 0);
      return write_without_end(folder.path(), child_seed, ends[1]);
    });
    close(ends[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    kill(child, SIGKILL);
    ASSERT_EQ(end_of(child), 128 + SIGKILL) << "it ended by itself";
    std::array<uint32_t, 2> done{};
    while (read(ends[0], done.data(), sizeof done) == sizeof done) {
      stored.insert(done);
      ++said;
    }
    close(ends[0]);
    const auto store = Store::open(settings_in(folder.path()));
    for (uint32_t number = 0; number < most_numbers; ++number) {
      // All at the end, some in between.
      if (kill_number + 1 < kills() && random() % 8 != 0) continue;
      for (uint32_t kind = 0; kind < 3; ++kind) {
        const bool there = stored.count({kind, number}) > 0;
        const std::string right = payload_of(number);
        const std::string found =
            kind == 2 ? file_in(*store, number) : store->get(parts[kind], key_of(number)).value_or("");
        ASSERT_TRUE(found == right || (found.empty() && !there))
            << "kill " << kill_number << ", kind " << kind << ", " << number;
      }
    }
    const Counters counters = store->counters();
    ASSERT_EQ(counters.all_refused(), 0) << "kill " << kill_number;
    ASSERT_EQ(counters.set_aside, 0);
  }
  EXPECT_GT(said, 0);
  RecordProperty("stored", static_cast<int>(said));
  std::printf("%d kills, %ld writes that were done\n", kills(), static_cast<long>(said));
}

TEST(Processes, EightAtOnce) {
  const TemporaryFolder folder;
  const auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    Settings settings = settings_in(folder.path());
    settings.busy_milliseconds = 2000;  // here nothing is to be missed
    const auto store = Store::open(settings);
    for (int n = 0; n < 150; ++n) {
      const uint64_t number = random() % most_numbers;
      const Part part = parts[random() % 2];
      if (const auto found = store->get(part, key_of(number)); found && *found != payload_of(number))
        return 1;
      if (store->put(part, key_of(number), payload_of(number)) != Stored::stored) return 2;
      if (store->get(part, key_of(number)) != payload_of(number)) return 3;
      if (n % 10 == 0 && !put_file(*store, number)) return 4;
      if (const std::string found = file_in(*store, number); !found.empty() && found != payload_of(number))
        return 5;
    }
    for (size_t k = 0; k < refusal_count; ++k)
      if (store->counters().refused[k] != 0) return static_cast<int>(10 + k);
    return 0;
  };
  std::vector<pid_t> children;
  for (uint64_t n = 0; n < 8; ++n) children.push_back(start_child([&, n] { return work(n); }));
  for (const pid_t child : children) EXPECT_EQ(end_of(child), 0);
}

/// While one makes the tables, the others look what is there.
TEST(Processes, OneOfManyMakesTheDatabase) {
  for (int round = 0; round < 40; ++round) {
    const TemporaryFolder folder;
    std::array<int, 2> start{};
    ASSERT_EQ(pipe(start.data()), 0);
    const auto work = [&](uint64_t number) {
      Settings settings = settings_in(folder.path());
      settings.busy_milliseconds = 2000;
      const auto store = Store::open(settings);
      char byte = 0;
      close(start[1]);
      if (read(start[0], &byte, 1) != 0) return 1;
      if (store->put(Part::plans, key_of(number), payload_of(number)) != Stored::stored) return 2;
      return store->counters().all_refused() == 0 && store->counters().set_aside == 0 ? 0 : 3;
    };
    std::vector<pid_t> children;
    for (uint64_t n = 0; n < 4; ++n) children.push_back(start_child([&, n] { return work(n); }));
    close(start[0]);
    close(start[1]);  // now they all go on
    for (const pid_t child : children) EXPECT_EQ(end_of(child), 0);
    const auto store = Store::open(settings_in(folder.path()));
    for (uint64_t n = 0; n < 4; ++n) EXPECT_EQ(store->get(Part::plans, key_of(n)), payload_of(n));
  }
}

TEST(Processes, EightFindTheSameDatabaseDamaged) {
  const TemporaryFolder folder;
  { Store::open(settings_in(folder.path()))->put(Part::plans, "a", payload_of(1)); }
  fs::resize_file(folder / "results.db", 3000);
  const auto work = [&](uint64_t seed) {
    const auto store = Store::open(settings_in(folder.path()));
    for (uint64_t n = 0; n < 50; ++n) {
      const uint64_t number = seed * 1000 + n;
      store->put(Part::plans, key_of(number), payload_of(number));
      const auto found = store->get(Part::plans, key_of(number));
      if (found && *found != payload_of(number)) return 1;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (uint64_t n = 0; n < 8; ++n) children.push_back(start_child([&, n] { return work(n); }));
  for (const pid_t child : children) EXPECT_EQ(end_of(child), 0);
  const auto store = Store::open(settings_in(folder.path()));
  EXPECT_EQ(store->put(Part::plans, "a", "b"), Stored::stored);
  EXPECT_EQ(store->get(Part::plans, "a"), "b");
  EXPECT_TRUE(fs::exists(folder / "results.db.damaged"));
}

TEST(Processes, AForkHasFilesOfItsOwn) {
  const TemporaryFolder folder;
  const auto store = Store::open(settings_in(folder.path()));
  for (uint64_t n = 0; n < 20; ++n) {
    ASSERT_EQ(store->put(Part::plans, key_of(n), payload_of(n)), Stored::stored);
    const pid_t child = start_child([&] {
      if (store->get(Part::plans, key_of(n)) != payload_of(n)) return 1;
      return store->put(Part::plans, key_of(1000 + n), payload_of(n)) == Stored::stored ? 0 : 2;
    });
    // Meanwhile.
    EXPECT_NE(store->put(Part::plans, key_of(2000 + n), payload_of(n)), Stored::failed);
    ASSERT_EQ(end_of(child), 0);
    ASSERT_EQ(store->get(Part::plans, key_of(1000 + n)), payload_of(n));
  }
}

TEST(Processes, NobodyWaitsForALockedDatabase) {
  const TemporaryFolder folder;
  const auto store = Store::open(settings_in(folder.path()));
  ASSERT_EQ(store->put(Part::plans, "a", "b"), Stored::stored);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string file = (folder / "results.db").string();
  const pid_t child = start_child([&] {
    execlp("python3", "python3", "-c",
           "import sqlite3, sys, os, time\n"
           "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
           "c.execute('BEGIN IMMEDIATE')\n"
           "os.write(int(sys.argv[2]), b'x')\n"
           "time.sleep(60)",
           file.c_str(), std::to_string(ends[1]).c_str(), nullptr);
    return 1;
  });
  close(ends[1]);
  char locked = 0;
  ASSERT_EQ(read(ends[0], &locked, 1), 1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(store->get(Part::plans, "a"), "b") << "readers wait for nobody";
  EXPECT_EQ(store->put(Part::plans, "a", "c"), Stored::busy);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  kill(child, SIGKILL);
  end_of(child);
  close(ends[0]);
  EXPECT_EQ(store->counters().of(Stored::busy), 1);
  EXPECT_EQ(store->put(Part::plans, "a", "c"), Stored::stored);
}

}  // namespace
}  // namespace axrun::cache
