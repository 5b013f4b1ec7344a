#include "runtime/cache/store.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/cache/folder.h"
#include "tests/cache/settings.h"

namespace axrun::cache {
namespace {

namespace fs = std::filesystem;

void fill_with(char value, std::span<std::byte> bytes) { std::memset(bytes.data(), value, bytes.size()); }

TEST(Store, WhatWasPutIsFoundByTheNextOne) {
  const TemporaryFolder folder;
  const std::string large(3'000'000, 'x');
  {
    const auto store = Store::open(settings_in(folder.path()));
    EXPECT_FALSE(store->get(Part::plans, "a"));
    EXPECT_TRUE(fs::is_empty(folder.path())) << "looking for something writes nothing";
    EXPECT_EQ(store->put(Part::plans, "a", "first"), Stored::stored);
    EXPECT_EQ(store->put(Part::plans, "a", "second"), Stored::stored);
    EXPECT_EQ(store->put(Part::code, "a", large), Stored::stored);
    EXPECT_EQ(store->put(Part::plans, "", ""), Stored::stored);
  }
  const auto store = Store::open(settings_in(folder.path()));
  EXPECT_EQ(store->get(Part::plans, "a"), "second");
  EXPECT_EQ(store->get(Part::code, "a"), large);
  EXPECT_EQ(store->get(Part::plans, ""), "");
  EXPECT_FALSE(store->get(Part::verdicts, "a"));
  EXPECT_FALSE(store->get(Part::plans, "b"));
  const Counters counters = store->counters();
  EXPECT_EQ(counters.hits, 3);
  EXPECT_EQ(counters.misses, 2);
  EXPECT_EQ(counters.all_refused(), 0);
  EXPECT_EQ(counters.bytes_read, 6 + 3'000'000);
  EXPECT_TRUE(store->troubles().empty());
}

TEST(Store, OtherVersionsAndMachinesHaveEntriesOfTheirOwn) {
  const TemporaryFolder folder;
  const auto first = Store::open(settings_in(folder.path()));
  first->put(Part::plans, "a", "portable 1");
  first->put(Part::code, "a", "code 1");
  Settings other_machine = settings_in(folder.path());
  other_machine.machine = "another machine";
  const auto second = Store::open(other_machine);
  EXPECT_EQ(second->get(Part::plans, "a"), "portable 1");
  EXPECT_FALSE(second->get(Part::code, "a"));
  EXPECT_EQ(second->counters().of(Refusal::other_machine), 1);
  Settings other_version = settings_in(folder.path());
  other_version.generator = "version 2";
  const auto third = Store::open(other_version);
  EXPECT_FALSE(third->get(Part::plans, "a"));
  EXPECT_FALSE(third->get(Part::code, "a"));
  EXPECT_EQ(third->counters().of(Refusal::outdated), 2);
  third->put(Part::plans, "a", "portable 2");
  EXPECT_EQ(third->get(Part::plans, "a"), "portable 2");
  EXPECT_EQ(first->get(Part::plans, "a"), "portable 1");
  EXPECT_EQ(first->counters().all_refused(), 0);
}

TEST(Store, WithoutVersionNothingIsStored) {
  const TemporaryFolder folder;
  Settings settings = settings_in(folder.path());
  settings.generator.clear();
  const auto store = Store::open(settings);
  EXPECT_FALSE(store->readable());
  EXPECT_EQ(store->put(Part::plans, "a", "b"), Stored::off);
  EXPECT_FALSE(store->get(Part::plans, "a"));
  EXPECT_EQ(store->troubles().size(), 1U);
}

TEST(Store, WhatWasRejectedIsGone) {
  const TemporaryFolder folder;
  const auto store = Store::open(settings_in(folder.path()));
  store->put(Part::certificates, "a", "nonsense");
  store->reject(Part::certificates, "a");
  EXPECT_FALSE(store->get(Part::certificates, "a"));
  EXPECT_EQ(store->counters().of(Refusal::rejected), 1);
}

TEST(Store, FilesAreMapped) {
  const TemporaryFolder folder;
  {
    const auto store = Store::open(settings_in(folder.path()));
    EXPECT_EQ(store->get_file("weights"), nullptr);
    const auto file = store->put_file("weights", 100'000, [](auto bytes) { fill_with('w', bytes); });
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->bytes().size(), 100'000U);
    EXPECT_TRUE(store->has_file("weights"));
    EXPECT_FALSE(store->has_file("empty"));
    EXPECT_NE(store->put_file("empty", 0, [](auto bytes) { fill_with('e', bytes); }), nullptr);
  }
  const auto store = Store::open(settings_in(folder.path()));
  const auto file = store->get_file("weights");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->bytes().size(), 100'000U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % 4096, 0U);
  for (const std::byte byte : file->bytes()) ASSERT_EQ(byte, std::byte{'w'});
  ASSERT_NE(store->get_file("empty"), nullptr);
  EXPECT_TRUE(store->get_file("empty")->bytes().empty());
  // What is mapped stays when another file takes its place.
  ASSERT_NE(store->put_file("weights", 10, [](auto bytes) { fill_with('v', bytes); }), nullptr);
  EXPECT_EQ(file->bytes()[99'999], std::byte{'w'});
  EXPECT_EQ(store->get_file("weights")->bytes().size(), 10U);
}

TEST(Store, MarksAreOfAllVersionsAndMachines) {
  const TemporaryFolder folder;
  const auto store = Store::open(settings_in(folder.path()));
  EXPECT_FALSE(store->is_marked("a"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
  store->mark("a");
  store->mark("a");
  EXPECT_EQ(store->counters().of(Stored::stored), 1);
  Settings other = settings_in(folder.path());
  other.machine = "another machine";
  other.generator = "version 2";
  EXPECT_TRUE(Store::open(other)->is_marked("a"));
  EXPECT_FALSE(Store::open(other)->is_marked("b"));
  Settings layered = settings_in(folder / "own");
  layered.layers = {folder.path()};
  EXPECT_TRUE(Store::open(layered)->is_marked("a"));
  EXPECT_EQ(store->get_file("a"), nullptr) << "a mark is no file of anybody's";
}

TEST(Store, LayersAreAskedAndNeverWritten) {
  const TemporaryFolder folder;
  {
    const auto image = Store::open(settings_in(folder / "image"));
    image->put(Part::plans, "a", "of the image");
    image->put(Part::plans, "b", "of the image");
    image->put_file("weights", 10, [](auto bytes) { fill_with('i', bytes); });
  }
  Settings settings = settings_in(folder / "own");
  settings.layers = {folder / "image", folder / "nowhere"};
  const auto store = Store::open(settings);
  EXPECT_EQ(store->troubles().size(), 1U);
  EXPECT_EQ(store->get(Part::plans, "a"), "of the image");
  EXPECT_NE(store->get_file("weights"), nullptr);
  EXPECT_EQ(store->put(Part::plans, "a", "own"), Stored::stored);
  EXPECT_EQ(store->get(Part::plans, "a"), "own");
  EXPECT_EQ(store->get(Part::plans, "b"), "of the image");
  store->release();
  EXPECT_EQ(Store::open(settings_in(folder / "image"))->get(Part::plans, "a"), "of the image");
  settings.directory.clear();
  const auto reading = Store::open(settings);
  EXPECT_EQ(reading->put(Part::plans, "a", "c"), Stored::read_only);
  EXPECT_EQ(reading->get(Part::plans, "a"), "of the image");
}

TEST(Store, WhatIsTooLargeIsNotStored) {
  const TemporaryFolder folder;
  Settings settings = settings_in(folder.path());
  settings.limit_bytes = 1 << 20;
  const auto store = Store::open(settings);
  EXPECT_EQ(store->put(Part::plans, "a", std::string(longest_payload + 1, 'x')), Stored::too_large);
  EXPECT_EQ(store->put(Part::plans, std::string(longest_key + 1, 'x'), "a"), Stored::too_large);
  EXPECT_EQ(store->put_file("a", 2 << 20, [](auto) { FAIL(); }), nullptr);
  EXPECT_EQ(store->counters().of(Stored::too_large), 3);
}

}  // namespace
}  // namespace axrun::cache
