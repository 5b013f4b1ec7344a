#include "runtime/serve/refusal.h"

#include <nlohmann/json.hpp>

#include "runtime/error_code.h"
#include "runtime/run_control.h"

namespace axrun::serve {
namespace {

using runtime::code_of;
using runtime::RunEnded;

int status_of(Fault fault) {
  switch (fault) {
    case Fault::user:
    case Fault::model:
      return 400;
    case Fault::unsupported:
      return 501;
    case Fault::internal:
      break;
  }
  return 500;
}

}  // namespace

Refusal refusal_of_current_exception() {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return refusal;
  } catch (const RunEnded& ended) {
    return {ended.why() == RunEnded::Why::deadline ? 504 : 503, code_of(ended), ended.what()};
  } catch (const Error& error) {
    return {status_of(error.fault()), code_of(error), error.what(), error_place(error)};
  } catch (const std::bad_alloc& error) {
    return {503, code_of(error), "out of memory"};
  } catch (const std::exception& error) {
    return {500, code_of(error), error.what()};
  }
}

HttpAnswer json_answer(int status, const nlohmann::ordered_json& json) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return answer;
}

HttpAnswer answer_of(const Refusal& refusal) {
  nlohmann::ordered_json json = {{"error", refusal.text}, {"code", refusal.code}};
  if (!refusal.place.input.empty()) json["input"] = refusal.place.input;
  if (!refusal.place.node.empty()) json["node"] = refusal.place.node;
  if (!refusal.place.op.empty()) json["op"] = refusal.place.op;
  HttpAnswer answer = json_answer(refusal.status, json);
  if (refusal.status == 503) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

}  // namespace axrun::serve
