// `axrun reproduce`: what it answers for kernels that are right, wrong, or not there.
#include "runtime/cli/reproduce.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ir/error.h"
#include "ir/text.h"
#include "runtime/cli/options.h"
#include "runtime/host_target.h"
#include "runtime/optimizer/reproducer.h"
#include "search/lowering.h"

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;

ir::Program sum(const std::string& what) {
  return ir::parse("program P(x: f32[100]) -> (y) {\n  y: f32[100] = map (i: 100) { x[i] + " + what +
                   ":f32 }\n}");
}

/// A loop program for x + `computed`, said to be one for x + 1.
runtime::WorkerRequest request(const std::string& computed) {
  const jit::Target& target = runtime::host_target();
  runtime::WorkerRequest request;
  request.program = ir::loop::print(*search::lower(sum(computed), {}, {false}, target).program);
  request.expression = ir::print(sum("1"));
  request.lowered = ir::print(search::lower(sum("1"), {}, {false}, target).expression);
  request.constant = {false};
  request.target = target;
  return request;
}

TEST(Reproduce, SaysWhatIsWrongByItsExitCode) {
  std::string pattern = (fs::temp_directory_path() / "axrun_reproduce_XXXXXX").string();
  const fs::path folder = mkdtemp(pattern.data());
  const std::string good = runtime::write_reproducer(folder, request("1"), "good", "no reason");
  const std::string bad = runtime::write_reproducer(folder, request("2"), "bad", "it adds 2");
  EXPECT_EQ(cli::reproduce(good, true), cli::exit_ok);
  const int code = cli::reproduce(bad, false);
  EXPECT_TRUE(code == cli::exit_refuted || code == cli::exit_unknown) << code;
  EXPECT_THROW(cli::reproduce(folder / "none", false), Error);
  runtime::WorkerRequest foreign = request("1");
  foreign.target.features.push_back("zmm_of_tomorrow");
  EXPECT_THROW(cli::reproduce(runtime::write_reproducer(folder, foreign, "foreign", ""), false), Error);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace axrun::tests
