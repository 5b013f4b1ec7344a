// The operators that are measured, and the libraries that offer them: axrun's own kernels first among them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernels/conv.h"
#include "runtime/parallel.h"

namespace axrun::perf {

/// C[batch][m][n] = A[batch][m][k] * B[batch][k][n] in float32, all contiguous. `transposed_b`: B lies as
/// [batch][n][k]. `constant_b`: B is a weight (and batch is 1), which may be repacked once, before the
/// measuring.
struct Product {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transposed_b = false, constant_b = false;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

/// c[n] = a[k] * B[k][n]: bfloat16 operands, sums and result in float32. B is a weight.
struct NarrowProduct {
  int64_t n = 0, k = 0;
  const uint16_t* a = nullptr;
  const uint16_t* b = nullptr;
  float* c = nullptr;
};

/// y = relu(convolution of x + bias), tensors laid out as ConvShape says. Weights and bias are constant.
struct Convolution {
  runtime::ConvShape shape;
  const float* x = nullptr;
  const float* weights = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
};

/// An operator made ready for one set of operands. What can be done once for all runs has been done.
struct Ready {
  std::function<void()> run;  ///< empty: the library does not offer the operator
  std::function<void()>
      fetch;  ///< if any, brings the result of the last run into the plain output; not timed
};

class Library {
 public:
  virtual ~Library() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;

  /// How many threads the calling thread's next calls use: when something is made ready and when it is run.
  virtual void set_threads(int threads) = 0;

  /// `pool` has as many threads, for loops of ours around the library's calls. It outlives what is returned.
  virtual Ready product(const Product&, runtime::ThreadPool&) { return {}; }
  virtual Ready narrow_product(const NarrowProduct&, runtime::ThreadPool&) { return {}; }
  virtual Ready convolution(const Convolution&, runtime::ThreadPool&) { return {}; }
};

std::unique_ptr<Library> make_axrun();
std::unique_ptr<Library> make_onednn();    ///< defined where the build found it
std::unique_ptr<Library> make_openblas();  ///< likewise

/// axrun, then the others that were found when this was built.
std::vector<std::unique_ptr<Library>> make_libraries();

}  // namespace axrun::perf
