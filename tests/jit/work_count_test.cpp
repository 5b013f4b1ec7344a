#include "jit/work_count.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace axrun::tests {
namespace {

jit::Target wide() {
  jit::Target target;
  target.vector_bytes = 64;
  target.fma_ports = 2;
  return target;
}

jit::WorkCount work_of(const std::string& text, const std::map<std::string, int64_t>& sizes = {},
                       const std::vector<bool>& constant = {}) {
  return jit::count_work(ir::loop::parse(text), sizes, constant, wide());
}

TEST(WorkCount, tails_fill_their_lanes_in_part) {
  const jit::WorkCount work = work_of(
      "loops scaled(n: 1..1000) {\n"
      "  input x: f32[n]\n"
      "  output y: f32[n]\n"
      "  vector v < n {\n"
      "    y[v] = mul(x[v], 2:f32)\n"
      "  }\n"
      "}\n",
      {{"n", 40}});
  EXPECT_EQ(work.operations, 3);
  EXPECT_EQ(work.multiply_adds, 0);
  EXPECT_EQ(work.lanes, 48);
  EXPECT_EQ(work.filled_lanes, 40);
  EXPECT_EQ(work.loads, 3);
  EXPECT_EQ(work.stores, 3);
  EXPECT_EQ(work.bytes_loaded, 160);
  EXPECT_EQ(work.bytes_stored, 160);
  EXPECT_EQ(work.apart_lanes, 0);
  EXPECT_EQ(work.phases, 1);
}

/// Rows of A times panels of B, four rows at a time, the last tile of what is left.
const char* const product =
    "loops product(m: 1..64) {\n"
    "  input a: f32[m, 100]\n"
    "  input b: f32[100, 32]\n"
    "  output c: f32[m, 32]\n"
    "  parallel i step 4 < m {\n"
    "    allocate t: f32[4, 32] in registers\n"
    "    unrolled r < min(4, m - i) {\n"
    "      vector v < 32 {\n"
    "        t[r, v] = 0:f32\n"
    "      }\n"
    "    }\n"
    "    for k < 100 {\n"
    "      unrolled r < min(4, m - i) {\n"
    "        vector v < 32 {\n"
    "          t[r, v] += mul(a[i + r, k], b[k, v])\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "    unrolled r < min(4, m - i) {\n"
    "      vector v < 32 {\n"
    "        c[i + r, v] = t[r, v]\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

TEST(WorkCount, a_tile_loads_each_operand_once_an_iteration) {
  const jit::WorkCount work = work_of(product, {{"m", 8}});
  EXPECT_EQ(work.multiply_adds, 8 * 100 * 2);
  // Two vectors of B and four elements of A for each of the two tiles and each term.
  EXPECT_EQ(work.loads, 2 * 100 * (2 + 4));
  EXPECT_EQ(work.stores, 8 * 2);
  EXPECT_EQ(work.bytes_loaded, 2 * 100 * (128 + 16));
  // The sums wait for themselves, not for each other.
  EXPECT_GE(work.chain_cycles, 2 * 100 * 4);
  EXPECT_LE(work.chain_cycles, 2 * (100 * 4 + 50));
}

TEST(WorkCount, the_last_tile_is_smaller) {
  EXPECT_EQ(work_of(product, {{"m", 9}}).multiply_adds, 9 * 100 * 2);
  EXPECT_EQ(work_of(product, {{"m", 3}}).multiply_adds, 3 * 100 * 2);
}

TEST(WorkCount, one_sum_is_a_chain_and_independent_iterations_are_none) {
  const std::string head =
      "loops sums() {\n  input x: f32[1000]\n  output y: f32[1000]\n  output s: f32[1]\n";
  const jit::WorkCount chain = work_of(head +
                                       "  s[0] = 0:f32\n"
                                       "  for i < 1000 {\n"
                                       "    s[0] += x[i]\n"
                                       "  }\n"
                                       "}\n");
  EXPECT_GE(chain.chain_cycles, 4000);
  EXPECT_EQ(chain.lanes, 0);
  EXPECT_GE(chain.scalar_operations, 2000);
  const jit::WorkCount apart = work_of(head +
                                       "  for i < 1000 {\n"
                                       "    y[i] = add(x[i], 1:f32)\n"
                                       "  }\n"
                                       "}\n");
  EXPECT_LE(apart.chain_cycles, 100);
}

TEST(WorkCount, lanes_that_lie_apart_are_counted_one_by_one) {
  const jit::WorkCount work = work_of(
      "loops turned() {\n"
      "  input x: f32[32, 8]\n"
      "  output y: f32[8, 32]\n"
      "  for i < 8 {\n"
      "    vector v < 32 {\n"
      "      y[i, v] = x[v, i]\n"
      "    }\n"
      "  }\n"
      "}\n");
  EXPECT_EQ(work.apart_lanes, 256);
  EXPECT_EQ(work.loads, 0);
  EXPECT_EQ(work.moved_bytes, 2 * 1024);
}

TEST(WorkCount, lanes_a_few_elements_apart_are_taken_from_vectors) {
  const jit::WorkCount work = work_of(
      "loops halved() {\n"
      "  input x: f32[64]\n"
      "  output y: f32[32]\n"
      "  vector v < 32 {\n"
      "    y[v] = x[2*v]\n"
      "  }\n"
      "}\n");
  EXPECT_EQ(work.apart_lanes, 0);
  EXPECT_EQ(work.loads, 4);
  EXPECT_EQ(work.operations, 4);
}

TEST(WorkCount, what_depends_on_loops_only_costs_nothing) {
  const jit::WorkCount work = work_of(
      "loops padded() {\n"
      "  input x: f32[60]\n"
      "  output y: f32[64]\n"
      "  vector v < 64 {\n"
      "    y[v] = mul(select(less(index(v), 60:i64), x[min(v, 59)], 0:f32), 2:f32)\n"
      "  }\n"
      "}\n");
  EXPECT_EQ(work.operations, 4);
}

TEST(WorkCount, what_does_not_fit_into_a_cache_comes_again) {
  jit::Target target = wide();
  target.caches = {{.bytes = 32 << 10}, {.bytes = 1 << 20}};
  const ir::loop::LoopProgram program = ir::loop::parse(
      "loops again(n: 1..1000000) {\n"
      "  input x: f32[n]\n"
      "  output y: f32[10, 16]\n"
      "  for i < 10 {\n"
      "    vector u < 16 {\n"
      "      y[i, u] = 0:f32\n"
      "    }\n"
      "    for j step 16 < n {\n"
      "      vector v < 16 {\n"
      "        y[i, v] += x[j + v]\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n");
  const double result = 10 * 64;
  const auto missed = [&](int64_t n) {
    return jit::count_work(program, {{"n", n}}, {}, target).missed_bytes;
  };
  // 4 kB stay in both caches, 256 kB in the second one only, 2 MB in none.
  const std::vector<double> small = missed(1 << 10), middle = missed(1 << 16), large = missed(1 << 19);
  ASSERT_EQ(small.size(), 2u);
  EXPECT_EQ(small[0], 4096 + result);
  EXPECT_EQ(small[1], 4096 + result);
  EXPECT_NEAR(middle[0], 10.0 * (1 << 18), 2 * result);
  EXPECT_EQ(middle[1], (1 << 18) + result);
  EXPECT_NEAR(large[0], 10.0 * (1 << 21), 2 * result);
  EXPECT_NEAR(large[1], 10.0 * (1 << 21), 2 * result);
}

TEST(WorkCount, what_constants_decide_is_computed_once_and_free) {
  const char* const text =
      "loops packed() {\n"
      "  input w: f32[64]\n"
      "  input x: f32[64]\n"
      "  output y: f32[64]\n"
      "  allocate p: f32[64] in memory\n"
      "  vector v < 64 {\n"
      "    p[v] = mul(w[v], 2:f32)\n"
      "  }\n"
      "  vector v < 64 {\n"
      "    y[v] = mul(p[v], x[v])\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(work_of(text).operations, 8);
  EXPECT_EQ(work_of(text, {}, {false, true}).operations, 8);
  EXPECT_EQ(work_of(text, {}, {true, false}).operations, 4);
}

TEST(WorkCount, ports_take_their_share) {
  jit::WorkCount work;
  work.multiply_adds = 100;
  work.loads = 60;
  work.stores = 10;
  work.apart_lanes = 5;
  work.scalar_operations = 30;
  const jit::PortCycles cycles = jit::port_cycles(work, wide());
  EXPECT_EQ(cycles.arithmetic, 50);
  EXPECT_EQ(cycles.memory, 30);
  EXPECT_EQ(cycles.apart, 5);
  EXPECT_EQ(cycles.scalar, 10);
  jit::Target target = wide();
  EXPECT_EQ(jit::cycles_per_second(target), 0);
  target.flops_per_second = 256e9;
  EXPECT_EQ(jit::cycles_per_second(target), 4e9);
}

}  // namespace
}  // namespace axrun::tests
