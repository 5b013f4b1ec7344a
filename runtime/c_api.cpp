#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/c_api_handles.h"
#include "runtime/version.h"

using namespace axrun::c_api;
using axrun::Error;
using axrun::Fault;
using axrun::ir::ElementType;
using axrun::ir::Tensor;
using axrun::runtime::Port;
using axrun::runtime::RuntimeValue;
using axrun::runtime::Session;
using axrun::runtime::SessionOptions;

static_assert(static_cast<int>(ElementType::f16) == AXRUN_F16 &&
              static_cast<int>(ElementType::f32) == AXRUN_F32 &&
              static_cast<int>(ElementType::f8e5m2fnuz) == AXRUN_F8E5M2FNUZ &&
              static_cast<int>(ElementType::i64) == AXRUN_I64 &&
              static_cast<int>(ElementType::u64) == AXRUN_U64 &&
              static_cast<int>(ElementType::string) == AXRUN_STRING &&
              static_cast<int>(ElementType::f8e8m0) == AXRUN_F8E8M0 &&
              static_cast<int>(ElementType::u2) == AXRUN_U2);
static_assert(static_cast<int>(axrun::ir::ValueKind::map) == AXRUN_KIND_MAP);

namespace {

std::vector<std::unique_ptr<PortInfo>> infos_of(const std::vector<Port>& ports) {
  std::vector<std::unique_ptr<PortInfo>> infos;
  for (const Port& port : ports) infos.push_back(std::make_unique<PortInfo>(port));
  return infos;
}

SessionOptions options_of(const axrun_options* options) {
  return options == nullptr ? SessionOptions{} : options->options;
}

axrun_session* wrap(std::unique_ptr<Session> session) {
  auto made = std::make_unique<axrun_session>();
  made->inputs = infos_of(session->inputs());
  made->outputs = infos_of(session->outputs());
  made->session = std::move(session);
  return made.release();
}

bool bindable(const Tensor& tensor) { return tensor.defined() && tensor.type() != ElementType::string; }

/// The last run's results are no longer valid.
void forget_results(axrun_request& request) {
  request.answered = false;
  request.part_strings.clear();
}

void note_strings(axrun_request& request) {
  for (size_t k = 0; k < request.outputs.size(); ++k) {
    const Tensor& output = request.outputs[k];
    request.strings[k] = output.type() == ElementType::string ? StringArrays(output) : StringArrays();
  }
}

/// With a state, which a run that is refused leaves as it was: buffers are looked at in the run.
void run_with_state(axrun_request& request) {
  for (size_t k = 0; k < request.outputs.size(); ++k)
    if (!request.bound[k]) request.outputs[k] = Tensor();
  if (std::find(request.bound.begin(), request.bound.end(), true) != request.bound.end()) {
    request.session.run_into(request.inputs, request.outputs, *request.state, &request.control);
  } else {
    request.values = request.session.run(request.input_values(), *request.state, &request.control);
    for (size_t k = 0; k < request.values.size(); ++k) {
      if (request.values[k].items) request.values[k] = narrowed(request.values[k]);
      request.outputs[k] = request.values[k].tensor;
    }
  }
  note_strings(request);
  request.answered = true;
}

/// Runs into the bound buffers; the rest is allocated.
void run_request(axrun_request& request) {
  forget_results(request);
  request.values.clear();
  if (request.state) return run_with_state(request);
  bool only_bound_tensors = true;
  for (const bool bound : request.bound) only_bound_tensors &= bound;
  for (size_t k = 0; k < request.inputs.size(); ++k) only_bound_tensors &= request.inputs[k].defined();
  if (only_bound_tensors) {
    request.session.run_into(request.inputs, request.outputs, &request.control);
    request.answered = true;
    return;
  }
  request.values = request.session.run(request.input_values(), &request.control);
  for (RuntimeValue& value : request.values) {
    if (value.items) value = narrowed(value);
  }
  for (size_t k = 0; k < request.values.size(); ++k) {
    const Tensor& result = request.values[k].tensor;
    Tensor& output = request.outputs[k];
    if (!request.bound[k]) {
      output = result;
      continue;
    }
    if (!bindable(result) || result.type() != output.type() || result.shape() != output.shape()) {
      throw Error(
          Fault::user,
          fmt::format("output '{}' is {} {}, the buffer bound is {} {}", request.session.outputs()[k].name,
                      axrun::ir::name_of(result.type()), axrun::ir::to_string(result.shape()),
                      axrun::ir::name_of(output.type()), axrun::ir::to_string(output.shape())));
    }
    if (result.bytes() > 0) std::memcpy(output.data(), result.data(), result.bytes());
  }
  note_strings(request);
  request.answered = true;
}

/// The part of a value that the path leads to: in every container on its way, the index of an element.
const RuntimeValue& part_of(const RuntimeValue& value, const size_t* path, size_t depth) {
  const RuntimeValue* part = &value;
  for (size_t k = 0; k < depth; ++k) {
    const size_t count = part->items == nullptr ? 0 : part->items->size();
    if (path[k] >= count)
      throw Error(Fault::user, fmt::format("the value has {} parts, there is no {}", count, path[k]));
    part = &(*part->items)[path[k]];
  }
  return *part;
}

/// The host's question to runs of this thread.
thread_local constinit axrun::runtime::RunPoll poll_of_thread;

}  // namespace

