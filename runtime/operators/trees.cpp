// Tree ensembles: rows walked through several trees at once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ir/error.h"
#include "ir/ops/tree_ensemble.h"
#include "ir/ops/tree_ensemble_scores.h"
#include "runtime/operators/features.h"
#include "runtime/operators/tree_layout.h"
#include "runtime/operators/tree_masks.h"
#include "runtime/operators/tree_votes.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

/// Walks worth a range of their own: some ten microseconds.
constexpr int64_t walks_per_range = 4000;

/// Rows of type Source are compared as floats if they are, else as doubles, as the reference function does.
template <typename Source>
class TreeKernel final : public Kernel {
 public:
  using Value = std::conditional_t<std::is_same_v<Source, float>, float, double>;
  using Layout = TreeLayout<Value>;

  TreeKernel(std::shared_ptr<const ir::TreeEnsemble> ensemble, std::unique_ptr<const Layout> layout,
             const StepContext& context)
      : ensemble_(std::move(ensemble)),
        layout_(std::move(layout)),
        votes_(*ensemble_),
        rows_(context.inputs[0].rank() == 1 ? 1 : context.inputs[0].shape[0]),
        features_(context.inputs[0].shape.back()),
        targets_(static_cast<size_t>(ensemble_->targets)),
        copies_rows_(!std::is_same_v<Source, Value> || layout_->reads_copies()) {
    const bool labels = ensemble_->classifier;
    wants_labels_ = labels && context.has_output(0);
    scores_output_ = labels ? 1 : 0;
    wants_scores_ = context.has_output(static_cast<size_t>(scores_output_));
    const int64_t walks = layout_->groups() * lanes;
    spreads_trees_ =
        context.threads > 1 && rows_ < 2 * context.threads && rows_ * walks >= 2 * walks_per_range;
    if constexpr (std::is_same_v<Source, float>) {
      const auto trees = static_cast<int64_t>(ensemble_->roots.size());
      if (!spreads_trees_) masks_ = TreeMasks::of(*layout_, trees, rows_);
    }
    // Trees are read once for a block of rows.
    const int64_t most = std::clamp<int64_t>(4096 / static_cast<int64_t>(targets_), 1, most_block_rows);
    block_ = masks_ != nullptr ? masks_->block_rows() : std::clamp<int64_t>(rows_, 1, most);

    if (masks_ == nullptr && copies_rows_) row_bytes_ = static_cast<size_t>(features_) * sizeof(Value) * 2;
    if (masks_ != nullptr) row_bytes_ = masks_->features().size() * sizeof(Value);
    rows_at_ = rounded(static_cast<size_t>(block_) * votes_.state_bytes());
    scores_at_ = rows_at_ + rounded(static_cast<size_t>(block_) * row_bytes_);
    results_at_ = scores_at_ + rounded(targets_ * sizeof(ir::TreeScore));
    worker_bytes_ = results_at_ + rounded(targets_ * sizeof(double));
    leaves_at_ = worker_bytes_ * static_cast<size_t>(context.threads);
    scratch_bytes_ = leaves_at_ + (spreads_trees_ ? static_cast<size_t>(walks) * sizeof(int32_t) : 0);
  }

  void run(const KernelCall& call) const override {
    if (spreads_trees_) return run_trees(call);
    // Lists of questions take less time than walks.
    const int64_t walks = masks_ != nullptr ? 3 * walks_per_range : walks_per_range;
    call.pool.parallel_for_workers(rows_, walks / (layout_->groups() * lanes) + 1,
                                   [&](int64_t worker, int64_t begin, int64_t end) {
                                     char* scratch = scratch_of(call, worker);
                                     for (; begin < end; begin += block_) {
                                       run_block(call, scratch, begin, std::min(end, begin + block_));
                                     }
                                   });
  }

  std::string describe() const override {
    return fmt::format("{} trees, {} nodes, {} rows", ensemble_->roots.size(), ensemble_->nodes.size(),
                       rows_);
  }
  size_t scratch_bytes() const override { return scratch_bytes_; }

 private:
  static constexpr int lanes = Layout::lanes;
  static constexpr int64_t most_block_rows = 16;

