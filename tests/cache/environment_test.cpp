// What the environment does: no room, no permission, folders that others can write to, links.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "runtime/cache/location.h"
#include "runtime/cache/store.h"
#include "tests/cache/child.h"
#include "tests/cache/folder.h"
#include "tests/cache/known_content.h"
#include "tests/cache/settings.h"

namespace axrun::cache {
namespace {

namespace fs = std::filesystem;

constexpr int skipped = 77;
constexpr uid_t nobody = 65534;

bool is_refused(const fs::path& folder) {
  const auto store = Store::open(settings_in(folder));
  return !store->readable() && store->troubles().size() == 1 &&
         store->put(Part::plans, "a", "b") == Stored::off && !store->get(Part::plans, "a") &&
         store->get_file("a") == nullptr;
}

bool works(const fs::path& folder) {
  const auto store = Store::open(settings_in(folder));
  return store->put(Part::plans, "a", "b") == Stored::stored && store->get(Part::plans, "a") == "b" &&
         store->troubles().empty();
}

/// Puts until there is no room, then checks that everything that was stored is there. 0: so it is.
int fill_up(const fs::path& folder) {
  const auto store = Store::open(settings_in(folder));
  uint64_t stored = 0, full = 0;
  for (uint64_t n = 0; n < 2000 && full < 20; ++n) {
    const Stored outcome = store->put(Part::plans, key_of(n), payload_of(n));
    if (outcome == Stored::disk_full) ++full;
    if (outcome != Stored::stored && outcome != Stored::disk_full) return 1;
    stored += outcome == Stored::stored && full == 0;
  }
  if (full == 0) return 2;
  for (uint64_t n = 0; n < stored; ++n)
    if (store->get(Part::plans, key_of(n)) != payload_of(n)) return 3;
  bool called = false;
  if (store->put_file("large", 64 << 20, [&](auto) { called = true; }) != nullptr || called) return 4;
  if (store->counters().of(Stored::disk_full) != static_cast<int64_t>(full + 1)) return 5;
  // What lies there is whole for the next one, too.
  store->release();
  const auto next = Store::open(settings_in(folder));
  for (uint64_t n = 0; n < stored; ++n)
    if (next->get(Part::plans, key_of(n)) != payload_of(n)) return 6;
  return next->counters().all_refused() == 0 ? 0 : 7;
}

TEST(Environment, FilesThatMayNotGrow) {
  const TemporaryFolder folder;
  const auto work = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{600'000, 600'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    return fill_up(folder.path());
  };
  EXPECT_EQ(in_child(work), 0);
  EXPECT_TRUE(works(folder.path()));
}

TEST(Environment, FullDisk) {
  const TemporaryFolder folder;
  const auto work = [&] {
    if (unshare(CLONE_NEWNS) != 0) return skipped;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return skipped;
    if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m,mode=0700") != 0) return skipped;
    return fill_up(folder.path());
  };
  const int answer = in_child(work);
  if (answer == skipped) GTEST_SKIP() << "no small disk can be made here";
  EXPECT_EQ(answer, 0);
}

TEST(Environment, FoldersThatOthersCanWriteToAreRefused) {
  const TemporaryFolder folder;
  for (const mode_t mode : {0777, 0770, 0702, 01777}) {
    const fs::path open = folder / "open";
    mkdir(open.c_str(), 0700);
    chmod(open.c_str(), mode);
    EXPECT_TRUE(is_refused(open)) << std::oct << mode;
    // Nor where somebody could exchange it; what is ours in a sticky folder nobody can.
    EXPECT_EQ(is_refused(open / "below"), mode != 01777) << std::oct << mode;
    fs::remove_all(open);
  }
  EXPECT_TRUE(works(folder / "new" / "below"));
  struct stat status {};
  ASSERT_EQ(stat((folder / "new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST(Environment, FilesThatOthersCanWriteToAreRefused) {
  const TemporaryFolder folder;
  ASSERT_TRUE(works(folder.path()));
  chmod((folder / "results.db").c_str(), 0666);
  {
    const auto store = Store::open(settings_in(folder.path()));
    EXPECT_FALSE(store->get(Part::plans, "a"));
    EXPECT_EQ(store->counters().of(Refusal::untrusted), 1);
    EXPECT_EQ(store->put(Part::plans, "a", "c"), Stored::read_only);
  }
  chmod((folder / "results.db").c_str(), 0600);
  EXPECT_TRUE(works(folder.path()));
  // A database behind a link, whoever made it.
  fs::rename(folder / "results.db", folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", folder / "results.db");
  {
    const auto store = Store::open(settings_in(folder.path()));
    EXPECT_FALSE(store->get(Part::plans, "a"));
    EXPECT_EQ(store->counters().of(Refusal::untrusted), 1);
  }
}

TEST(Environment, LinksToFilesAreNotFollowed) {
  const TemporaryFolder folder;
  const auto put = [&](const fs::path& where) {
    return Store::open(settings_in(where))->put_file("w", 100, [](auto bytes) { bytes[0] = std::byte{1}; });
  };
  ASSERT_NE(put(folder / "one"), nullptr);
  ASSERT_NE(put(folder / "two"), nullptr);
  const fs::path file = fs::directory_iterator(folder / "one" / "weights")->path();
  fs::remove(file);
  fs::create_symlink(folder / "two" / "weights" / file.filename(), file);
  const auto store = Store::open(settings_in(folder / "one"));
  EXPECT_EQ(store->get_file("w"), nullptr);
  EXPECT_EQ(store->counters().of(Refusal::untrusted), 1);
  // Nor a folder of files that lies elsewhere.
  fs::remove_all(folder / "one" / "weights");
  fs::create_directory_symlink(folder / "two" / "weights", folder / "one" / "weights");
  EXPECT_EQ(store->get_file("w"), nullptr);
  EXPECT_EQ(put(folder / "one"), nullptr);
}

TEST(Environment, LinksToFoldersAreFollowedWhereTheyAreOurs) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "real");
  fs::create_directory_symlink(folder / "real", folder / "link");
  EXPECT_TRUE(works(folder / "link"));
  EXPECT_TRUE(fs::exists(folder / "real" / "results.db"));
  fs::create_directory_symlink(folder / "loop", folder / "loop");
  EXPECT_TRUE(is_refused(folder / "loop"));
  fs::create_directory_symlink("../" + folder.path().filename().string() + "/link/./x", folder / "long");
  fs::create_directory(folder / "real" / "x");
  EXPECT_TRUE(works(folder / "long"));
  if (geteuid() != 0) return;
  ASSERT_EQ(lchown((folder / "link").c_str(), nobody, nobody), 0);
  EXPECT_TRUE(is_refused(folder / "link")) << "somebody else's link";
  ASSERT_EQ(chown((folder / "real").c_str(), nobody, nobody), 0);
  EXPECT_TRUE(is_refused(folder / "real")) << "somebody else's folder";
}

/// Runs as somebody whom permissions hold.
int as_nobody(const fs::path& folder, const std::function<int()>& work) {
  return in_child([&] {
    if (geteuid() == 0) {
      if (chown(folder.c_str(), nobody, nobody) != 0) return skipped;
      if (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0) return skipped;
    }
    return work();
  });
}

TEST(Environment, WithoutPermissionItIsOnlyRead) {
  const TemporaryFolder folder;
  const int answer = as_nobody(folder.path(), [&] {
    if (!works(folder.path())) return 1;
    const auto put = [](Store& store) { return store.put_file("w", 8, [](auto) {}); };
    if (put(*Store::open(settings_in(folder.path()))) == nullptr) return 2;
    chmod(folder.path().c_str(), 0500);
    const auto store = Store::open(settings_in(folder.path()));
    if (!store->readable() || store->writable() || store->troubles().size() != 1) return 3;
    if (store->get(Part::plans, "a") != "b" || store->get_file("w") == nullptr) return 4;
    if (store->put(Part::plans, "a", "c") != Stored::read_only || put(*store) != nullptr) return 5;
    // With a layer that can be written to in front of it.
    chmod(folder.path().c_str(), 0700);
    Settings settings = settings_in(folder / "own");
    settings.layers = {folder.path()};
    if (!Store::open(settings)->writable()) return 6;
    chmod(folder.path().c_str(), 0500);
    const auto layered = Store::open(settings);
    if (layered->get(Part::plans, "a") != "b") return 7;
    if (layered->put(Part::plans, "a", "c") != Stored::stored || layered->get(Part::plans, "a") != "c")
      return 8;
    // Not even that.
    chmod(folder.path().c_str(), 0000);
    return is_refused(folder.path() / "below") ? 0 : 9;
  });
  chmod(folder.path().c_str(), 0700);
  if (answer == skipped) GTEST_SKIP() << "no other user can be taken on here";
  EXPECT_EQ(answer, 0);
}

TEST(Environment, WhatWasUsedLongestAgoMakesRoom) {
  const TemporaryFolder folder;
  Settings settings = settings_in(folder.path());
  settings.limit_bytes = 2 << 20;
  const auto store = Store::open(settings);
  ASSERT_EQ(store->put(Part::plans, "first", "x"), Stored::stored);
  for (uint64_t n = 0; n < 300; ++n) {
    ASSERT_EQ(store->put(n % 2 == 0 ? Part::plans : Part::code, key_of(n), payload_of(n)), Stored::stored);
    if (n % 10 == 0) {
      ASSERT_NE(store->put_file(key_of(n), 20'000, [](auto) {}), nullptr);
    }
  }
  const Counters counters = store->counters();
  EXPECT_GT(counters.evicted, 0);
  store->release();
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  EXPECT_LT(bytes, settings.limit_bytes * 5 / 4) << "with what the databases need besides";
  EXPECT_EQ(store->get(Part::code, key_of(299)), payload_of(299));
}

/// What took minutes to find outlives what is packed in milliseconds, however much of that there is.
TEST(Environment, LargeFilesMakeRoomBeforeSmallThings) {
  const TemporaryFolder folder;
  Settings settings = settings_in(folder.path());
  settings.limit_bytes = 16 << 20;
  const auto store = Store::open(settings);
  ASSERT_EQ(store->put(Part::certificates, "rules", "x"), Stored::stored);
  ASSERT_NE(store->put_file("plans", 1000, [](auto) {}), nullptr);
  for (uint64_t n = 0; n < 12; ++n) {
    ASSERT_NE(store->put_file(key_of(n), 3 << 20, [](auto) {}), nullptr);
  }
  EXPECT_GT(store->counters().evicted, 0);
  EXPECT_EQ(store->get(Part::certificates, "rules"), "x");
  EXPECT_TRUE(store->has_file("plans"));
  EXPECT_FALSE(store->has_file(key_of(0)));
  EXPECT_TRUE(store->has_file(key_of(11)));
}

TEST(Environment, WhatTheEnvironmentSays) {
  const auto with = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  EXPECT_EQ(settings_of_environment().directory, "") << "tests run without a cache";
  EXPECT_EQ(settings_of_environment("/x").directory, "/x");
  const int answer = in_child([&] {
    with("AXRUN_CACHE", nullptr);
    with("AXRUN_CACHE_DIR", nullptr);
    with("XDG_CACHE_HOME", "/xdg");
    with("HOME", "/tmp");
    with("AXRUN_CACHE_LAYERS", "/a::/b");
    with("AXRUN_CACHE_LIMIT", "3");
    Settings settings = settings_of_environment();
    if (settings.directory != "/xdg/axrun" || settings.layers.size() != 2 || settings.layers[1] != "/b")
      return 1;
    if (settings.limit_bytes != 3 << 20) return 2;
    with("XDG_CACHE_HOME", "not absolute");
    if (settings_of_environment().directory != "/tmp/.cache/axrun") return 3;
    with("HOME", "/nowhere");
    if (settings_of_environment().directory != "" || settings_of_environment().why_none.empty()) return 6;
    with("AXRUN_CACHE_DIR", "/mine");
    if (settings_of_environment().directory != "/mine") return 4;
    with("AXRUN_CACHE_DIR", nullptr);
    with("HOME", nullptr);
    with("AXRUN_CACHE_LAYERS", nullptr);
    settings = settings_of_environment();
    settings.generator = "v";
    const auto store = Store::open(settings);
    return !store->readable() && store->troubles().size() == 1 ? 0 : 5;
  });
  EXPECT_EQ(answer, 0);
}

}  // namespace
}  // namespace axrun::cache