namespace axrun::c_api {

RunInProgress::RunInProgress(axrun_request& request) : control_(request.control) {
  control_.clear_deadline();
  control_.set_poll(poll_of_thread.is_set() ? &poll_of_thread : nullptr);
  poll_of_thread.begin();
}

RunInProgress::~RunInProgress() { control_.reset(); }

}  // namespace axrun::c_api

// axrun_c.h is the manual of what follows.

const char* axrun_version(void) { return axrun::runtime::version().data(); }

axrun_status axrun_optimizer_status(const axrun_session* session, axrun_optimizer_info* info) {
  return guarded([&] {
    require(session != nullptr && info != nullptr, "session or info is NULL");
    thread_local axrun::runtime::OptimizerStatus status;  // owns the text
    status = session->session->optimizer_status();
    *info = {axrun::runtime::name_of(status.state),
             status.reason.c_str(),
             status.tried,
             status.left,
             status.steps,
             status.swapped};
  });
}

axrun_status axrun_cache_status(const axrun_session* session, axrun_cache_info* info) {
  return guarded([&] {
    require(session != nullptr && info != nullptr, "session or info is NULL");
    thread_local axrun::runtime::CacheUse use;  // owns the text
    use = session->session->optimizer_status().cache;
    *info = {use.folder.c_str(), use.trouble.c_str(), use.found ? 1 : 0, use.writable ? 1 : 0};
  });
}

axrun_status axrun_optimizer_freeze(axrun_session* session) {
  return guarded([&] {
    require(session != nullptr, "session is NULL");
    session->session->freeze();
  });
}

axrun_status axrun_optimizer_wait(axrun_session* session, double seconds, int* done) {
  return guarded([&] {
    require(session != nullptr && done != nullptr, "session or done is NULL");
    *done = session->session->wait_for_optimizer(seconds) ? 1 : 0;
  });
}

axrun_status axrun_session_load(const char* path, const axrun_options* options, axrun_session** session) {
  return guarded([&] {
    require(path != nullptr && session != nullptr, "path or session is NULL");
    *session = wrap(Session::load(path, options_of(options)));
  });
}

axrun_status axrun_session_load_memory(const void* data, size_t size, const char* directory,
                                       const axrun_options* options, axrun_session** session) {
  return guarded([&] {
    require((data != nullptr || size == 0) && session != nullptr, "data or session is NULL");
    *session =
        wrap(Session::load_memory(data, size, options_of(options), directory == nullptr ? "" : directory));
  });
}

void axrun_session_free(axrun_session* session) { delete session; }

size_t axrun_input_count(const axrun_session* session) {
  return session == nullptr ? 0 : session->inputs.size();
}
size_t axrun_output_count(const axrun_session* session) {
  return session == nullptr ? 0 : session->outputs.size();
}

axrun_status axrun_input_info(const axrun_session* session, size_t index, axrun_port* port) {
  return guarded([&] {
    require(session != nullptr && port != nullptr, "session or port is NULL");
    require_index(index, session->inputs.size(), "input");
    *port = session->inputs[index]->port;
  });
}

axrun_status axrun_output_info(const axrun_session* session, size_t index, axrun_port* port) {
  return guarded([&] {
    require(session != nullptr && port != nullptr, "session or port is NULL");
    require_index(index, session->outputs.size(), "output");
    *port = session->outputs[index]->port;
  });
}

axrun_status axrun_request_create(axrun_session* session, axrun_request** request) {
  return guarded([&] {
    require(session != nullptr && request != nullptr, "session or request is NULL");
    *request = new axrun_request(*session);
  });
}

void axrun_request_free(axrun_request* request) { delete request; }

axrun_status axrun_bind_input(axrun_request* request, size_t index, const axrun_tensor* tensor) {
  return guarded([&] {
    require(request != nullptr && tensor != nullptr, "request or tensor is NULL");
    require_index(index, request->inputs.size(), "input");
    request->inputs[index] = tensor_of(*tensor);
    request->containers[index] = {};
  });
}

