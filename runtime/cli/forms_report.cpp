#include "runtime/cli/forms_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace axrun::cli {

using Json = nlohmann::ordered_json;

Json forms_json(const runtime::FormCounts& counts) {
  Json forms = Json::array();
  for (const runtime::FormCounts::Form& form : counts.forms)
    forms.push_back({{"sizes", form.sizes}, {"guards", form.guards}});
  return {{"bound", counts.bound},
          {"for_one_set_of_sizes", counts.unbound},
          {"forms_made", counts.made},
          {"variants_made", counts.variants},
          {"why_not", counts.reason.empty() ? Json(nullptr) : Json(counts.reason)},
          {"forms", std::move(forms)}};
}

std::string forms_text(const runtime::FormCounts& counts, bool details) {
  if (counts.made == 0 && (counts.reason.empty() || counts.reason == counts.nothing_open)) return "";
  if (!counts.reason.empty()) return fmt::format("plans: one for each set of sizes: {}\n", counts.reason);
  std::string text = fmt::format(
      "plans: {} bound from {} form{} over named sizes, in {} variant{}; {} made for one set of sizes\n",
      counts.bound, counts.made, counts.made == 1 ? "" : "s", counts.variants,
      counts.variants == 1 ? "" : "s", counts.unbound);
  if (!details) return text;
  for (const runtime::FormCounts::Form& form : counts.forms)
    text += fmt::format("  open: {}; where {}\n", fmt::join(form.sizes, ", "), fmt::join(form.guards, ", "));
  return text;
}

}  // namespace axrun::cli
