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

/// What the worker does; it says so before each stage, so that its end can be explained. From
/// choosing_layouts on they are what else of search/ it is asked for.
enum class WorkerStage : uint8_t {
  reading,
  lowering,
  proving,
  compiling,
  testing,
  choosing_layouts,
  looking_for_rules,
  merging_rules,
  rewriting_windows,
  writing_graph,
  looking_for_convolutions,
  writing_bilinear_graph,
  proving_bilinear_algorithm
};
std::string_view name_of(WorkerStage stage);

/// What the worker program is asked: to lower an expression, and to prove, compile, test and time the loop
/// program; or to prove an identity; or for something else of search/.
struct WorkerRequest {
  std::string program;     ///< text of the loop program; empty: the one that lowering gives
  std::string expression;  ///< text of the tensor expression it is to compute: tested against this
  /// Text of the simplified expression that it is proved against; operands and outputs have the positions,
  /// types and memory of `expression`. Empty: the one that lowering gives.
  std::string lowered;
  // Where something is to be lowered:
  std::vector<ir::loop::Size> ranges;  ///< one for every symbol of `expression`
  size_t rank = 0;                     ///< of the schedule
  bool lower_only = false;             ///< nothing is proved then
  bool keeps_schedules = false;        ///< the host answers and takes ScheduleMessages
  /// Sizes at which it is tested; the first ones are those at which it is timed. Never empty.
  std::vector<std::map<std::string, int64_t>> sizes = {{}};
  size_t thorough = 1;         ///< the first so many sizes: verify::GateOptions::thorough
  std::vector<bool> constant;  ///< one per operand of `expression`
  /// There is no kernel: are `expression` and `lowered` equal, and each as safe as the other, for all of
  /// these sizes?
  std::optional<std::vector<ir::loop::Size>> identity;
  /// This of search/ is wanted: of the other members only the target and limits count. `question` says of
  /// what (search_questions.h); it is sent in a frame of its own, behind the request.
  std::optional<WorkerStage> search = {};
  std::string question = {};
  jit::Target target;
  uint64_t seed = 1;
  unsigned solver_milliseconds = 2000;  ///< per question
  double proof_seconds = 30;
  /// Of the whole answer, or of what is searched between two signs of life: the system kills the worker
  /// beyond.
  double processor_seconds = 120;
  double processor_share = 1;  ///< of one processor that the worker may use meanwhile
};

/// WorkerRequest::solver_milliseconds of identities.
inline constexpr unsigned milliseconds_of_identity = 500;

/// What lowering gives; the worker sends it before it goes on, so that its host has it whatever follows.
struct WorkerLowering {
  std::string program;      ///< as in the request; empty: there is none
  std::string expression;   ///< WorkerRequest::lowered; empty: there is none
  std::vector<int> inputs;  ///< per input buffer of the program: the operand of the expression that it is
  std::string kind;         ///< search::Lowered
  std::string reason;       ///< where there is no program
  int alternatives = 0;
  std::string schedule;    ///< what was decided
  double expected_us = 0;  ///< 0: no model says
};

/// What the worker asks of the schedules that its host keeps between processes. A load is answered by a frame
/// of "1" and the bytes, or of "0"; a save is followed by a frame of the bytes.
struct ScheduleMessage {
  enum class Kind : uint8_t { load, save, reject };
  Kind kind = Kind::load;
  std::string key;
};

/// What the worker says while it searches: it asks whether to go on, which is answered by a frame of "1" or
/// of "0"; or it tells what it has found so far, or all of it, as the frame that follows.
enum class SearchMessage : uint8_t { may_go_on, note, found };

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
  /// What a search has found: refused as a kernel. It has been sent before the reply.
  std::optional<std::string> found = {};
};

/// Longest messages that either side takes: programs are texts of megabytes where much is written out.
inline constexpr size_t longest_request = size_t{64} << 20;
inline constexpr size_t longest_reply = size_t{64} << 20;

/// The first message of a worker names the protocol and the version of axrun it was built with.
std::string hello_text();
/// Empty when the text is the hello of a worker that fits; otherwise what is wrong.
std::string mistake_in_hello(std::string_view text);

std::string to_text(const WorkerRequest& request);
/// Throws Error(user) for what is no request.
WorkerRequest request_from(std::string_view text);

std::string to_text(const WorkerReply& reply);
std::string to_text(WorkerStage stage);
std::string to_text(const WorkerLowering& lowering);
std::string to_text(const ScheduleMessage& message);
std::string to_text(SearchMessage message);
/// A message of the worker: what it is about to do, what it has lowered or found, what it wants to know, or
/// the answer.
struct WorkerMessage {
  std::optional<WorkerStage> stage;
  std::optional<WorkerLowering> lowering;
  std::optional<ScheduleMessage> schedules;
  std::optional<SearchMessage> search;
  std::optional<WorkerReply> reply;
};
/// Takes nothing on trust: whatever is not exactly a message of the worker is Error(user). Texts for people
/// are cut to a few thousand characters.
WorkerMessage message_from(std::string_view text);

uint64_t hash_of_code(const void* code, size_t bytes);

}  // namespace axrun::runtime