axrun_status axrun_bind_input_parts(axrun_request* request, size_t index, int kind, const axrun_tensor* parts,
                                    size_t count) {
  return guarded([&] {
    require(request != nullptr && (parts != nullptr || count == 0), "request or parts is NULL");
    require_index(index, request->inputs.size(), "input");
    require(kind == AXRUN_KIND_SEQUENCE || kind == AXRUN_KIND_OPTIONAL,
            "only sequences and optionals have parts");
    require(kind == AXRUN_KIND_SEQUENCE || count <= 1, "an optional has one part at most");
    std::vector<RuntimeValue> values;
    for (size_t k = 0; k < count; ++k) values.emplace_back(tensor_of(parts[k]));
    request->containers[index] = kind == AXRUN_KIND_SEQUENCE ? RuntimeValue::sequence(std::move(values))
                                                             : RuntimeValue::optional(std::move(values));
    request->inputs[index] = {};
  });
}

axrun_status axrun_bind_input_strings(axrun_request* request, size_t index, const int64_t* dims, size_t rank,
                                      const char* const* strings, const size_t* sizes) {
  return guarded([&] {
    require(request != nullptr && (dims != nullptr || rank == 0), "request or dims is NULL");
    require_index(index, request->inputs.size(), "input");
    const axrun::ir::Shape shape(dims, dims + rank);
    const auto count = static_cast<size_t>(axrun::ir::element_count(shape));
    require(count == 0 || (strings != nullptr && sizes != nullptr), "strings or sizes is NULL");
    std::vector<std::string> values;
    for (size_t k = 0; k < count; ++k) {
      require(strings[k] != nullptr, "a string is NULL");
      values.emplace_back(strings[k], sizes[k]);
    }
    request->inputs[index] = Tensor::from_strings(shape, std::move(values));
    request->containers[index] = {};
  });
}

axrun_status axrun_bind_output(axrun_request* request, size_t index, const axrun_tensor* tensor) {
  return guarded([&] {
    require(request != nullptr, "request is NULL");
    require_index(index, request->outputs.size(), "output");
    require(tensor == nullptr || tensor->type != AXRUN_STRING, "strings cannot be bound");
    forget_results(*request);
    request->outputs[index] = tensor == nullptr ? Tensor() : tensor_of(*tensor);
    request->bound[index] = tensor != nullptr;
  });
}

axrun_status axrun_run(axrun_request* request) {
  return guarded([&] {
    require(request != nullptr, "request is NULL");
    const RunInProgress run(*request);
    using Clock = axrun::runtime::RunControl::Clock;
    if (request->timeout_seconds > 0) {
      request->control.set_deadline(Clock::now() +
                                    std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(request->timeout_seconds)));
    }
    run_request(*request);
  });
}

axrun_status axrun_set_poll(axrun_poll_function poll, void* context) {
  return guarded([&] { poll_of_thread.set(poll, context); });
}

void axrun_cancel(axrun_request* request) {
  if (request != nullptr) request->control.cancel();
}

axrun_status axrun_set_timeout(axrun_request* request, double seconds) {
  return guarded([&] {
    require(request != nullptr, "request is NULL");
    constexpr double year = 366 * 86400.0;  // what the clock can count
    require(seconds <= year, "the timeout is longer than a year");
    request->timeout_seconds = seconds;
  });
}

axrun_status axrun_get_output(const axrun_request* request, size_t index, axrun_tensor* tensor) {
  return guarded([&] {
    require(request != nullptr && tensor != nullptr, "request or tensor is NULL");
    require_index(index, request->outputs.size(), "output");
    require(request->answered, "there is no answer yet: axrun_run comes first");
    const Tensor& output = request->outputs[index];
    if (!output.defined()) {
      const std::string& name = request->session.outputs()[index].name;
      if (request->state && request->state->has_output(index))
        throw Error(Fault::user, fmt::format("output '{}' is the state's: axrun_state_get", name));
      throw Error(Fault::unsupported, fmt::format("output '{}' is no tensor", name));
    }
    *tensor = view_of(output, request->strings[index]);
  });
}

axrun_status axrun_get_output_value(axrun_request* request, size_t index, const size_t* path, size_t depth,
                                    axrun_value* value) {
  return guarded([&] {
    require(request != nullptr && value != nullptr && (path != nullptr || depth == 0),
            "request, value or path is NULL");
    require_index(index, request->outputs.size(), "output");
    require(request->answered, "there is no answer yet: axrun_run comes first");
    const Tensor* tensor = &request->outputs[index];
    if (!tensor->defined() || depth > 0) {
      // All outputs bound: they are tensors, which have no parts.
      const RuntimeValue none(*tensor);
      const RuntimeValue& part =
          part_of(request->values.empty() ? none : request->values[index], path, depth);
      if (part.kind != axrun::ir::ValueKind::tensor) {
        *value = {static_cast<int>(part.kind), part.items == nullptr ? 0 : part.items->size(), {}, nullptr};
        return;
      }
      tensor = &part.tensor;
    }
    request->part_strings.emplace_back(tensor->type() == ElementType::string ? StringArrays(*tensor)
                                                                             : StringArrays());
    const StringArrays& strings = request->part_strings.back();
    *value = {AXRUN_KIND_TENSOR, 0, view_of(*tensor, strings), strings.sizes.data()};
  });
}
