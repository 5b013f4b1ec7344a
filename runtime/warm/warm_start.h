#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/store.h"
#include "runtime/optimizer/chosen_layouts.h"
#include "runtime/optimizer/kernel_library.h"
#include "runtime/optimizer_status.h"
#include "runtime/plan/nested_forms.h"
#include "runtime/plan_table.h"
#include "runtime/warm/experience.h"
#include "runtime/warm/kept_weights.h"
#include "runtime/warm/library_image.h"
#include "runtime/warm/model_identity.h"
#include "runtime/warm/plans_image.h"
#include "search/algebra/rule_store.h"
#include "search/schedule_store.h"

namespace axrun::runtime {

/// What a session starts from, and leaves for the next one with the same model: the kernels of the plans in
/// force with their machine code, which steps are joined, how values are laid out, what was tried and came to
/// nothing.
///
/// It is found by everything that the model computes with, every byte of its weights included: what is found
/// fits the model, and is used without asking again what its steps compute.
class WarmStart {
 public:
  /// settings: what else plans depend on (threads, what the optimiser may do), as text. pool: until load()
  /// has returned.
  /// packs_anew: what the cache has packed is left alone, and can be compared.
  WarmStart(std::shared_ptr<cache::Store> store, std::shared_ptr<const ir::Graph> graph, std::string settings,
            ThreadPool& pool, bool packs_anew = false);

  /// Before library and packs (may be null) are used. make: asked for graphs that are not stored as they are.
  /// What cannot be used leaves all as they are. Returns
  /// what was computed of constants for graphs that were chosen.
  std::vector<FoldedNode> load(KernelLibrary& library, ChosenLayouts& layouts, PackCache* packs,
                               const MakeGraph& make);
  /// The one set of shapes that earlier processes have met, where it is one: known of those that have left
  /// something.
  const std::vector<ir::Shape>& shapes() const { return shapes_; }
  /// What the plan for these runs inside, as far as most of the runs needed it.
  const std::vector<NestedForm>& nested() const { return nested_; }
  /// What plans in force run, and what is known; nothing where that is stored already. settled: there is
  /// nothing left to be done for any of them. Never throws.
  void save(const KernelLibrary& library, const ChosenLayouts& layouts, PlanTable& plans, bool settled);
  /// Constants as these plans' kernels want them, generated or precompiled, for every process that computes
  /// with the same ones, and the graphs that were made by algebra. Only where save() has stored something.
  /// Writes for about so long. Never throws.
  void keep_weights(const KernelLibrary& library, PackCache* packs, const ChosenLayouts& layouts,
                    PlanTable& plans, std::chrono::milliseconds longest);
  /// What these plans' kernels have packed, beside what the cache has of the same.
  PackedComparison compare_weights(const KernelLibrary& library, PackCache* packs, PlanTable& plans);
  /// Nothing will be wanted for a while: the cache's files are closed, and what processes to come would have
  /// to put in order before they can read is put in order now. Never throws.
  void rest();
  /// The verified kernel of an expression (by its key in the library), whatever model it was made for, with
  /// its evidence; nothing where there is none. Never throws.
  struct KnownKernel {
    GeneratedCode code;
    OptimizedKernel record;
  };
  std::optional<KnownKernel> kernel(const std::string& key);
  /// The expression's kernel has turned out wrong: no other model takes it from the cache. Never throws.
  void forget_kernel(const std::string& key);
  /// What is known of models of this structure, from any processor. Looked up when asked for first. For the
  /// optimiser's thread, like what comes next. Never throws.
  const Experience& experience();
  /// The layouts of the model's values have been chosen.
  void note_layouts(Experience::Layouts layouts) { layouts_ = layouts; }
  /// Identities that have been found, for all models.
  std::unique_ptr<search::algebra::RuleStore> rules();
  /// What searches for schedules have found, for all models.
  std::shared_ptr<search::ScheduleStore> schedules();
  /// Those of models of this structure have been looked for. Never throw.
  bool is_examined();
  void note_examined();
  CacheUse use() const;

 private:
  /// Hashes of constants, those included that plans have made. They live as long as the plans.
  KeptWeights::HashOf hashes_with(const std::vector<std::shared_ptr<const Plan>>& plans) const;
  void keep_kernels(const KernelLibrary& library);
  const Experience& known_experience();
  void keep_experience(const KernelLibrary& library);
  /// Maps the plans of an earlier process, and what it has packed for them.
  void fetch(ThreadPool& pool);
  void meet(const std::vector<std::vector<ir::Shape>>& shapes);
  bool put_plans(const PlansHead& head, std::string_view plans);
  /// Of what was made by algebra, with its constants: so that load() need not make it again.
  void keep_graphs(const ChosenLayouts& layouts);
  std::string key_of_graph(const cache::Hash& name) const;
  /// Looks at every byte of the model's constants, the first time.
  const std::string& key(ThreadPool& pool);

  const std::shared_ptr<cache::Store> store_;
  const std::shared_ptr<const ir::Graph> graph_;
  ThreadPool& pool_;
  const bool packs_anew_;
  const int threads_;
  LibraryImage::Graphs graphs_;  ///< it and the bodies in it, in order; those laid out come after them
  const std::string settings_;
  const cache::Hash structure_hash_;
  const std::string structure_;  ///< key of what says that there is something for such a model
  std::string key_;              ///< empty: not known yet
  std::string identity_;         ///< of the graph, with its constants: with the key
  const std::shared_ptr<Contents> contents_ = std::make_shared<Contents>();  ///< of the graph: with the key
  std::shared_ptr<KeptWeights> weights_;
  std::shared_ptr<const cache::MappedFile> found_;  ///< plans, until they are loaded
  std::optional<KeptWeights::Kept> kept_weights_;   ///< of these plans: what is said to be stored
  cache::Hash kept_for_{};                          ///< plans for which this session has seen to that
  bool weights_complete_ = true;                    ///< all is stored that may be
  mutable std::mutex mutex_;
  cache::Hash stored_{};
  std::vector<ir::Shape> shapes_;  ///< met so far, empty where there are several
  bool shapes_vary_ = false;
  std::vector<NestedForm> nested_;                                            ///< in the plan for them
  std::set<std::pair<std::string, std::vector<SizeValues>>> stored_kernels_;  ///< and where they were tested
  std::string experience_key_;
  std::optional<Experience> experience_;  ///< what was known before
  cache::Hash stored_experience_{};
  bool examined_ = false;
  Experience::Layouts layouts_ = Experience::Layouts::unknown;
  CacheUse use_;
};

/// What later sessions will miss of what this one has found, and why: "12 times disk_full"; empty: nothing.
std::string not_stored(const CacheUse& use);

/// Null where there is none; then `why` says why. folder: empty for the environment's.
std::shared_ptr<cache::Store> open_store(const std::string& folder, std::string& why);

}  // namespace axrun::runtime
