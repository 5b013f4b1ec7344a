#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/loop/loop_program.h"
#include "jit/target.h"
#include "verify/evidence.h"

namespace axrun::runtime {

/// What the worker program is asked: to prove, compile, test and time a loop program, or to prove an
/// identity.
struct WorkerRequest {
  std::string program;     ///< text of the loop program
  std::string expression;  ///< text of the tensor expression it is to compute: tested against this
  /// Text of the simplified expression that it is proved against; operands and outputs have the positions,
  /// types and memory of `expression`.
  std::string lowered;
  /// Sizes at which it is tested; the first ones are those at which it is timed. Never empty.
  std::vector<std::map<std::string, int64_t>> sizes = {{}};
  size_t thorough = 1;         ///< the first so many sizes: verify::GateOptions::thorough
  std::vector<bool> constant;  ///< one per operand of `expression`
  /// There is no kernel: are `expression` and `lowered` equal, and each as safe as the other, for all of
  /// these sizes?
  std::optional<std::vector<ir::loop::Size>> identity;
  jit::Target target;
  uint64_t seed = 1;
  unsigned solver_milliseconds = 2000;  ///< per question
  double proof_seconds = 30;
  double processor_seconds = 120;  ///< of the whole answer: the system kills the worker beyond
  double processor_share = 1;      ///< of one processor that the worker may use meanwhile
};

/// What it answers. Without `refusal` both pieces of evidence are accepted ones.
struct WorkerReply {
  std::string refusal;  ///< why the kernel cannot live; empty: it can
  verify::Evidence proof;
  verify::Evidence gate;
  /// Of an identity, which is refused as a kernel: `proof` is of both being equal, these of the range safety
  /// of `lowered` in place of `expression`, and the other way round.
  verify::Evidence safety, safety_back;
  double compile_seconds = 0;
  uint64_t code_bytes = 0;
  uint64_t code_hash = 0;        ///< hash_of_code
  double processor_seconds = 0;  ///< that the whole answer took the worker
};

/// What the worker does; it says so before each stage, so that its end can be explained.
enum class WorkerStage : uint8_t { reading, proving, compiling, testing };
std::string_view name_of(WorkerStage stage);

/// Longest messages that either side takes.
inline constexpr size_t longest_request = size_t{64} << 20;
inline constexpr size_t longest_reply = size_t{1} << 20;

/// The first message of a worker names the protocol and the version of axrun it was built with.
std::string hello_text();
/// Empty when the text is the hello of a worker that fits; otherwise what is wrong.
std::string mistake_in_hello(std::string_view text);

std::string to_text(const WorkerRequest& request);
/// Throws Error(user) for what is no request.
WorkerRequest request_from(std::string_view text);

std::string to_text(const WorkerReply& reply);
std::string to_text(WorkerStage stage);
/// A message of the worker: what it is about to do, or the answer.
struct WorkerMessage {
  std::optional<WorkerStage> stage;
  std::optional<WorkerReply> reply;
};
/// Takes nothing on trust: whatever is not exactly a message of the worker is Error(user). Texts are cut to a
/// few thousand characters.
WorkerMessage message_from(std::string_view text);

uint64_t hash_of_code(const void* code, size_t bytes);

}  // namespace axrun::runtime
