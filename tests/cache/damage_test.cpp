// Stores of which something is wrong. Whatever it is, what is found is what was put, or nothing, and every
// refusal has its reason. 500 damaged entries in a few seconds; AXRUN_TEST_DAMAGED=10000 for more.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <vector>

#include "runtime/cache/store.h"
#include "tests/cache/contents.h"
#include "tests/cache/folder.h"
#include "tests/cache/known_content.h"
#include "tests/cache/settings.h"

namespace axrun::cache {
namespace {

namespace fs = std::filesystem;

int damaged_entries() {
  const char* text = std::getenv("AXRUN_TEST_DAMAGED");
  return text == nullptr ? 500 : std::atoi(text);
}

/// A database of ours, opened by somebody who may do anything to it.
class Vandal {
 public:
  explicit Vandal(const fs::path& file) { EXPECT_EQ(sqlite3_open(file.c_str(), &connection_), SQLITE_OK); }
  ~Vandal() { sqlite3_close(connection_); }
  Vandal(const Vandal&) = delete;
  Vandal& operator=(const Vandal&) = delete;

  void run(const std::string& sql) {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
  }
  std::string blob(int64_t row, const std::string& column) {
    sqlite3_stmt* statement = nullptr;
    const std::string sql = "SELECT " + column + " FROM entries WHERE rowid=" + std::to_string(row);
    EXPECT_EQ(sqlite3_prepare_v2(connection_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const void* bytes = sqlite3_column_blob(statement, 0);
    std::string value(static_cast<const char*>(bytes),
                      static_cast<size_t>(sqlite3_column_bytes(statement, 0)));
    sqlite3_finalize(statement);
    return value;
  }
  void set_blob(int64_t row, const std::string& column, const std::string& value) {
    sqlite3_stmt* statement = nullptr;
    const std::string sql = "UPDATE entries SET " + column + "=? WHERE rowid=" + std::to_string(row);
    EXPECT_EQ(sqlite3_prepare_v2(connection_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
    sqlite3_bind_blob(statement, 1, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_DONE) << sqlite3_errmsg(connection_);
    sqlite3_finalize(statement);
  }

 private:
  sqlite3* connection_ = nullptr;
};

enum Kind { flipped_bit, cut, swapped_bodies, swapped_places, machine, version, checksum, kinds };

/// Rows are numbered from 1 as they were put. True where the entry is not to be found any more.
void damage(Vandal& vandal, int64_t row, int64_t other, Kind kind, std::mt19937_64& random) {
  const std::string at = " WHERE rowid=" + std::to_string(row);
  switch (kind) {
    case flipped_bit: {
      std::string body = vandal.blob(row, "body");
      body[random() % body.size()] ^= static_cast<char>(1U << random() % 8);
      return vandal.set_blob(row, "body", body);
    }
    case cut: {
      std::string body = vandal.blob(row, "body");
      body.resize(random() % body.size());
      return vandal.set_blob(row, "body", body);
    }
    case swapped_bodies:
      // With its checksum, so that both are right by themselves.
      vandal.set_blob(row, "checksum", vandal.blob(other, "checksum"));
      return vandal.set_blob(row, "body", vandal.blob(other, "body"));
    case swapped_places: {
      const std::string here = vandal.blob(row, "subject"), there = vandal.blob(other, "subject");
      vandal.set_blob(other, "subject", "in between");
      vandal.set_blob(row, "subject", there);
      return vandal.set_blob(other, "subject", here);
    }
    case machine:
      return vandal.run("UPDATE entries SET machine='another machine'" + at);
    case version:
      return vandal.run("UPDATE entries SET generator='version 0'" + at);
    case checksum: {
      std::string sum = vandal.blob(row, "checksum");
      sum[random() % sum.size()] ^= static_cast<char>(1U << random() % 8);
      return vandal.set_blob(row, "checksum", sum);
    }
    case kinds:
      break;
  }
}

TEST(Damage, DamagedEntriesAreNeverFound) {
  constexpr int entries = 100;
  std::mt19937_64 random(std::random_device{}());
  const uint64_t seed = random();
  random.seed(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  int64_t damaged = 0, refused = 0;
  for (int round = 0; damaged < damaged_entries(); ++round) {
    const TemporaryFolder folder;
    const Part part = round % 2 == 0 ? Part::certificates : Part::code;
    {
      const auto store = Store::open(settings_in(folder.path()));
      for (uint64_t n = 0; n < entries; ++n)
        ASSERT_EQ(store->put(part, key_of(n), payload_of(n)), Stored::stored);
    }
    std::set<uint64_t> hit;
    {
      Vandal vandal(folder / (is_portable(part) ? "results.db" : "machine.db"));
      vandal.run("PRAGMA synchronous=OFF; BEGIN");
      for (uint64_t n = 0; n + 1 < entries; n += 2) {
        const auto kind = static_cast<Kind>(random() % kinds);
        damage(vandal, static_cast<int64_t>(n + 1), static_cast<int64_t>(n + 2), kind, random);
        hit.insert(n);
        ++damaged;
        if (kind == swapped_places) {
          hit.insert(n + 1);
          ++damaged;
        }
      }
      vandal.run("COMMIT");
    }
    const auto store = Store::open(settings_in(folder.path()));
    for (uint64_t n = 0; n < entries; ++n) {
      const std::optional<std::string> found = store->get(part, key_of(n));
      const bool is_damaged = hit.count(n) > 0;
      ASSERT_EQ(found, is_damaged ? std::nullopt : std::optional(payload_of(n))) << n;
    }
    const Counters counters = store->counters();
    EXPECT_EQ(counters.all_refused(), static_cast<int64_t>(hit.size()));
    EXPECT_EQ(counters.of(Refusal::damaged), static_cast<int64_t>(hit.size()));
    EXPECT_EQ(counters.misses, static_cast<int64_t>(hit.size()));
    refused += counters.all_refused();
    // They make place for what is right.
    for (const uint64_t n : hit) ASSERT_EQ(store->put(part, key_of(n), payload_of(n)), Stored::stored);
    for (const uint64_t n : hit) ASSERT_EQ(store->get(part, key_of(n)), payload_of(n));
  }
  EXPECT_EQ(refused, damaged);
  RecordProperty("damaged", static_cast<int>(damaged));
}

TEST(Damage, DamagedDatabasesAreSetAside) {
  constexpr uint64_t entries = 30;
  std::mt19937_64 random(std::random_device{}());
  const uint64_t seed = random();
  random.seed(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const TemporaryFolder whole;
  {
    const auto store = Store::open(settings_in(whole.path()));
    for (uint64_t n = 0; n < entries; ++n) store->put(Part::plans, key_of(n), payload_of(n));
  }
  const std::string right = contents_of(whole / "results.db");
  ASSERT_GT(right.size(), 10'000U);
  int64_t wrong = 0, set_aside = 0;
  for (int round = 0; round < std::max(damaged_entries() / 10, 20); ++round) {
    std::string bytes = right;
    switch (round % 5) {
      case 0:
        bytes.resize(random() % bytes.size());
        break;
      case 1:
        for (int n = 0; n < 64; ++n) bytes[random() % bytes.size()] ^= static_cast<char>(1U << random() % 8);
        break;
      case 2:
        for (int n = 0; n < 8; ++n) bytes[random() % 4096] ^= static_cast<char>(1U << random() % 8);
        break;
      case 3:
        std::memset(bytes.data() + random() % (bytes.size() - 4096), static_cast<int>(random()), 4096);
        break;
      default:
        for (char& byte : bytes) byte = static_cast<char>(random());
    }
    const TemporaryFolder folder;
    write_file(folder / "results.db", bytes);
    // Damage to what leads to entries may be found late, and what was stored until then is lost.
    int64_t missing = 1;
    constexpr int most_sessions = 8;
    for (int session = 0; session < most_sessions && missing > 0; ++session) {
      const auto store = Store::open(settings_in(folder.path()));
      missing = 0;
      for (uint64_t n = 0; n < entries; ++n) {
        const auto found = store->get(Part::plans, key_of(n));
        ASSERT_EQ(found.value_or(payload_of(n)), payload_of(n)) << "round " << round;
        if (found) continue;
        ++missing;
        const Stored outcome = store->put(Part::plans, key_of(n), payload_of(n));
        // A version that is later than ours, by its first bytes: left alone.
        if (outcome == Stored::read_only && store->counters().of(Refusal::outdated) > 0) break;
        ASSERT_EQ(outcome, Stored::stored) << "round " << round;
      }
      if (store->counters().of(Refusal::outdated) > 0) missing = 0;
      wrong += missing;
      set_aside += store->counters().set_aside;
    }
    ASSERT_EQ(missing, 0) << "round " << round;
  }
  EXPECT_GT(wrong, 0);
  EXPECT_GT(set_aside, 0);
}

/// A flipped bit in the number of the schema's format: SQLite says nothing but that there was an error.
TEST(Damage, DatabasesOfAFormatThatThereIsNotAreSetAside) {
  constexpr size_t last_of_schema_format = 47;
  const TemporaryFolder folder;
  Store::open(settings_in(folder.path()))->put(Part::plans, key_of(1), payload_of(1));
  std::string bytes = contents_of(folder / "results.db");
  ASSERT_GT(bytes.size(), last_of_schema_format);
  bytes[last_of_schema_format] ^= 0x40;
  write_file(folder / "results.db", bytes);
  const auto store = Store::open(settings_in(folder.path()));
  EXPECT_EQ(store->get(Part::plans, key_of(1)), std::nullopt);
  ASSERT_EQ(store->put(Part::plans, key_of(1), payload_of(1)), Stored::stored);
  EXPECT_EQ(store->get(Part::plans, key_of(1)), payload_of(1));
  EXPECT_EQ(store->counters().set_aside, 1);
}

TEST(Damage, DamagedFilesAreNeverMapped) {
  std::mt19937_64 random(std::random_device{}());
  const uint64_t seed = random();
  random.seed(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const TemporaryFolder folder;
  const auto store = Store::open(settings_in(folder.path()));
  const std::string payload = payload_of(7);
  const auto put = [&](const std::string& key) {
    return store->put_file(key, payload.size(), [&](std::span<std::byte> bytes) {
      std::memcpy(bytes.data(), payload.data(), payload.size());
    });
  };
  ASSERT_NE(put("a"), nullptr);
  const fs::path file = fs::directory_iterator(folder / "weights")->path();
  const std::string right = contents_of(file);
  int rounds = 0;
  for (; rounds < std::max(damaged_entries() / 5, 100); ++rounds) {
    std::string bytes = right;
    constexpr size_t head = 100;  // what follows on its page says nothing
    if (rounds % 3 == 0)
      bytes.resize(random() % bytes.size());
    else if (rounds % 3 == 1)
      bytes[random() % head] ^= static_cast<char>(1U << random() % 8);
    else
      bytes[4096 + random() % (bytes.size() - 4096)] ^= static_cast<char>(1U << random() % 8);
    fs::remove(file);
    write_file(file, bytes);
    ASSERT_EQ(store->get_file("a"), nullptr) << "round " << rounds;
    ASSERT_EQ(store->counters().all_refused(), rounds + 1);
  }
  // A file under another one's name.
  ASSERT_NE(put("b"), nullptr);
  ASSERT_NE(put("a"), nullptr);
  std::vector<fs::path> both;
  for (const auto& entry : fs::directory_iterator(folder / "weights")) both.push_back(entry.path());
  ASSERT_EQ(both.size(), 2U);
  fs::rename(both[0], folder / "between");
  fs::rename(both[1], both[0]);
  fs::rename(folder / "between", both[1]);
  EXPECT_EQ(store->get_file("a"), nullptr);
  EXPECT_EQ(store->get_file("b"), nullptr);
  EXPECT_EQ(store->counters().of(Refusal::other_key), 2);
  EXPECT_FALSE(store->has_file("a") || store->has_file("b")) << "what lies in the wrong place is in the way";
}

TEST(Damage, DatabasesOfOthersAreNotTouchedByTheirTriggers) {
  const TemporaryFolder folder;
  {
    const auto store = Store::open(settings_in(folder.path()));
    store->put(Part::plans, "a", "b");
  }
  Vandal(folder / "results.db")
      .run("CREATE TRIGGER evil AFTER INSERT ON entries BEGIN DELETE FROM entries; END");
  const auto store = Store::open(settings_in(folder.path()));
  EXPECT_FALSE(store->get(Part::plans, "a"));
  EXPECT_EQ(store->counters().set_aside, 1);
  EXPECT_EQ(store->put(Part::plans, "a", "c"), Stored::stored);
  EXPECT_EQ(store->get(Part::plans, "a"), "c");
}

TEST(Damage, WhatALaterVersionMadeStays) {
  const TemporaryFolder folder;
  {
    const auto store = Store::open(settings_in(folder.path()));
    store->put(Part::plans, "a", "b");
  }
  Vandal(folder / "results.db").run("PRAGMA user_version=1000");
  {
    const auto store = Store::open(settings_in(folder.path()));
    EXPECT_FALSE(store->get(Part::plans, "a"));
    EXPECT_EQ(store->counters().of(Refusal::outdated), 1);
    EXPECT_EQ(store->put(Part::plans, "a", "c"), Stored::read_only);
    EXPECT_FALSE(store->troubles().empty());
  }
  Vandal(folder / "results.db").run("PRAGMA user_version=1");
  EXPECT_EQ(Store::open(settings_in(folder.path()))->get(Part::plans, "a"), "b");
}

}  // namespace
}  // namespace axrun::cache
