#include "runtime/c_api_handles.h"

using namespace axrun::c_api;
using axrun::ir::Shape;
using axrun::runtime::Tier;

static_assert(static_cast<int>(Tier::automatic) == AXRUN_TIER_AUTO);

// axrun_c.h is the manual of what follows.

axrun_status axrun_options_create(axrun_options** options) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    *options = new axrun_options();
  });
}

void axrun_options_free(axrun_options* options) { delete options; }

axrun_status axrun_options_set_threads(axrun_options* options, int threads) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(threads >= 0, "threads is negative");
    options->options.threads = threads;
  });
}

axrun_status axrun_options_set_tier(axrun_options* options, int tier) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(tier >= AXRUN_TIER_REFERENCE && tier <= AXRUN_TIER_AUTO, "there is no such tier");
    options->options.tier = static_cast<Tier>(tier);
  });
}

axrun_status axrun_options_set_shape(axrun_options* options, const char* input, const int64_t* dims,
                                     size_t rank) {
  return guarded([&] {
    require(options != nullptr && input != nullptr, "options or input is NULL");
    require(rank == 0 || dims != nullptr, "dims is NULL");
    options->options.shapes[input] = Shape(dims, dims + rank);
  });
}

axrun_status axrun_options_set_dim(axrun_options* options, const char* name, int64_t size) {
  return guarded([&] {
    require(options != nullptr && name != nullptr, "options or name is NULL");
    options->options.dims[name] = size;
  });
}

axrun_status axrun_options_set_plan_cache(axrun_options* options, size_t plans) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    options->options.plan_cache = plans;
  });
}

axrun_status axrun_options_set_optimize(axrun_options* options, int optimize) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    options->options.optimize = optimize != 0;
  });
}

axrun_status axrun_options_set_optimizer_threads(axrun_options* options, int threads) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(threads >= 0, "threads is negative");
    options->options.optimizer_threads = threads;
  });
}

axrun_status axrun_options_set_optimizer_priority(axrun_options* options, int priority) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(priority >= AXRUN_PRIORITY_STANDARD && priority <= AXRUN_PRIORITY_NORMAL,
            "there is no such priority");
    options->options.optimizer_priority = static_cast<axrun::runtime::OptimizerPriority>(priority);
  });
}

axrun_status axrun_options_set_optimizer_share(axrun_options* options, double share) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(share > 0 && share <= 1, "the share is not above 0 and at most 1");
    options->options.optimizer_share = share;
  });
}

axrun_status axrun_options_set_deterministic(axrun_options* options, int deterministic) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    options->options.deterministic = deterministic != 0;
  });
}

axrun_status axrun_options_set_fp(axrun_options* options, int fp) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(fp >= AXRUN_FP_REASSOC && fp <= AXRUN_FP_BILINEAR, "there is no such class");
    options->options.deterministic = fp == AXRUN_FP_STRICT;
    options->options.bilinear = fp == AXRUN_FP_BILINEAR;
  });
}

axrun_status axrun_options_set_memory_limit(axrun_options* options, int64_t bytes) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(bytes >= 0, "the limit is negative");
    options->options.memory_limit = bytes;
  });
}

axrun_status axrun_options_set_cache(axrun_options* options, const char* folder) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    options->options.use_cache = folder != nullptr;
    options->options.cache_dir = folder != nullptr ? folder : "";
  });
}
