// States of runs. axrun_c.h is the manual.
#include "runtime/c_api_handles.h"

using namespace axrun::c_api;
using axrun::runtime::RunState;

namespace {

RunState& state_of(const axrun_state* state) {
  require(state != nullptr, "state is NULL");
  return *state->state;
}

}  // namespace

axrun_status axrun_state_create(axrun_session* session, const char* const* outputs, const char* const* inputs,
                                size_t count, int64_t capacity, axrun_state** state) {
  return guarded([&] {
    require(
        session != nullptr && state != nullptr && (count == 0 || (outputs != nullptr && inputs != nullptr)),
        "session, outputs, inputs or state is NULL");
    std::map<std::string, std::string> feeds;
    for (size_t k = 0; k < count; ++k) {
      require(outputs[k] != nullptr && inputs[k] != nullptr, "a name is NULL");
      if (!feeds.emplace(outputs[k], inputs[k]).second)
        throw axrun::Error(axrun::Fault::user,
                           std::string("output '") + outputs[k] + "' cannot be two inputs");
    }
    *state = new axrun_state{session->session->new_state(feeds, capacity), {}};
  });
}

void axrun_state_free(axrun_state* state) { delete state; }

axrun_status axrun_state_fork(const axrun_state* state, axrun_state** fork) {
  return guarded([&] {
    require(fork != nullptr, "fork is NULL");
    *fork = new axrun_state{state_of(state).fork(), {}};
  });
}

axrun_status axrun_state_reset(axrun_state* state) {
  return guarded([&] { state_of(state).reset(); });
}

axrun_status axrun_state_length(const axrun_state* state, int64_t* length) {
  return guarded([&] {
    require(length != nullptr, "length is NULL");
    *length = state_of(state).length();
  });
}

axrun_status axrun_state_set(axrun_state* state, const char* input, const axrun_tensor* value) {
  return guarded([&] {
    require(input != nullptr && value != nullptr, "input or value is NULL");
    state_of(state).set(input, tensor_of(*value));
  });
}

axrun_status axrun_state_get(axrun_state* state, const char* input, axrun_tensor* value) {
  return guarded([&] {
    require(input != nullptr && value != nullptr, "input or value is NULL");
    state->last = state_of(state).get(input);
    *value = state->last.defined() ? view_of(state->last, {})
                                   : axrun_tensor{AXRUN_UNDEFINED, 0, nullptr, nullptr, 0};
  });
}

axrun_status axrun_use_state(axrun_request* request, axrun_state* state) {
  return guarded([&] {
    require(request != nullptr, "request is NULL");
    request->state = state == nullptr ? nullptr : state->state;
  });
}
