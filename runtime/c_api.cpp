#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/axrun_c.h"
#include "runtime/run_control.h"
#include "runtime/session.h"
#include "runtime/version.h"

using axrun::Error;
using axrun::Fault;
using axrun::ir::ElementType;
using axrun::ir::Shape;
using axrun::ir::Tensor;
using axrun::runtime::Port;
using axrun::runtime::RuntimeValue;
using axrun::runtime::Session;
using axrun::runtime::SessionOptions;
using axrun::runtime::Tier;

static_assert(static_cast<int>(ElementType::f16) == AXRUN_F16 &&
              static_cast<int>(ElementType::f32) == AXRUN_F32 &&
              static_cast<int>(ElementType::f8e5m2fnuz) == AXRUN_F8E5M2FNUZ &&
              static_cast<int>(ElementType::i64) == AXRUN_I64 &&
              static_cast<int>(ElementType::u64) == AXRUN_U64 &&
              static_cast<int>(ElementType::string) == AXRUN_STRING);
static_assert(static_cast<int>(Tier::automatic) == AXRUN_TIER_AUTO);
static_assert(static_cast<int>(axrun::ir::ValueKind::map) == AXRUN_KIND_MAP);

struct axrun_options {
  SessionOptions options;
};

namespace {

/// A port with its dims as arrays that live as long as the session.
struct PortInfo {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<std::string> dim_names;
  std::vector<const char*> dim_name_pointers;
  axrun_port port;

  explicit PortInfo(const Port& from) : name(from.name) {
    for (size_t d = 0; from.dims && d < from.dims->size(); ++d) {
      const axrun::ir::Dim& dim = (*from.dims)[d];
      dims.push_back(dim.constant().value_or(-1));
      dim_names.push_back(dim.is_constant() ? "" : dim.to_string());
    }
    for (const std::string& text : dim_names) dim_name_pointers.push_back(text.c_str());
    port = {name.c_str(),
            static_cast<int>(from.kind),
            static_cast<int>(from.type),
            from.dims ? static_cast<int>(dims.size()) : -1,
            dims.data(),
            dim_name_pointers.data()};
  }
  PortInfo(const PortInfo&) = delete;
  PortInfo& operator=(const PortInfo&) = delete;
};

std::vector<std::unique_ptr<PortInfo>> infos_of(const std::vector<Port>& ports) {
  std::vector<std::unique_ptr<PortInfo>> infos;
  for (const Port& port : ports) infos.push_back(std::make_unique<PortInfo>(port));
  return infos;
}

}  // namespace

struct axrun_session {
  std::unique_ptr<Session> session;
  std::vector<std::unique_ptr<PortInfo>> inputs, outputs;
};

struct axrun_request {
  Session& session;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;                    ///< bound ones, and results of the last run
  std::vector<bool> bound;                        ///< outputs written in place
  std::vector<RuntimeValue> values;               ///< results, where some are no tensors
  std::vector<std::vector<const char*>> strings;  ///< of string outputs
  bool answered = false;
  axrun::runtime::RunControl control;
  double timeout_seconds = 0;
};

namespace {

thread_local std::string last_error;

axrun_status fail(axrun_status status, const char* text) noexcept {
  try {
    last_error = text;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return status;
}

axrun_status status_of(Fault fault) {
  switch (fault) {
    case Fault::user:
      return AXRUN_USER_ERROR;
    case Fault::model:
      return AXRUN_MODEL_ERROR;
    case Fault::unsupported:
      return AXRUN_UNSUPPORTED;
    case Fault::internal:
      break;
  }
  return AXRUN_INTERNAL_ERROR;
}

/// No exception leaves the library.
template <class Body>
axrun_status guarded(Body body) noexcept {
  try {
    body();
    return AXRUN_OK;
  } catch (const axrun::runtime::RunEnded& ended) {
    const bool cancelled = ended.why() == axrun::runtime::RunEnded::Why::cancelled;
    return fail(cancelled ? AXRUN_CANCELLED : AXRUN_DEADLINE, ended.what());
  } catch (const Error& error) {
    return fail(status_of(error.fault()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(AXRUN_INTERNAL_ERROR, "out of memory");
  } catch (const std::exception& error) {
    return fail(AXRUN_INTERNAL_ERROR, error.what());
  } catch (...) {
    return fail(AXRUN_INTERNAL_ERROR, "unknown failure");
  }
}

void require(bool condition, const char* text) {
  if (!condition) throw Error(Fault::user, text);
}

void require_index(size_t index, size_t count, const char* what) {
  if (index >= count) {
    throw Error(Fault::user, fmt::format("there is no {} {}: the model has {}", what, index, count));
  }
}

/// A view of the caller's memory; strings are copied.
Tensor tensor_of(const axrun_tensor& given) {
  require(given.type > AXRUN_UNDEFINED && given.type <= AXRUN_STRING,
          "the tensor has an unknown element type");
  require(given.rank == 0 || given.dims != nullptr, "the tensor has no dims");
  const auto type = static_cast<ElementType>(given.type);
  const Shape shape(given.dims, given.dims + given.rank);
  const auto count = static_cast<size_t>(axrun::ir::element_count(shape));
  const size_t size = type == ElementType::string ? sizeof(const char*) : axrun::ir::size_of(type);
  if (given.bytes / size < count) {
    throw Error(Fault::user,
                fmt::format("a tensor {} {} takes {} elements of {} bytes, its data has {} bytes",
                            axrun::ir::name_of(type), axrun::ir::to_string(shape), count, size, given.bytes));
  }
  require(given.data != nullptr || count == 0, "the tensor has no data");
  if (type != ElementType::string) return Tensor::borrow(type, shape, given.data);
  const auto* pointers = static_cast<const char* const*>(given.data);
  std::vector<std::string> strings;
  for (size_t k = 0; k < count; ++k) {
    require(pointers[k] != nullptr, "a string is NULL");
    strings.emplace_back(pointers[k]);
  }
  return Tensor::from_strings(shape, std::move(strings));
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

/// Runs into the bound buffers; the rest is allocated.
void run_request(axrun_request& request) {
  request.answered = false;
  for (size_t k = 0; k < request.inputs.size(); ++k) {
    if (request.inputs[k].defined()) continue;
    throw Error(Fault::user, fmt::format("input '{}' is not bound", request.session.inputs()[k].name));
  }
  bool all_bound = true;
  for (const bool bound : request.bound) all_bound &= bound;
  if (all_bound) {
    request.session.run_into(request.inputs, request.outputs, &request.control);
    request.answered = true;
    return;
  }
  std::vector<RuntimeValue> inputs(request.inputs.begin(), request.inputs.end());
  request.values = request.session.run(inputs, &request.control);
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
  for (size_t k = 0; k < request.outputs.size(); ++k) {
    request.strings[k].clear();
    const Tensor& output = request.outputs[k];
    if (output.type() != ElementType::string) continue;
    for (int64_t e = 0; e < output.size(); ++e) request.strings[k].push_back(output.strings()[e].c_str());
  }
  request.answered = true;
}

}  // namespace

// axrun_c.h is the manual of what follows.

const char* axrun_version(void) { return axrun::runtime::version().data(); }
const char* axrun_last_error(void) { return last_error.c_str(); }

axrun_status axrun_options_create(axrun_options** options) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    *options = new axrun_options();
  });
}

void axrun_options_free(axrun_options* options) { delete options; }

axrun_status axrun_options_set_threads(axrun_options* options, int threads) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(threads >= 0, "threads is negative");
    options->options.threads = threads;
  });
}

