// A worker program that misbehaves as the name of the loop program asks it to.

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "ir/error.h"
#include "ir/text.h"
#include "runtime/optimizer/worker_server.h"
#include "search/lowering.h"

namespace axrun::runtime {
namespace {

volatile int* volatile nowhere = reinterpret_cast<volatile int*>(8);
std::atomic<int> spins{0};

std::string name_in(const std::string& program) {
  const size_t start = program.find(' ') + 1;
  return program.substr(start, program.find('(') - start);
}

void send_raw(const std::string& bytes) {
  const ssize_t sent = send(0, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  static_cast<void>(sent);
}

std::string framed(const std::string& text) {
  std::string bytes = "AXW1";
  for (int k = 0; k < 4; ++k) bytes += static_cast<char>(text.size() >> (8 * k));
  return bytes + text;
}

void write_behind_the_end() {
  const long page = sysconf(_SC_PAGESIZE);
  char* memory = static_cast<char*>(mmap(nullptr, static_cast<size_t>(2 * page), PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory + page, static_cast<size_t>(page), PROT_NONE);
  volatile char* end = memory + page;
  *end = 1;
}

WorkerReply misbehave(const WorkerRequest& request, const JudgeReports& reports) {
  // A session's candidates are named after their operators: then the environment says what is to happen.
  const char* asked = std::getenv("ROGUE_BEHAVIOUR");
  const std::string what = asked != nullptr ? asked : name_in(request.program);
  // As without sanitizers, which have handlers of their own.
  for (const int fatal : {SIGSEGV, SIGILL, SIGBUS}) signal(fatal, SIG_DFL);
  reports.entering(WorkerStage::reading);
  reports.entering(WorkerStage::testing);
  if (what == "null") *nowhere = 1;
  if (what == "illegal") __builtin_trap();
  if (what == "bounds") write_behind_the_end();
  if (what == "killed") kill(getpid(), SIGKILL);
  if (what == "terminated") kill(getpid(), SIGTERM);
  if (what == "suspended") kill(getpid(), SIGSTOP);
  if (what == "aborts") std::abort();
  if (what == "asks") send_raw(framed(to_text(ScheduleMessage{ScheduleMessage::Kind::load, "key"})));
  if (what == "notes") send_raw(framed(to_text(SearchMessage::note)));
  if (what == "hang") pause();
  if (what == "spin") {
    for (;;) ++spins;
  }
  if (what == "memory") {
    for (;;) std::memset(new char[size_t{64} << 20], 1, size_t{64} << 20);
  }
  if (what == "leave") _exit(0);
  if (what == "leave_with_7") _exit(7);
  if (what == "raw") send_raw("this is no message at all");
  if (what == "endless") send_raw(std::string("AXW1\xff\xff\xff\xff", 8));
  if (what == "half") {
    send_raw(framed("{\"reply\": 1}").substr(0, 12));
    _exit(0);
  }
  if (what == "no_json") send_raw(framed("{\"reply\": "));
  if (what == "deep") send_raw(framed(std::string(500'000, '[')));
  if (what == "wrong_types") send_raw(framed(R"({"reply": {"refusal": 3}})"));
  if (what == "wrong_stage") send_raw(framed(R"({"stage": "resting"})"));
  if (what == "infinite") {
    send_raw(
        framed(R"({"reply": {"refusal": "", "proof": {"verdict": "proved", "text": "", "seconds": 1e999},)"
               R"("gate": {"verdict": "tested", "text": "", "seconds": 0}, "compile_seconds": 0,)"
               R"("code_bytes": 1, "code_hash": 1}})"));
  }
  if (what == "stages") {
    for (int k = 0; k < 100; ++k) reports.entering(WorkerStage::testing);
  }
  if (request.program.empty()) {
    WorkerLowering lowering = sent_form(search::lower(ir::parse(request.expression), request.ranges,
                                                      request.constant, request.target, request.rank));
    if (what == "other_program") lowering.program = "loops p() {\n  output y: f32[1]\n  y[0] = 1:f32\n}\n";
    if (what == "no_program") lowering.program = "loops p(";
    reports.lowered(lowering);
  }
  WorkerReply reply;
  reply.proof = {verify::Verdict::proved, "by nobody", 0.25};
  reply.gate = {verify::Verdict::tested, "by nobody", 0.5};
  reply.code_bytes = 100;
  if (what == "refuse") reply.refusal = "not today";
  if (what == "unproved") reply.proof.verdict = verify::Verdict::unknown;
  if (what == "throw") throw Error(Fault::internal, "thrown");
  if (what == "long") reply.gate.text = std::string(100'000, 'x');
  return reply;
}

}  // namespace
}  // namespace axrun::runtime

int main(int argument_count, char** arguments) {
  return axrun::runtime::serve_requests(argument_count, arguments, axrun::runtime::misbehave);
}
