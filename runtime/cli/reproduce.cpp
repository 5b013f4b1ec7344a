#include "runtime/cli/reproduce.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "jit/target.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/options.h"
#include "runtime/optimizer/reproducer.h"
#include "runtime/optimizer/stop_signal.h"
#include "runtime/optimizer/worker_process.h"
#include "runtime/version.h"

namespace axrun::cli {
namespace {

/// Without a sign of life: the worker limits its own processor time.
constexpr double answer_seconds = 60;

std::string evidence_text(const verify::Evidence& evidence) {
  if (evidence.text.empty()) return "not asked";
  return fmt::format("{}: {} ({:.2f} s)", verify::name_of(evidence.verdict), evidence.text, evidence.seconds);
}

int exit_code_of(const runtime::WorkerAnswer& answer, bool is_search) {
  using runtime::WorkerFailure;
  if (answer.failure == WorkerFailure::timed_out) return exit_timeout;
  if (answer.failure != WorkerFailure::none) return exit_internal;
  const runtime::WorkerReply& reply = answer.reply;
  if (is_search) return answer.found ? exit_ok : exit_internal;
  if (reply.refusal.empty()) return exit_ok;
  if (reply.proof.verdict == verify::Verdict::refuted) return exit_refuted;
  if (reply.proof.verdict == verify::Verdict::unknown) return exit_unknown;
  return reply.gate.text.empty() ? exit_internal : exit_mismatch;
}

}  // namespace

int reproduce(const std::string& folder, bool json) {
  const runtime::WorkerRequest request = runtime::read_reproducer(folder);
  if (!request.search) jit::require_runnable(request.target, folder);
  const runtime::StopSignal stop;
  runtime::WorkerProcess worker({});
  runtime::WorkerAnswer answer = worker.ask(request, answer_seconds, stop);
  if (answer.found) answer.reply.refusal.clear();
  const bool answered = answer.failure == runtime::WorkerFailure::none;
  const std::string failure =
      answered ? ""
               : fmt::format("the helper process {}: {}", runtime::name_of(answer.failure), answer.reason);
  const int code = exit_code_of(answer, request.search.has_value());
  if (json) {
    std::fputs(line_of({{"schema_version", 1},
                        {"version", runtime::version()},
                        {"folder", folder},
                        {"failure", failure},
                        {"refusal", answer.reply.refusal},
                        {"proof", evidence_text(answer.reply.proof)},
                        {"gate", evidence_text(answer.reply.gate)},
                        {"exit_code", code}})
                   .c_str(),
               stdout);
    return code;
  }
  if (answered) {
    fmt::print("proof  {}\ntest   {}\n{}\n", evidence_text(answer.reply.proof),
               evidence_text(answer.reply.gate),
               answer.reply.refusal.empty() ? "nothing is wrong with it" : answer.reply.refusal);
  } else {
    fmt::print("{}\n", failure);
  }
  return code;
}

}  // namespace axrun::cli
