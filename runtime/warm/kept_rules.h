#pragma once

#include <memory>
#include <string>

#include "ir/graph.h"
#include "runtime/cache/store.h"
#include "search/algebra/rule_store.h"

namespace axrun::runtime {

/// The store of rules that a cache holds: one entry for all models, portable. Whoever reads it has every rule
/// proved again before it is used.
std::unique_ptr<search::algebra::RuleStore> rules_in(std::shared_ptr<cache::Store> store);

/// Of an entry that is there where rules have been looked for in models of this structure.
std::string key_of_examined(const ir::Graph& graph);

}  // namespace axrun::runtime
