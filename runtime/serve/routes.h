#pragma once

#include <string>
#include <string_view>

namespace axrun::serve {

/// What a path names.
enum class Resource {
  none,
  server,       ///< /v2
  live,         ///< /v2/health/live
  ready,        ///< /v2/health/ready
  metrics,      ///< /metrics
  model,        ///< /v2/models/NAME[/versions/VERSION]
  model_ready,  ///< the same and /ready
  infer,        ///< the same and /infer
};

struct Target {
  Resource resource = Resource::none;
  std::string model, version;  ///< percent-decoded; empty where the path has none
};

/// The target of a request line: a path, or an absolute URI as proxies get it; queries are ignored.
Target target_of(std::string_view target);
/// The methods that a resource has, as the header field Allow lists them.
std::string_view methods_of(Resource resource);
/// Health and metrics: what is answered even where there is no room for anything else.
bool is_for_probes(Resource resource);

}  // namespace axrun::serve
