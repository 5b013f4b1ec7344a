#include "perf/kernels/composed.h"

#include <cmath>

#include "perf/kernels/array.h"
#include "perf/kernels/row_loops.h"

namespace axrun::perf {
namespace {

using runtime::ThreadPool;

/// What one thread needs to work on any head.
struct HeadWorker {
  Array<float> query, scores;
  std::vector<Ready> score_products, value_products;  ///< by head
};

HeadWorker make_worker(Library& library, const HeadAttention& x, ThreadPool& pool) {
  HeadWorker worker{Array<float>(x.queries * x.size), Array<float>(x.queries * x.keys), {}, {}};
  for (int64_t head = 0; head < x.heads; ++head) {
    Product scores{1, x.queries, x.keys, x.size, true};
    scores.a = x.norm_scale != nullptr ? worker.query.data() : x.query + head * x.queries * x.size;
    scores.b = x.key + head * x.keys * x.size;
    scores.c = worker.scores.data();
    worker.score_products.push_back(library.product(scores, pool));
    Product values{1, x.queries, x.size, x.keys};
    values.a = worker.scores.data();
    values.b = x.value + head * x.keys * x.size;
    values.c = x.y + head * x.queries * x.size;
    worker.value_products.push_back(library.product(values, pool));
  }
  return worker;
}

void attend(const HeadAttention& x, const HeadWorker& worker, int64_t head) {
  if (x.norm_scale != nullptr) {
    rms_norm_rows(x.queries, x.size, x.query + head * x.queries * x.size, x.norm_scale, worker.query.data());
  }
  worker.score_products[static_cast<size_t>(head)].run();
  const float scale = 1 / std::sqrt(static_cast<float>(x.size));
  softmax_rows(x.queries, x.keys, worker.scores.data(), scale, x.mask);
  worker.value_products[static_cast<size_t>(head)].run();
}

}  // namespace

Ready composed_layer(Library& library, const Layer& layer, ThreadPool& pool) {
  const int64_t count = layer.rows * layer.size;
  const bool gated = layer.gate != nullptr;
  const Array<float> normalised(layer.norm_scale != nullptr ? count : 0), gate(gated ? count : 0);
  Product up{1, layer.rows, layer.size, layer.size};
  up.constant_b = true;
  up.a = layer.norm_scale != nullptr ? normalised.data() : layer.x;
  up.b = layer.weights, up.c = layer.y;
  Product gating = up;
  gating.b = layer.gate, gating.c = gate.data();
  const Ready up_product = library.product(up, pool);
  const Ready gate_product = gated ? library.product(gating, pool) : Ready();
  return {[layer, count, normalised, gate, up_product, gate_product] {
            if (layer.norm_scale != nullptr) {
              rms_norm_rows(layer.rows, layer.size, layer.x, layer.norm_scale, normalised.data());
            }
            up_product.run();
            if (layer.gate == nullptr) return;
            gate_product.run();
            if (layer.silu) {
              silu_multiply(count, gate.data(), layer.y, layer.y);
            } else {
              multiply(count, gate.data(), layer.y, layer.y);
            }
          },
          {}};
}

Ready composed_attention(Library& library, const HeadAttention& attention, ThreadPool& pool) {
  library.set_threads(1);
  std::vector<HeadWorker> workers;
  for (int i = 0; i < pool.threads(); ++i) workers.push_back(make_worker(library, attention, pool));
  return {[&library, attention, workers = std::move(workers), &pool] {
            pool.parallel_for_workers(attention.heads, 1, [&](int64_t worker, int64_t begin, int64_t end) {
              library.set_threads(1);
              for (int64_t head = begin; head < end; ++head) {
                attend(attention, workers[static_cast<size_t>(worker)], head);
              }
            });
          },
          {}};
}

}  // namespace axrun::perf
