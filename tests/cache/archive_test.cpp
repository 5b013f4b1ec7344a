// What the command does with a cache: looks at it, removes from it, moves it. 300 damaged archives;
// AXRUN_TEST_DAMAGED=10000 for more.
#include "runtime/cache/archive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "runtime/cache/bytes.h"
#include "runtime/cache/entry.h"
#include "runtime/cache/survey.h"
#include "tests/cache/contents.h"
#include "tests/cache/folder.h"
#include "tests/cache/known_content.h"
#include "tests/cache/settings.h"

namespace axrun::cache {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t entries = 20;

void fill(const Settings& settings) {
  const auto store = Store::open(settings);
  for (uint64_t n = 0; n < entries; ++n) {
    store->put(Part::certificates, key_of(n), payload_of(n));
    store->put(Part::code, key_of(n), payload_of(n));
  }
  store->put_file("w", 100, [](auto bytes) { bytes[0] = std::byte{1}; });
}

TEST(Archive, OnlyWhatHoldsEverywhereIsTakenAlong) {
  const TemporaryFolder folder;
  fill(settings_in(folder / "here"));
  const Archived out = export_archive(settings_in(folder / "here"), folder / "archive");
  EXPECT_EQ(out.trouble, "");
  EXPECT_EQ(out.entries, static_cast<int64_t>(entries));
  Settings there = settings_in(folder / "there");
  there.machine = "another machine";
  const Archived in = import_archive(there, folder / "archive");
  EXPECT_EQ(in.trouble, "");
  EXPECT_EQ(in.entries, static_cast<int64_t>(entries));
  EXPECT_EQ(in.bytes, out.bytes);
  const auto store = Store::open(there);
  for (uint64_t n = 0; n < entries; ++n) {
    EXPECT_EQ(store->get(Part::certificates, key_of(n)), payload_of(n));
    EXPECT_FALSE(store->get(Part::code, key_of(n)));
  }
  EXPECT_EQ(store->get_file("w"), nullptr);
  EXPECT_FALSE(fs::exists(folder / "there" / "machine.db"));
  const Archived again = import_archive(there, folder / "archive");
  EXPECT_EQ(again.entries, 0);
  EXPECT_EQ(again.known, static_cast<int64_t>(entries));
}

/// An archive by hand, with what an export would never write.
TEST(Archive, MachineCodeInAnArchiveIsLeftOut) {
  const TemporaryFolder folder;
  const auto record = [](Part part, std::string_view key, std::string_view machine, bool damaged) {
    const Address address{part, key, "version 1", machine};
    Sealed sealed = *seal(address, "payload");
    if (damaged) sealed.checksum[0] ^= 1U;
    const auto text = [](const Hash& hash) {
      return std::string(reinterpret_cast<const char*>(hash.data()), hash.size());
    };
    Writer out;
    out.put(part)
        .put(std::string_view(text(address.subject())))
        .put(std::string_view(text(address.origin())));
    out.put(std::string_view("version 1")).put(machine).put(std::string_view(text(sealed.checksum)));
    out.put(std::string_view(sealed.body));
    return Writer().put(std::string_view(out.text())).text();
  };
  write_file(folder / "archive", "axrun cache 1\n" + record(Part::plans, "a", "", false) +
                                     record(Part::code, "b", "this machine", false) +
                                     record(Part::plans, "c", "", true) +
                                     record(Part::plans, "d", "this machine", false) + std::string(4, '\0'));
  const Archived in = import_archive(settings_in(folder / "there"), folder / "archive");
  EXPECT_EQ(in.trouble, "");
  EXPECT_EQ(in.entries, 1);
  EXPECT_EQ(in.not_portable, 1);
  EXPECT_EQ(in.refused[static_cast<size_t>(Refusal::damaged)], 2);
  const auto store = Store::open(settings_in(folder / "there"));
  EXPECT_EQ(store->get(Part::plans, "a"), "payload");
  EXPECT_FALSE(store->get(Part::code, "b"));
}

TEST(Archive, DamagedArchivesBringNothingWrong) {
  std::mt19937_64 random(std::random_device{}());
  const uint64_t seed = random();
  random.seed(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const TemporaryFolder folder;
  fill(settings_in(folder / "here"));
  ASSERT_EQ(export_archive(settings_in(folder / "here"), folder / "archive").trouble, "");
  const std::string right = contents_of(folder / "archive");
  const char* text = std::getenv("AXRUN_TEST_DAMAGED");
  const int rounds = text == nullptr ? 300 : std::atoi(text) / 10;
  int noticed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = right;
    if (round % 3 == 0)
      bytes.resize(random() % bytes.size());
    else if (round % 3 == 1)
      for (uint64_t n = 1 + random() % 4; n > 0; --n)
        bytes[random() % bytes.size()] ^= static_cast<char>(1U << random() % 8);
    else
      for (int n = 0; n < 4; ++n) bytes[random() % 100] = static_cast<char>(random());
    write_file(folder / "damaged", bytes);
    const fs::path there = folder / "there";
    fs::remove_all(there);
    const Archived in = import_archive(settings_in(there), folder / "damaged");
    noticed += !in.trouble.empty() || in.entries < static_cast<int64_t>(entries);
    const auto store = Store::open(settings_in(there));
    for (uint64_t n = 0; n < entries; ++n)
      ASSERT_EQ(store->get(Part::certificates, key_of(n)).value_or(payload_of(n)), payload_of(n)) << round;
  }
  EXPECT_EQ(noticed, rounds);
}

TEST(Archive, FilesThatCannotBe) {
  const TemporaryFolder folder;
  EXPECT_NE(import_archive(settings_in(folder / "there"), folder / "nowhere").trouble, "");
  write_file(folder / "text", "something else");
  EXPECT_NE(import_archive(settings_in(folder / "there"), folder / "text").trouble, "");
  fill(settings_in(folder / "here"));
  EXPECT_NE(export_archive(settings_in(folder / "here"), folder / "no such folder" / "file").trouble, "");
  EXPECT_EQ(export_archive(settings_in(folder / "here"), folder / "archive").trouble, "");
  fs::create_directory(folder / "open");
  fs::permissions(folder / "open", fs::perms::all);
  EXPECT_NE(import_archive(settings_in(folder / "open"), folder / "archive").trouble, "");
}

TEST(Survey, SaysWhatIsThereAndWhatIsDamaged) {
  const TemporaryFolder folder;
  Settings settings = settings_in(folder / "here");
  EXPECT_EQ(survey(settings, true)[0].entries(), 0);
  EXPECT_FALSE(fs::exists(folder / "here"));
  fill(settings);
  settings.layers = {folder / "layer"};
  std::vector<FolderSurvey> folders = survey(settings, true);
  ASSERT_EQ(folders.size(), 2U);
  EXPECT_FALSE(folders[1].usable);
  EXPECT_EQ(folders[0].entries(), static_cast<int64_t>(2 * entries + 1));
  ASSERT_EQ(folders[0].groups.size(), 3U);
  EXPECT_TRUE(folders[0].damages.empty());
  for (const Group& group : folders[0].groups) {
    EXPECT_EQ(group.generator, "version 1");
    EXPECT_EQ(group.machine, group.part == Part::certificates ? "" : "this machine");
  }
  const fs::path file = fs::directory_iterator(folder / "here" / "weights")->path();
  std::string bytes = contents_of(file);
  bytes.back() ^= 1;
  write_file(file, bytes);
  EXPECT_TRUE(survey(settings, false)[0].damages.empty());
  folders = survey(settings, true);
  ASSERT_EQ(folders[0].damages.size(), 1U);
  EXPECT_EQ(folders[0].damages[0].where, file.string());
  // Pruning takes it away.
  const Pruned pruned = prune(settings, {});
  EXPECT_EQ(pruned.trouble, "");
  EXPECT_EQ(pruned.entries, 1);
  EXPECT_TRUE(survey(settings, true)[0].damages.empty());
}

TEST(Survey, MarksAreAGroupOfTheirOwn) {
  const TemporaryFolder folder;
  const Settings settings = settings_in(folder / "here");
  const auto store = Store::open(settings);
  store->mark("a");
  store->mark("b");
  store->put_file("weights", 10, [](auto) {});
  const std::vector<FolderSurvey> folders = survey(settings, true);
  EXPECT_TRUE(folders[0].damages.empty());
  ASSERT_EQ(folders[0].groups.size(), 2U);
  for (const Group& group : folders[0].groups) {
    EXPECT_EQ(group.marks, group.generator.empty());
    EXPECT_EQ(group.entries, group.marks ? 2 : 1);
  }
}

TEST(Survey, Pruning) {
  const TemporaryFolder folder;
  const Settings settings = settings_in(folder / "here");
  EXPECT_EQ(prune(settings, {.everything = true}).entries, 0) << "nothing there";
  fill(settings);
  EXPECT_EQ(prune(settings, {}).entries, 0);
  EXPECT_EQ(prune(settings, {.unused_days = 1}).entries, 0);
  const Pruned half = prune(settings, {.most_bytes = 60'000});
  EXPECT_GT(half.entries, 0);
  EXPECT_GT(half.bytes, 0);
  EXPECT_LE(survey(settings, true)[0].bytes(), 60'000);
  EXPECT_GT(survey(settings, true)[0].entries(), 0);
  EXPECT_GT(prune(settings, {.everything = true}).entries, 0);
  EXPECT_EQ(survey(settings, true)[0].entries(), 0);
  fs::permissions(folder / "here", fs::perms::all);
  EXPECT_NE(prune(settings, {}).trouble, "");
}

}  // namespace
}  // namespace axrun::cache
