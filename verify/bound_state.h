#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "verify/bound_body.h"
#include "verify/bound_memo.h"
#include "verify/error_bound.h"

namespace axrun::verify {

/// What is known of a stage once sizes are.
struct BoundCode {
  const ir::Stage* stage = nullptr;
  ir::Shape axes;
  ir::Shape reduce_axes;
  int64_t reduce_points = 1;
  std::unique_ptr<BoundBody> body;
  /// Elements are worked out wherever they are read, and none is kept.
  bool transient = false;
  std::unique_ptr<BoundBody> combine;  ///< of a tuple: roots are the new tuple, then the identity
};

/// Every kind of stage computes into the memos of the others, on demand.
struct ErrorBound::State : ElementSource {
  const ir::Program& program;
  std::vector<ir::Tensor> operands;
  std::map<std::string, ir::Dim> sizes;
  std::vector<ir::Shape> shapes;  ///< by ir::TensorId; only those that outputs depend on
  std::vector<const ir::Tensor*> operand_of;
  std::vector<int> stage_of;  ///< by ir::TensorId
  std::vector<size_t> result_of;
  std::vector<std::unique_ptr<Memo>> memos;
  std::vector<BoundCode> codes;  ///< by stage
  int64_t work = 0;
  int share_of_steps = 1;
  int64_t most_work_of_steps = 0;  ///< 0: no limit
  // In the step of a scan:
  State* around = nullptr;
  std::map<ir::TensorId, ir::TensorId> captured;  ///< what operands are there
  int64_t time = 0;

  /// The step of a scan. Its states have memos, which whoever runs it fills.
  State(State& outer, const ir::Stage& scan);
  State(const ir::Program& p, const std::map<std::string, int64_t>& given,
        const std::vector<ir::Tensor>& tensors);

  void number_results();
  int64_t extent(const ir::Dim& dim) const;
  ir::Shape extents(const std::vector<ir::Axis>& axes) const;
  void find_shape(ir::TensorId id);
  std::vector<ir::TensorId> loaded_by(const ir::Stage& stage) const;
  /// In order of execution. Finds the shapes of what they read, too.
  std::set<size_t> needed_stages();
  void prepare(size_t number);
  /// Large maps of little work that read operands only. Few elements of them are asked for, far apart: to
  /// keep one takes longer than to work it out again.
  bool is_transient(const BoundCode& code) const;
  void read(ir::TensorId id, const int64_t* positions, int count, Lanes& lanes) override;
  void read_run(ir::TensorId id, int64_t first, int64_t step, int count, Lanes& lanes) override;
  static bool is_known(Memo& memo, int64_t first, int64_t step, int count);
  static void read_operand(const ir::Tensor& tensor, const int64_t* positions, int count, Lanes& lanes);
  /// Computes what is missing of a stage's result at these positions (negative ones do not count).
  void compute(ir::TensorId id, const int64_t* positions, int64_t count);

  // Kinds of stages (bound_stages.cpp), at positions of their results:

  /// As the result holds it: those in a narrower type than f32 are rounded once more, unless a fused loop
  /// keeps them as they are.
  Interval held(ir::TensorId id, const Interval& interval) const;
  void keep(const ir::Stage& stage, size_t result, int64_t position, Interval interval);
  /// All elements of a tensor.
  void copy_all(ir::TensorId from, Memo& to, int64_t offset);
  /// What the last step computed counts no more.
  void forget();
  void scan(const ir::Stage& stage);
  void run(BoundBody& body, int count);
  void map(BoundCode& code, const std::vector<int64_t>& points);
  /// Elements of a transient map, as read() gives them. They do not count as work.
  void map_into(BoundCode& code, const int64_t* positions, int count, Lanes& lanes);
  /// Lanes are reduce points; short reductions of several points share a block.
  void reduce(BoundCode& code, const std::vector<int64_t>& points);
  /// Lanes are points; the reduction goes on one reduce point after another.
  void reduce_tuple(BoundCode& code, const std::vector<int64_t>& points);
};

}  // namespace axrun::verify
