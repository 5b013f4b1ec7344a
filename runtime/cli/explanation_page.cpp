#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "runtime/cli/explanation.h"
#include "runtime/cli/json_text.h"

namespace axrun::cli {

/// The page without its data (explanation_page.html).
extern const char* const explanation_page_html;

std::string explanation_page(const Explanation& explanation) {
  std::string data = line_of(explanation_json(explanation));
  // Names come from files: nothing in a string may end the script element, or open a comment in it.
  for (size_t at = 0; (at = data.find('<', at)) != std::string::npos;) data.replace(at, 1, "\\u003c");
  std::string page = explanation_page_html;
  const std::string place = "@EXPLANATION@";
  const size_t at = page.find(place);
  AXRUN_ASSERT(at != std::string::npos);
  return page.replace(at, place.size(), data);
}

}  // namespace axrun::cli
