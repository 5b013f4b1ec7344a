#pragma once

#include <memory>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// The product that Attention and QAttention begin with: [rows][columns] = x * weights + bias, of inputs 0, 1
/// and 2.
class AttentionProjection {
 public:
  virtual ~AttentionProjection() = default;
  virtual void run(const KernelCall& call, float* to, void* scratch) const = 0;
  virtual size_t scratch_bytes() const = 0;
  /// Whether the weights are constants, read through a packed copy.
  virtual bool packed() const = 0;
  virtual bool ignores_input(int k) const = 0;
  /// The same for other rows, of a step whose ports have these sizes; null where it has to be made from a
  /// context.
  virtual std::shared_ptr<const AttentionProjection> resized(int64_t rows, const PortSizes& ports) const = 0;
};

struct ProjectionExtents {
  int64_t rows = 0, columns = 0, depth = 0;
};

/// All in f32.
std::unique_ptr<AttentionProjection> make_float_projection(const StepContext& context,
                                                           const ProjectionExtents& extents);
/// QAttention's: x and weights are bytes, scales (inputs 3 and 4) and bias f32, inputs 6 and 7 zero points.
/// Null where they are not.
std::unique_ptr<AttentionProjection> make_byte_projection(const StepContext& context,
                                                          const ProjectionExtents& extents);

}  // namespace axrun::runtime