  static size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }
  char* scratch_of(const KernelCall& call, int64_t worker) const {
    return static_cast<char*>(call.scratch) + static_cast<size_t>(worker) * worker_bytes_;
  }

  static Value without_nan(Value value) {
    return std::isnan(value) ? -std::numeric_limits<Value>::infinity() : value;
  }
  char* state_of(char* scratch, int64_t row) const {
    return scratch + static_cast<size_t>(row) * votes_.state_bytes();
  }

  /// Row n as walks read it; `copy` has row_bytes_.
  const Value* row_of(const KernelCall& call, int64_t n, char* copy) const {
    const Source* source = static_cast<const Source*>(call.inputs[0]) + n * features_;
    if constexpr (std::is_same_v<Source, Value>) {
      if (!copies_rows_) return source;
    }
    auto* row = reinterpret_cast<Value*>(copy);
    for (int64_t f = 0; f < features_; ++f) {
      const auto value = static_cast<Value>(source[f]);
      row[f] = value;
      row[features_ + f] = without_nan(value);
    }
    return row;
  }

  void run_block(const KernelCall& call, char* scratch, int64_t begin, int64_t end) const {
    for (int64_t n = begin; n < end; ++n) votes_.clear(state_of(scratch, n - begin));
    if constexpr (std::is_same_v<Source, float>) {
      masks_ != nullptr ? ask_block(call, scratch, begin, end) : walk_block(call, scratch, begin, end);
    } else {
      walk_block(call, scratch, begin, end);
    }
    for (int64_t n = begin; n < end; ++n) finish(call, n, state_of(scratch, n - begin), scratch);
  }

  void walk_block(const KernelCall& call, char* scratch, int64_t begin, int64_t end) const {
    const Value* rows[most_block_rows];
    for (int64_t n = begin; n < end; ++n) {
      rows[n - begin] = row_of(call, n, scratch + rows_at_ + static_cast<size_t>(n - begin) * row_bytes_);
    }
    for (int64_t group = 0; group < layout_->groups(); ++group) {
      for (int64_t n = begin; n < end; ++n) {
        int32_t leaves[lanes];
        layout_->walk(group, rows[n - begin], leaves);
        votes_.add(leaves, state_of(scratch, n - begin));
      }
    }
  }

  void ask_block(const KernelCall& call, char* scratch, int64_t begin, int64_t end) const {
    auto* columns = reinterpret_cast<float*>(scratch + rows_at_);
    const auto* x = static_cast<const float*>(call.inputs[0]) + begin * features_;
    for (size_t c = 0; c < masks_->features().size(); ++c) {
      const int64_t feature = masks_->features()[c];
      float* column = columns + c * static_cast<size_t>(block_);
      const bool copy = feature >= features_;
      for (int64_t k = 0; k < end - begin; ++k) {
        const float value = x[k * features_ + (copy ? feature - features_ : feature)];
        column[k] = copy ? without_nan(value) : value;
      }
      std::fill(column + (end - begin), column + block_, 0.0f);
    }
    const auto trees = static_cast<int64_t>(ensemble_->roots.size());
    int32_t leaves[TreeMasks::most_trees * most_tree_block_rows];
    for (int64_t first = 0; first < trees; first += TreeMasks::most_trees) {
      const int64_t last = std::min(trees, first + TreeMasks::most_trees);
      masks_->leaves(first, last, columns, end - begin, leaves);
      for (int64_t k = 0; k < end - begin; ++k) {
        votes_.add({leaves + k * TreeMasks::most_trees, static_cast<size_t>(last - first)},
                   state_of(scratch, k));
      }
    }
  }

  /// Few rows and many trees: the leaves are found side by side, their votes added in the order of the trees.
  void run_trees(const KernelCall& call) const {
    auto* leaves = reinterpret_cast<int32_t*>(static_cast<char*>(call.scratch) + leaves_at_);
    for (int64_t n = 0; n < rows_; ++n) {
      char* scratch = scratch_of(call, 0);
      const Value* row = row_of(call, n, scratch + rows_at_);
      call.pool.parallel_for(layout_->groups(), walks_per_range / lanes, [&](int64_t begin, int64_t end) {
        for (; begin < end; ++begin) layout_->walk(begin, row, leaves + begin * lanes);
      });
      votes_.clear(scratch);
      votes_.add({leaves, static_cast<size_t>(layout_->groups() * lanes)}, scratch);
      finish(call, n, scratch, scratch);
    }
  }

  void finish(const KernelCall& call, int64_t n, const char* state, char* scratch) const {
    const std::span scores(reinterpret_cast<ir::TreeScore*>(scratch + scores_at_), targets_);
    const std::span row(reinterpret_cast<double*>(scratch + results_at_), targets_);
    votes_.scores(state, scores);
    if (!ensemble_->classifier) {
      ir::finish_regression(*ensemble_, scores, row);
    } else {
      const size_t winner = ir::finish_classification(*ensemble_, scores, row);
      // A single class is a yes or no: its label is not used.
      const int64_t label = targets_ == 1 ? static_cast<int64_t>(winner) : ensemble_->labels.integers[winner];
      if (wants_labels_) static_cast<int64_t*>(call.outputs[0])[n] = label;
    }
    if (!wants_scores_) return;
    void* y = call.outputs[scores_output_];
    const int64_t first = n * static_cast<int64_t>(targets_);
    for (size_t k = 0; k < targets_; ++k) {
      const int64_t at = first + static_cast<int64_t>(k);
      if (ensemble_->score_type == ElementType::f64) {
        static_cast<double*>(y)[at] = row[k];
      } else {
        static_cast<float*>(y)[at] = static_cast<float>(row[k]);
      }
    }
  }

  std::shared_ptr<const ir::TreeEnsemble> ensemble_;
  std::unique_ptr<const Layout> layout_;
  std::unique_ptr<const TreeMasks> masks_;  ///< of small trees, where that is faster than walks
  TreeVotes votes_;
  int64_t rows_, features_;
  size_t targets_;
  bool copies_rows_;
  bool wants_labels_ = false, wants_scores_ = false;
  int scores_output_ = 0;
  bool spreads_trees_ = false;
  int64_t block_ = 1;
  // Scratch of a worker: what is collected for each row of a block, their copies or columns, one row's scores
  // and results. The leaves of one row follow those of all workers.
  size_t row_bytes_ = 0, rows_at_ = 0, scores_at_ = 0, results_at_ = 0, worker_bytes_ = 0, leaves_at_ = 0;
  size_t scratch_bytes_ = 0;
};

