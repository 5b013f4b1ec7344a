// Tree ensembles: nodes in one flat array, rows walked through every tree.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "ir/ops/tree_ensemble.h"
#include "ir/ops/tree_ensemble_scores.h"
#include "runtime/operators/features.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;
using Mode = ir::TreeEnsemble::Mode;
using Aggregate = ir::TreeEnsemble::Aggregate;

/// children[0] where the comparison holds; coded as in ir::TreeEnsemble::Node.
struct FlatNode {
  double threshold;
  int32_t children[2];
  int32_t feature;
  Mode mode;
  bool missing_is_true;
};

template <Mode mode>
bool holds(double value, double threshold) {
  switch (mode) {
    case Mode::less_equal:
      return value <= threshold;
    case Mode::less:
      return value < threshold;
    case Mode::greater_equal:
      return value >= threshold;
    case Mode::greater:
      return value > threshold;
    case Mode::equal:
      return value == threshold;
    default:
      return value != threshold;
  }
}

bool holds(Mode mode, double value, double threshold) {
  switch (mode) {
    case Mode::less_equal:
      return holds<Mode::less_equal>(value, threshold);
    case Mode::less:
      return holds<Mode::less>(value, threshold);
    case Mode::greater_equal:
      return holds<Mode::greater_equal>(value, threshold);
    case Mode::greater:
      return holds<Mode::greater>(value, threshold);
    case Mode::equal:
      return holds<Mode::equal>(value, threshold);
    default:
      return holds<Mode::not_equal>(value, threshold);
  }
}

class TreeKernel final : public Kernel {
 public:
  TreeKernel(std::shared_ptr<const ir::TreeEnsemble> ensemble, const StepContext& context)
      : ensemble_(std::move(ensemble)),
        input_(context.inputs[0].type),
        rows_(context.inputs[0].rank() == 1 ? 1 : context.inputs[0].shape[0]),
        features_(context.inputs[0].shape.back()),
        threads_(context.threads) {
    for (const auto& node : ensemble_->nodes) {
      nodes_.push_back(
          {node.threshold, {node.if_true, node.if_false}, node.feature, node.mode, node.missing_is_true});
      plain_ = plain_ && !node.missing_is_true && node.mode == ensemble_->nodes[0].mode;
    }
    const bool labels = ensemble_->classifier;
    wants_labels_ = labels && context.has_output(0);
    scores_output_ = labels ? 1 : 0;
    wants_scores_ = context.has_output(static_cast<size_t>(scores_output_));
    targets_ = static_cast<size_t>(ensemble_->targets);
    worker_bytes_ = (targets_ * (sizeof(ir::TreeScore) + sizeof(double)) + 63) / 64 * 64;
  }

  void run(const KernelCall& call) const override {
    switch (input_) {
      case ElementType::f64:
        return run_typed<double>(call);
      case ElementType::i32:
        return run_typed<int32_t>(call);
      case ElementType::i64:
        return run_typed<int64_t>(call);
      default:
        return run_typed<float>(call);
    }
  }

  std::string describe() const override {
    return fmt::format("{} trees, {} nodes, {} rows", ensemble_->roots.size(), nodes_.size(), rows_);
  }
  size_t scratch_bytes() const override { return worker_bytes_ * static_cast<size_t>(threads_); }

 private:
  template <typename T>
  void run_typed(const KernelCall& call) const {
    constexpr int64_t trees_per_range = 2000;
    const auto trees = static_cast<int64_t>(ensemble_->roots.size());
    call.pool.parallel_for_workers(
        rows_, trees_per_range / std::max<int64_t>(trees, 1) + 1,
        [&](int64_t worker, int64_t begin, int64_t end) {
          char* scratch = static_cast<char*>(call.scratch) + static_cast<size_t>(worker) * worker_bytes_;
          const std::span scores(reinterpret_cast<ir::TreeScore*>(scratch), targets_);
          const std::span row(reinterpret_cast<double*>(scratch + targets_ * sizeof(ir::TreeScore)),
                              targets_);
          for (int64_t n = begin; n < end; ++n) {
            std::fill(scores.begin(), scores.end(), ir::TreeScore{});
            collect(static_cast<const T*>(call.inputs[0]) + n * features_, scores);
            finish(call, n, scores, row);
          }
        });
  }

