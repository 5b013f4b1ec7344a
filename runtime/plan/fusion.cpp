#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

std::vector<Group> fuse(const FusionInput& input) {
  std::vector<Group> groups;
  for (int node : input.nodes) groups.push_back({{node}});
  return groups;
}

}  // namespace axrun::runtime
