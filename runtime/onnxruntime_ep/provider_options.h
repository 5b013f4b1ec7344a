#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/onnxruntime_ep/ort_abi.h"
#include "runtime/session.h"

namespace axrun::ort {

inline constexpr const char* provider_name = "AxrunExecutionProvider";

/// ONNX Runtime's own options about context models.
struct ContextOptions {
  bool make = false;   ///< ep.context_enable
  bool embed = false;  ///< ep.context_embed_mode: contexts are inside of the model, not in files beside it
  std::string file;    ///< ep.context_file_path: the context model's
};

/// What the user of a session wants of the provider.
struct ProviderOptions {
  runtime::SessionOptions session;
  double budget_seconds = 0;  ///< from the first run on; then no plan is swapped any more. 0: no end
  bool verify = false;        ///< every run is repeated on the reference tier and compared
  double tolerance = 1e-4;    ///< of the comparison: of max(largest reference value, 0.01)
  int log_level = log_warning;
  ContextOptions context;
};

/// Reads a session's configuration: "ep.axrunexecutionprovider.KEY". Throws Error(user) that names all that
/// is wrong, and the keys and values there are. Entries of others are not looked at, but for the session's
/// thread count.
ProviderOptions read_options(const std::vector<std::pair<std::string, std::string>>& entries);

/// The keys, for documentation and tests: name, values, meaning.
struct OptionKey {
  const char* name;
  const char* values;
  const char* meaning;
};
const std::vector<OptionKey>& option_keys();

}  // namespace axrun::ort
