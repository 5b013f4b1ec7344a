// Matrix products: those of the standard architectures and of small models, and a few plain sizes.
#include <string>

#include "perf/kernels/array.h"
#include "perf/kernels/workload.h"

namespace axrun::perf {
namespace {

enum class Right { weight, computed, computed_transposed };

struct ProductCase {
  const char* name;
  int64_t batch, m, n, k;
  Right right;
};

constexpr ProductCase cases[] = {
    {"bert_base/qkv_and_out", 1, 128, 768, 768, Right::weight},
    {"bert_base/mlp_up", 1, 128, 3072, 768, Right::weight},
    {"bert_base/mlp_down", 1, 128, 768, 3072, Right::weight},
    {"bert_base/scores", 12, 128, 128, 64, Right::computed_transposed},
    {"bert_base/context", 12, 128, 64, 128, Right::computed},
    {"gpt2_prefill/qkv", 1, 128, 2304, 768, Right::weight},
    {"gpt2_prefill/head", 1, 128, 50257, 768, Right::weight},
    {"gpt2_decode/scores", 12, 1, 129, 64, Right::computed_transposed},
    {"gpt2_decode/context", 12, 1, 64, 129, Right::computed},
    {"llama_block/qkv", 1, 128, 3072, 2048, Right::weight},
    {"llama_block/mlp_up", 1, 128, 5632, 2048, Right::weight},
    {"lstm_2layer/input", 1, 128, 2048, 512, Right::weight},
    {"small/attention_head_scores", 1, 64, 64, 64, Right::computed_transposed},
    {"small/attention_head_context", 1, 32, 32, 32, Right::computed},
    {"small/mobile_expand", 1, 49, 576, 96, Right::weight},
    {"small/mobile_project", 1, 49, 96, 576, Right::weight},
    {"small/tiny_layer", 1, 8, 64, 8, Right::weight},
    {"small/few_rows", 1, 4, 768, 768, Right::weight},
    {"square/weight", 1, 512, 512, 512, Right::weight},
    {"square/computed", 1, 512, 512, 512, Right::computed},
    {"square/computed_transposed", 1, 512, 512, 512, Right::computed_transposed},
    {"square/large", 1, 1024, 1024, 1024, Right::weight},
    {"square/odd", 1, 1000, 1000, 1024, Right::weight},
};

Workload make(const ProductCase& shape, Team& team) {
  const Array<float> a = random_floats(shape.batch * shape.m * shape.k, 1);
  const Array<float> b = random_floats(shape.batch * shape.k * shape.n, 2);
  Workload workload;
  workload.results = shape.batch * shape.m * shape.n;
  workload.operations = 2.0 * static_cast<double>(workload.results * shape.k);
  workload.reads = {{{a.data(), a.bytes()}, {b.data(), b.bytes()}}};
  workload.tolerance = tolerance_of_sums(shape.k);
  workload.keep = {a.owner(), b.owner()};
  for (Library* library : team.libraries) {
    const Array<float> c(workload.results);
    Product product{shape.batch, shape.m, shape.n, shape.k};
    product.transposed_b = shape.right == Right::computed_transposed;
    product.constant_b = shape.right == Right::weight;
    product.a = a.data(), product.b = b.data(), product.c = c.data();
    workload.entrants.push_back({library->name(), library->product(product, team.pool), c.data()});
    workload.keep.push_back(c.owner());
  }
  return workload;
}

std::string name_of(const ProductCase& shape) {
  const std::string batch = shape.batch > 1 ? std::to_string(shape.batch) + "x" : "";
  return std::string("gemm/") + shape.name + "/" + batch + std::to_string(shape.m) + "x" +
         std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

}  // namespace

void add_matrix_products(Bench& bench) {
  for (const ProductCase& shape : cases) {
    bench.add(name_of(shape), [&shape](Team& team) { return make(shape, team); });
  }
}

}  // namespace axrun::perf
