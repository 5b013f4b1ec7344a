// Products of a vector and a matrix of weights: what decoding spends its time in. In a model the weights of
// all layers come by before these come again, so the runs take turns at several copies of them that no cache
// holds.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "perf/kernels/array.h"
#include "perf/kernels/workload.h"

namespace axrun::perf {
namespace {

struct VectorCase {
  const char* name;
  int64_t n, k;
};

constexpr VectorCase vector_cases[] = {
    {"flagship/f32", 16384, 2048},
    {"gpt2_decode/qkv", 2304, 768},
    {"gpt2_decode/mlp_up", 3072, 768},
    {"gpt2_decode/mlp_down", 768, 3072},
    {"gpt2_decode/head", 50257, 768},
    {"llama_block_decode/query", 2048, 2048},
    {"llama_block_decode/key", 512, 2048},
    {"llama_block_decode/mlp_up", 5632, 2048},
    {"llama_block_decode/mlp_down", 2048, 5632},
    {"resnet50/classifier", 1000, 2048},
    {"vgg16/second_classifier", 4096, 4096},
};

/// At least four copies, and four times what the largest cache holds.
int64_t copies_of(int64_t bytes) {
  constexpr int64_t least = 4, assumed_cache = int64_t{64} << 20;
  const int64_t known = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const int64_t cache = known > 0 ? known : assumed_cache;
  return std::max(least, (4 * cache + bytes - 1) / bytes);
}

/// Runs the copies in turn. All of them give the same result.
Ready in_turn(std::vector<Ready> copies) {
  if (!copies.at(0).run) return {};
  return {[copies = std::move(copies), next = size_t{0}]() mutable { copies[next++ % copies.size()].run(); },
          {}};
}

template <class Element>
Workload make(const VectorCase& shape, Team& team, const Array<Element>& a, const Array<Element>& b,
              const std::function<Ready(Library&, const Element* b, float* c)>& ready) {
  Workload workload;
  workload.results = shape.n;
  workload.operations = 2.0 * static_cast<double>(shape.n * shape.k);
  workload.tolerance = tolerance_of_sums(shape.k);
  workload.keep = {a.owner()};
  std::vector<const Element*> weights;
  for (int64_t i = copies_of(static_cast<int64_t>(b.bytes())); i > 0; --i) {
    const Array<Element> copy(b.count());
    std::memcpy(copy.data(), b.data(), b.bytes());
    weights.push_back(copy.data());
    workload.reads.push_back({{a.data(), a.bytes()}, {copy.data(), copy.bytes()}});
    workload.keep.push_back(copy.owner());
  }
  for (Library* library : team.libraries) {
    const Array<float> c(shape.n);
    std::vector<Ready> copies;
    for (const Element* copy : weights) copies.push_back(ready(*library, copy, c.data()));
    workload.entrants.push_back({library->name(), in_turn(std::move(copies)), c.data()});
    workload.keep.push_back(c.owner());
  }
  return workload;
}

Workload make_float(const VectorCase& shape, Team& team) {
  const Array<float> a = random_floats(shape.k, 1), b = random_floats(shape.k * shape.n, 2);
  return make<float>(shape, team, a, b, [&](Library& library, const float* weights, float* c) {
    Product product{1, 1, shape.n, shape.k};
    product.constant_b = true;
    product.a = a.data(), product.b = weights, product.c = c;
    return library.product(product, team.pool);
  });
}

Array<uint16_t> to_bfloat16(const Array<float>& floats) {
  Array<uint16_t> result(floats.count());
  for (int64_t i = 0; i < floats.count(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, floats.data() + i, sizeof bits);
    result.data()[i] = static_cast<uint16_t>(bits >> 16);
  }
  return result;
}

/// The limit reads bfloat16, half of what a library reads that widens the weights once to float32.
Workload make_bfloat16(const VectorCase& shape, Team& team) {
  const Array<uint16_t> a = to_bfloat16(random_floats(shape.k, 1));
  const Array<uint16_t> b = to_bfloat16(random_floats(shape.k * shape.n, 2));
  return make<uint16_t>(shape, team, a, b, [&](Library& library, const uint16_t* weights, float* c) {
    return library.narrow_product({shape.n, shape.k, a.data(), weights, c}, team.pool);
  });
}

std::string name_of(const VectorCase& shape) {
  return "/1x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

}  // namespace

void add_vector_products(Bench& bench) {
  static constexpr VectorCase flagship = {"flagship/bf16_to_f32", 16384, 2048};
  bench.add(std::string("gemv/") + flagship.name + name_of(flagship),
            [](Team& team) { return make_bfloat16(flagship, team); });
  for (const VectorCase& shape : vector_cases) {
    bench.add(std::string("gemv/") + shape.name + name_of(shape),
              [&shape](Team& team) { return make_float(shape, team); });
  }
}

}  // namespace axrun::perf
