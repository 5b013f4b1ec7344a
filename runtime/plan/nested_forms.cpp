#include "runtime/plan/nested_forms.h"

#include <utility>

namespace axrun::runtime {

std::vector<NestedForm> nested_forms(const Plan& plan) {
  std::vector<NestedForm> forms;
  for (NestedPlan& one : plan.nested()) {
    NestedForm& form = forms.emplace_back();
    if (one.node != nullptr) {
      form.node = one.node->name;
      form.body = one.body;
    } else {
      form.live_in = one.plan->live_in_ids();
    }
    form.key = std::move(one.key);
    form.uses = one.uses;
    form.inside = nested_forms(*one.plan);
  }
  return forms;
}

}  // namespace axrun::runtime