template <typename Source>
std::unique_ptr<Kernel> make_typed(std::shared_ptr<const ir::TreeEnsemble> ensemble,
                                   const StepContext& context) {
  auto layout = TreeKernel<Source>::Layout::of(*ensemble, context.inputs[0].shape.back());
  if (layout == nullptr) return nullptr;
  return std::make_unique<TreeKernel<Source>>(std::move(ensemble), std::move(layout), context);
}

std::unique_ptr<Kernel> make_trees(const StepContext& context) {
  if (context.fused()) return nullptr;
  const ir::Program& program = *context.programs[0];
  if (program.stages.size() != 1 || program.stages[0].function != "tree_ensemble") return nullptr;
  auto ensemble = std::static_pointer_cast<const ir::TreeEnsemble>(program.stages[0].payload);
  if (ensemble->classifier && ensemble->labels.is_string()) return nullptr;
  if (ensemble->score_type != ElementType::f32 && ensemble->score_type != ElementType::f64) return nullptr;
  if (context.inputs[0].shape.back() < ensemble->features) return nullptr;  // reported by the expression
  switch (context.inputs[0].type) {
    case ElementType::f32:
      return make_typed<float>(std::move(ensemble), context);
    case ElementType::f64:
      return make_typed<double>(std::move(ensemble), context);
    case ElementType::i32:
      return make_typed<int32_t>(std::move(ensemble), context);
    case ElementType::i64:
      return make_typed<int64_t>(std::move(ensemble), context);
    default:
      return nullptr;
  }
}

}  // namespace

void tree_factories(std::vector<FactoryEntry>& table) {
  for (std::string_view op : {"TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble"}) {
    table.push_back({"ai.onnx.ml", op, make_trees});
  }
  feature_factories(table);
}

}  // namespace axrun::runtime
