#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "ir/error_place.h"
#include "runtime/axrun_c.h"
#include "runtime/run_control.h"
#include "runtime/run_state.h"
#include "runtime/session.h"

// What the handles of the C interface are, and what all its functions share.

namespace axrun::c_api {

/// A port with its dims as arrays that live as long as the session.
struct PortInfo {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<std::string> dim_names;
  std::vector<const char*> dim_name_pointers;
  axrun_port port;

  explicit PortInfo(const runtime::Port& from);
  PortInfo(const PortInfo&) = delete;
  PortInfo& operator=(const PortInfo&) = delete;
};

/// Strings as C sees them: they live as long as the tensor, and as this.
struct StringArrays {
  std::vector<const char*> pointers;
  std::vector<size_t> sizes;

  StringArrays() = default;
  explicit StringArrays(const ir::Tensor& strings);
};

/// Sets axrun_last_error of this thread, and what it is about.
axrun_status fail(axrun_status status, const char* text) noexcept;
axrun_status fail(axrun_status status, const Error& error) noexcept;
axrun_status status_of(Fault fault);

/// No exception leaves the library.
template <class Body>
axrun_status guarded(Body body) noexcept {
  try {
    body();
    return AXRUN_OK;
  } catch (const runtime::RunEnded& ended) {
    const bool cancelled = ended.why() == runtime::RunEnded::Why::cancelled;
    return fail(cancelled ? AXRUN_CANCELLED : AXRUN_DEADLINE, ended);
  } catch (const Error& error) {
    return fail(status_of(error.fault()), error);
  } catch (const std::bad_alloc&) {
    return fail(AXRUN_INTERNAL_ERROR, "out of memory");
  } catch (const std::exception& error) {
    return fail(AXRUN_INTERNAL_ERROR, error.what());
  } catch (...) {
    return fail(AXRUN_INTERNAL_ERROR, "unknown failure");
  }
}

/// Throw Error(user).
void require(bool condition, const char* text);
void require_index(size_t index, size_t count, const char* what);

/// A view of the caller's memory; strings are copied. Throws Error(user) for what cannot be a tensor.
ir::Tensor tensor_of(const axrun_tensor& given);
/// The tensor as C sees it, with the pointers of its strings in `strings`.
axrun_tensor view_of(const ir::Tensor& tensor, const StringArrays& strings);

/// A run of a request: without a deadline, asking what axrun_set_poll has set for the calling thread. A
/// cancellation counts once, whether it comes before the run or in it.
class RunInProgress {
 public:
  explicit RunInProgress(axrun_request& request);
  ~RunInProgress();
  RunInProgress(const RunInProgress&) = delete;
  RunInProgress& operator=(const RunInProgress&) = delete;

 private:
  runtime::RunControl& control_;
};

}  // namespace axrun::c_api

struct axrun_options {
  axrun::runtime::SessionOptions options;
};

struct axrun_session {
  std::unique_ptr<axrun::runtime::Session> session;
  std::vector<std::unique_ptr<axrun::c_api::PortInfo>> inputs, outputs;
};

struct axrun_state {
  std::shared_ptr<axrun::runtime::RunState> state;
  axrun::ir::Tensor last;  ///< that was asked for
};

struct axrun_request {
  axrun::runtime::Session& session;
  std::shared_ptr<axrun::runtime::RunState> state;  ///< null: runs have none
  std::vector<axrun::ir::Tensor> inputs;
  std::vector<axrun::runtime::RuntimeValue>
      containers;                                    ///< inputs bound in parts: of another kind than tensor
  std::vector<axrun::ir::Tensor> outputs;            ///< bound ones, and results of the last run
  std::vector<bool> bound;                           ///< outputs written in place
  std::vector<axrun::runtime::RuntimeValue> values;  ///< results of the last run, if some were not bound
  std::vector<axrun::c_api::StringArrays> strings;   ///< of outputs
  std::deque<axrun::c_api::StringArrays> part_strings;  ///< of parts that were asked for since the last run
  bool answered = false;
  axrun::runtime::RunControl control;
  double timeout_seconds = 0;

  explicit axrun_request(const axrun_session& of);
  /// What a run gets; throws Error(user) naming an input that is not bound.
  std::vector<axrun::runtime::RuntimeValue> input_values() const;
};
