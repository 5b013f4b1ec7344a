#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ir/error_place.h"
#include "runtime/serve/http_message.h"

namespace axrun::serve {

/// What a client is told of a failure.
struct Refusal {
  int status = 500;
  const char* code = "internal";  ///< as runtime/error_code.h names it; besides "busy", "not_found",
                                  ///< "wrong_method", "too_large", "too_slow"
  std::string text;
  ErrorPlace place = {};  ///< what of the model it is about
};

/// The failure that is being handled: to be called in a catch clause.
Refusal refusal_of_current_exception();

HttpAnswer json_answer(int status, const nlohmann::ordered_json& json);
HttpAnswer answer_of(const Refusal& refusal);

}  // namespace axrun::serve