  template <typename T>
  void collect(const T* x, std::span<ir::TreeScore> scores) const {
    if (plain_ && !nodes_.empty()) {
      switch (nodes_[0].mode) {
        case Mode::less_equal:
          return walk(x, scores, [](const FlatNode& node, double v) { return v <= node.threshold; });
        case Mode::less:
          return walk(x, scores, [](const FlatNode& node, double v) { return v < node.threshold; });
        default:
          break;
      }
    }
    walk(x, scores, [](const FlatNode& node, double v) {
      return (node.missing_is_true && std::isnan(v)) || holds(node.mode, v, node.threshold);
    });
  }

  /// Votes are added in the order of the trees, as the reference function does.
  template <typename T, typename Takes>
  void walk(const T* x, std::span<ir::TreeScore> scores, const Takes& takes_true) const {
    const FlatNode* nodes = nodes_.data();
    for (int32_t at : ensemble_->roots) {
      while (at >= 0) {
        const FlatNode& node = nodes[at];
        at = node.children[takes_true(node, static_cast<double>(x[node.feature])) ? 0 : 1];
      }
      const ir::TreeEnsemble::Leaf& leaf = ensemble_->leaves[static_cast<size_t>(~at)];
      for (int32_t k = leaf.first; k < leaf.last; ++k) vote(ensemble_->votes[static_cast<size_t>(k)], scores);
    }
  }

  void vote(const ir::TreeEnsemble::Vote& vote, std::span<ir::TreeScore> scores) const {
    ir::TreeScore& score = scores[static_cast<size_t>(vote.target)];
    if (ensemble_->aggregate == Aggregate::sum || ensemble_->aggregate == Aggregate::average) {
      score.value += vote.weight;
    } else if (!score.voted) {
      score.value = vote.weight;
    } else {
      score.value = ensemble_->aggregate == Aggregate::minimum ? std::min(score.value, vote.weight)
                                                               : std::max(score.value, vote.weight);
    }
    score.voted = true;
  }

  void finish(const KernelCall& call, int64_t n, std::span<ir::TreeScore> scores,
              std::span<double> row) const {
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
  ElementType input_;
  int64_t rows_, features_;
  int threads_;
  std::vector<FlatNode> nodes_;
  bool plain_ = true;  ///< one mode everywhere, and NaN is treated as it says
  bool wants_labels_ = false, wants_scores_ = false;
  int scores_output_ = 0;
  size_t targets_ = 0, worker_bytes_ = 0;
};

std::unique_ptr<Kernel> make_trees(const StepContext& context) {
  if (context.fused()) return nullptr;
  const ir::Program& program = *context.programs[0];
  if (program.stages.size() != 1 || program.stages[0].function != "tree_ensemble") return nullptr;
  auto ensemble = std::static_pointer_cast<const ir::TreeEnsemble>(program.stages[0].payload);
  switch (context.inputs[0].type) {
    case ElementType::f32:
    case ElementType::f64:
    case ElementType::i32:
    case ElementType::i64:
      break;
    default:
      return nullptr;
  }
  if (!ensemble->sets.empty() || (ensemble->classifier && ensemble->labels.is_string())) return nullptr;
  if (ensemble->score_type != ElementType::f32 && ensemble->score_type != ElementType::f64) return nullptr;
  if (context.inputs[0].shape.back() < ensemble->features) return nullptr;  // reported by the expression
  return std::make_unique<TreeKernel>(std::move(ensemble), context);
}

}  // namespace

void tree_factories(std::vector<FactoryEntry>& table) {
  for (std::string_view op : {"TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble"}) {
    table.push_back({"ai.onnx.ml", op, make_trees});
  }
  feature_factories(table);
}

}  // namespace axrun::runtime
