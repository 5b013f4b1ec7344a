// The calls of oneDNN that differ between its interfaces of version 2 (Debian 12) and 3, and between builds
// of it with OpenMP and with oneTBB.
#pragma once

#include <dnnl.hpp>

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
#include <oneapi/tbb/global_control.h>

#include <optional>
#else
#include <omp.h>
#endif

namespace axrun::perf::onednn {

using dnnl::memory;

/// How many threads a call uses.
class Threads {
 public:
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
  /// Holds for the process: calls run in threads of oneDNN's runtime, which an arena of the caller's does not
  /// bind. All libraries that are measured together use the same number.
  void set(int threads) {
    limit_.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  }

 private:
  std::optional<tbb::global_control> limit_;
#else
  void set(int threads) { omp_set_num_threads(threads); }
#endif
};

inline dnnl::post_ops relu() {
  dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
#else
  after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
#endif
  return after;
}

inline memory::dims dims_of(const memory::desc& form) {
#if DNNL_VERSION_MAJOR >= 3
  return form.get_dims();
#else
  return form.dims();
#endif
}

inline memory::data_type type_of(const memory::desc& form) {
#if DNNL_VERSION_MAJOR >= 3
  return form.get_data_type();
#else
  return form.data_type();
#endif
}

inline dnnl::matmul::primitive_desc matmul(const dnnl::engine& engine, const memory::desc& a,
                                           const memory::desc& b, const memory::desc& c) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c};
#else
  return {dnnl::matmul::desc(a, b, c), engine};
#endif
}

/// The direct algorithm, for inference.
inline dnnl::convolution_forward::primitive_desc convolution(
    const dnnl::engine& engine, const memory::desc& x, const memory::desc& weights, const memory::desc& bias,
    const memory::desc& y, const memory::dims& strides, const memory::dims& dilations,
    const memory::dims& begins, const memory::dims& ends, const dnnl::primitive_attr& attributes) {
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kind, algorithm, x, weights, bias, y, strides, dilations, begins, ends, attributes};
#else
  return {
      dnnl::convolution_forward::desc(kind, algorithm, x, weights, bias, y, strides, dilations, begins, ends),
      attributes, engine};
#endif
}

}  // namespace axrun::perf::onednn
