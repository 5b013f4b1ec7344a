#include "runtime/knobs.h"

#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/cache/location.h"
#include "runtime/optimizer/worker_location.h"

namespace axrun::tests {
namespace {

using namespace runtime;

constexpr const char* inner = "KNOBS_TEST_INNER";
constexpr const char* named = "/nobody/has/this";

/// What the environment of a caller says to a program with the rights of somebody else.
void expect_ignored() {
  ASSERT_NE(getauxval(AT_SECURE), 0U);
  for (const KnobName name : {KnobName::worker, KnobName::cache_dir, KnobName::cache_layers,
                              KnobName::reproducers, KnobName::target})
    EXPECT_EQ(knob_value(name), nullptr) << knobs()[static_cast<size_t>(name)].name;
  EXPECT_NE(find_worker(), named);
  EXPECT_TRUE(cache::standard_folder().empty()) << cache::standard_folder();
  EXPECT_TRUE(cache::settings_of_environment({}).layers.empty());
  // What names no file is as it was.
  EXPECT_TRUE(knob_says(KnobName::threads, "3"));
}

TEST(Knobs, ThatNameFilesAreIgnoredInProgramsWithOtherRights) {
  if (std::getenv(inner) != nullptr) return expect_ignored();
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a set-user-ID program of somebody else's";
  std::string folder = (std::filesystem::temp_directory_path() / "axrun_knobs_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  const std::string program = folder + "/test";
  std::filesystem::copy_file(std::filesystem::read_symlink("/proc/self/exe"), program);
  constexpr uid_t somebody = 65534;
  ASSERT_EQ(chown(program.c_str(), somebody, somebody), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv(inner, "1", 1);
    for (const char* name : {"AXRUN_WORKER", "AXRUN_CACHE_DIR", "AXRUN_CACHE_LAYERS", "AXRUN_REPRODUCERS",
                             "AXRUN_TARGET", "HOME", "XDG_CACHE_HOME"})
      setenv(name, named, 1);
    setenv("AXRUN_THREADS", "3", 1);
    execl(program.c_str(), program.c_str(),
          "--gtest_filter=Knobs.ThatNameFilesAreIgnoredInProgramsWithOtherRights", nullptr);
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Knobs, ThatNameFilesAreReadElsewhere) {
  setenv("AXRUN_WORKER", named, 1);
  EXPECT_STREQ(knob_value(KnobName::worker), named);
  EXPECT_EQ(find_worker(), named);
  unsetenv("AXRUN_WORKER");
}

}  // namespace
}  // namespace axrun::tests
