#include "runtime/warm/kept_rules.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/warm/model_identity.h"

namespace axrun::runtime {
namespace {

constexpr std::string_view key = "rules of algebra";

class RulesInCache : public search::algebra::RuleStore {
 public:
  explicit RulesInCache(std::shared_ptr<cache::Store> store) : store_(std::move(store)) {}

  std::optional<std::string> load() override { return store_->get(cache::Part::certificates, key); }
  void save(const std::string& text) override { store_->put(cache::Part::certificates, key, text); }
  void reject(const std::string&) override { store_->reject(cache::Part::certificates, key); }

 private:
  std::shared_ptr<cache::Store> store_;
};

}  // namespace

std::unique_ptr<search::algebra::RuleStore> rules_in(std::shared_ptr<cache::Store> store) {
  return std::make_unique<RulesInCache>(std::move(store));
}

std::string key_of_examined(const ir::Graph& graph) {
  return fmt::format("rules were looked for in models like {}", cache::to_text(structure_of(graph)));
}

}  // namespace axrun::runtime