axrun_status axrun_options_set_tier(axrun_options* options, int tier) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(tier >= AXRUN_TIER_REFERENCE && tier <= AXRUN_TIER_AUTO, "there is no such tier");
    options->options.tier = static_cast<Tier>(tier);
  });
}

axrun_status axrun_options_set_shape(axrun_options* options, const char* input, const int64_t* dims,
                                     size_t rank) {
  return guarded([&] {
    require(options != nullptr && input != nullptr, "options or input is NULL");
    require(rank == 0 || dims != nullptr, "dims is NULL");
    options->options.shapes[input] = Shape(dims, dims + rank);
  });
}

axrun_status axrun_options_set_dim(axrun_options* options, const char* name, int64_t size) {
  return guarded([&] {
    require(options != nullptr && name != nullptr, "options or name is NULL");
    options->options.dims[name] = size;
  });
}

axrun_status axrun_options_set_plan_cache(axrun_options* options, size_t plans) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    options->options.plan_cache = plans;
  });
}

axrun_status axrun_options_set_optimize(axrun_options* options, int optimize) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    options->options.optimize = optimize != 0;
  });
}

axrun_status axrun_options_set_optimizer_threads(axrun_options* options, int threads) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    require(threads >= 0, "threads is negative");
    options->options.optimizer_threads = threads;
  });
}

axrun_status axrun_options_set_deterministic(axrun_options* options, int deterministic) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    options->options.deterministic = deterministic != 0;
  });
}

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
    const size_t outputs = session->outputs.size();
    *request = new axrun_request{*session->session,
                                 std::vector<Tensor>(session->inputs.size()),
                                 std::vector<Tensor>(outputs),
                                 std::vector<bool>(outputs, false),
                                 {},
                                 std::vector<std::vector<const char*>>(outputs),
                                 false,
                                 {},
                                 0};
  });
}

void axrun_request_free(axrun_request* request) { delete request; }

axrun_status axrun_bind_input(axrun_request* request, size_t index, const axrun_tensor* tensor) {
  return guarded([&] {
    require(request != nullptr && tensor != nullptr, "request or tensor is NULL");
    require_index(index, request->inputs.size(), "input");
    request->inputs[index] = tensor_of(*tensor);
  });
}

axrun_status axrun_bind_output(axrun_request* request, size_t index, const axrun_tensor* tensor) {
  return guarded([&] {
    require(request != nullptr, "request is NULL");
    require_index(index, request->outputs.size(), "output");
    require(tensor == nullptr || tensor->type != AXRUN_STRING, "strings cannot be bound");
    request->answered = false;
    request->outputs[index] = tensor == nullptr ? Tensor() : tensor_of(*tensor);
    request->bound[index] = tensor != nullptr;
  });
}

axrun_status axrun_run(axrun_request* request) {
  return guarded([&] {
    require(request != nullptr, "request is NULL");
    // A cancellation counts once, whether it comes before the run or in it.
    struct Reset {
      axrun::runtime::RunControl& control;
      ~Reset() { control.reset(); }
    } const reset{request->control};
    using Clock = axrun::runtime::RunControl::Clock;
    request->control.clear_deadline();
    if (request->timeout_seconds > 0) {
      request->control.set_deadline(Clock::now() +
                                    std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(request->timeout_seconds)));
    }
    run_request(*request);
  });
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
      throw Error(Fault::unsupported,
                  fmt::format("output '{}' is no tensor", request->session.outputs()[index].name));
    }
    const bool strings = output.type() == ElementType::string;
    const std::vector<const char*>& pointers = request->strings[index];
    tensor->type = static_cast<int>(output.type());
    tensor->rank = output.shape().size();
    tensor->dims = output.shape().data();
    tensor->data = const_cast<void*>(strings ? static_cast<const void*>(pointers.data()) : output.data());
    tensor->bytes = strings ? pointers.size() * sizeof(const char*) : output.bytes();
  });
}
