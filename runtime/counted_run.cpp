#include "runtime/counted_run.h"

#include "ir/error_place.h"

namespace axrun::runtime {

std::vector<std::pair<const char*, std::string>> log_fields_of(const std::exception& error) {
  std::vector<std::pair<const char*, std::string>> fields = {{"code", code_of(error)},
                                                             {"error", error.what()}};
  const ErrorPlace place = error_place(error);
  if (!place.input.empty()) fields.emplace_back("input", place.input);
  if (!place.node.empty()) fields.emplace_back("node", place.node);
  if (!place.op.empty()) fields.emplace_back("op", place.op);
  return fields;
}

}  // namespace axrun::runtime
