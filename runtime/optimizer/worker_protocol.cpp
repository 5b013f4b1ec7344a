#include "runtime/optimizer/worker_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/error.h"

namespace axrun::runtime {
namespace {

using Json = nlohmann::json;

constexpr int protocol = 6;
constexpr size_t longest_text = 4096;
constexpr std::array<std::string_view, 13> stage_names = {"reading",
                                                          "lowering",
                                                          "proving",
                                                          "compiling",
                                                          "testing",
                                                          "choosing layouts",
                                                          "looking for rules",
                                                          "merging rules",
                                                          "rewriting windows",
                                                          "writing a graph",
                                                          "looking for convolutions",
                                                          "writing a bilinear graph",
                                                          "proving a bilinear algorithm"};
constexpr std::array<std::string_view, 3> search_messages = {"may I go on", "note", "found"};
constexpr std::array<std::string_view, 3> schedule_asks = {"load", "save", "reject"};

[[noreturn]] void refuse(const std::string& what) { throw Error(Fault::user, what); }

Json parsed(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) refuse("it is no JSON object");
  return json;
}

std::string printed(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

const Json& member(const Json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (!json.is_object() || found == json.end()) refuse(fmt::format("'{}' is missing", name));
  return *found;
}

const Json& list(const Json& json, const char* name) {
  const Json& found = member(json, name);
  if (!found.is_array()) refuse(fmt::format("'{}' is no list", name));
  return found;
}

std::string text_of(const Json& json, const char* name) {
  const Json& found = member(json, name);
  if (!found.is_string()) refuse(fmt::format("'{}' is no text", name));
  return found.get<std::string>();
}

std::string short_text_of(const Json& json, const char* name) {
  std::string text = text_of(json, name);
  if (text.size() > longest_text) text = text.substr(0, longest_text) + "...";
  return text;
}

bool flag_of(const Json& json, const char* name) {
  const Json& found = member(json, name);
  if (!found.is_boolean()) refuse(fmt::format("'{}' is neither true nor false", name));
  return found.get<bool>();
}

/// Finite and not negative.
double amount_of(const Json& json, const char* name) {
  const Json& found = member(json, name);
  const double value = found.is_number() ? found.get<double>() : -1;
  if (!(std::isfinite(value) && value >= 0)) refuse(fmt::format("'{}' is no amount", name));
  return value;
}

int64_t integer_of(const Json& json, const char* name, int64_t low, int64_t high) {
  const Json& found = member(json, name);
  if (!found.is_number_integer()) refuse(fmt::format("'{}' is no integer", name));
  const int64_t value = found.get<int64_t>();
  if (value < low || value > high) refuse(fmt::format("'{}' is {}", name, value));
  return value;
}

uint64_t unsigned_of(const Json& json, const char* name) {
  const Json& found = member(json, name);
  if (!found.is_number_unsigned()) refuse(fmt::format("'{}' is no unsigned integer", name));
  return found.get<uint64_t>();
}

Json json_of(const jit::Target& target) {
  Json caches = Json::array();
  for (const jit::CacheLevel& level : target.caches) {
    caches.push_back({{"bytes", level.bytes},
                      {"line_bytes", level.line_bytes},
                      {"shared_by", level.shared_by},
                      {"bytes_per_second", level.bytes_per_second}});
  }
  return {{"name", target.name},
          {"features", target.features},
          {"vector_bytes", target.vector_bytes},
          {"vector_registers", target.vector_registers},
          {"fma_ports", target.fma_ports},
          {"masks", target.masks},
          {"cores", target.cores},
          {"caches", std::move(caches)},
          {"memory_bytes_per_second", target.memory_bytes_per_second},
          {"flops_per_second", target.flops_per_second}};
}

jit::Target target_from(const Json& json) {
  constexpr int64_t many = int64_t{1} << 50;
  jit::Target target;
  target.name = text_of(json, "name");
  for (const Json& feature : list(json, "features")) {
    if (!feature.is_string()) refuse("a feature is no text");
    target.features.push_back(feature.get<std::string>());
  }
  target.vector_bytes = static_cast<int>(integer_of(json, "vector_bytes", 1, 4096));
  target.vector_registers = static_cast<int>(integer_of(json, "vector_registers", 1, 4096));
  target.fma_ports = static_cast<int>(integer_of(json, "fma_ports", 0, 64));
  target.masks = flag_of(json, "masks");
  target.cores = static_cast<int>(integer_of(json, "cores", 1, 1 << 20));
  for (const Json& level : list(json, "caches")) {
    target.caches.push_back({integer_of(level, "bytes", 0, many), integer_of(level, "line_bytes", 1, 1 << 20),
                             static_cast<int>(integer_of(level, "shared_by", 1, 1 << 20)),
                             amount_of(level, "bytes_per_second")});
  }
  target.memory_bytes_per_second = amount_of(json, "memory_bytes_per_second");
  target.flops_per_second = amount_of(json, "flops_per_second");
  return target;
}

Json json_of(const verify::Evidence& evidence) {
  return {
      {"verdict", verify::name_of(evidence.verdict)}, {"text", evidence.text}, {"seconds", evidence.seconds}};
}

verify::Evidence evidence_from(const Json& json) {
  using verify::Verdict;
  verify::Evidence evidence;
  const std::string verdict = text_of(json, "verdict");
  bool known = false;
  for (const Verdict one : {Verdict::proved, Verdict::tested, Verdict::refuted, Verdict::unknown}) {
    if (verdict != verify::name_of(one)) continue;
    evidence.verdict = one;
    known = true;
  }
  if (!known) refuse("a verdict is none");
  evidence.text = short_text_of(json, "text");
  evidence.seconds = amount_of(json, "seconds");
  return evidence;
}

}  // namespace

std::string_view name_of(WorkerStage stage) { return stage_names[static_cast<size_t>(stage)]; }

std::string hello_text() { return printed({{"axrun_worker", protocol}, {"version", AXRUN_WORKER_VERSION}}); }

std::string mistake_in_hello(std::string_view text) {
  try {
    const Json json = parsed(text);
    if (integer_of(json, "axrun_worker", 0, INT32_MAX) != protocol ||
        text_of(json, "version") != AXRUN_WORKER_VERSION) {
      return fmt::format("it belongs to another version of axrun ({}, this is {})",
                         short_text_of(json, "version"), AXRUN_WORKER_VERSION);
    }
    return "";
  } catch (const Error& error) {
    return fmt::format("it is not axrun's worker: {}", error.what());
  }
}

namespace {

Json json_of(const std::vector<ir::loop::Size>& sizes) {
  Json json = Json::array();
  for (const ir::loop::Size& size : sizes)
    json.push_back({{"name", size.name}, {"low", size.low}, {"high", size.high}, {"divisor", size.divisor}});
  return json;
}

std::vector<ir::loop::Size> sizes_of(const Json& json, const char* name) {
  constexpr int64_t many = int64_t{1} << 50;
  std::vector<ir::loop::Size> sizes;
  for (const Json& one : list(json, name))
    sizes.push_back({text_of(one, "name"), integer_of(one, "low", 0, many), integer_of(one, "high", 0, many),
                     integer_of(one, "divisor", 1, many)});
  return sizes;
}

WorkerLowering lowering_from(const Json& json) {
  constexpr int64_t many = 1 << 20;
  WorkerLowering lowering;
  lowering.program = text_of(json, "program");
  lowering.expression = text_of(json, "expression");
  for (const Json& input : list(json, "inputs")) {
    if (!input.is_number_integer()) refuse("an input is no integer");
    lowering.inputs.push_back(static_cast<int>(std::clamp<int64_t>(input.get<int64_t>(), -1, many)));
  }
  lowering.kind = short_text_of(json, "kind");
  lowering.reason = short_text_of(json, "reason");
  lowering.alternatives = static_cast<int>(integer_of(json, "alternatives", 0, many));
  lowering.schedule = short_text_of(json, "schedule");
  lowering.expected_us = amount_of(json, "expected_us");
  return lowering;
}

ScheduleMessage schedules_from(const Json& json) {
  const std::string ask = text_of(json, "ask");
  const auto found = std::find(schedule_asks.begin(), schedule_asks.end(), ask);
  if (found == schedule_asks.end()) refuse("it asks of schedules what nobody can");
  return {static_cast<ScheduleMessage::Kind>(found - schedule_asks.begin()), text_of(json, "key")};
}

WorkerStage stage_of(const std::string& name) {
  const auto found = std::find(stage_names.begin(), stage_names.end(), name);
  if (found == stage_names.end()) refuse("it is at no stage that there is");
  return static_cast<WorkerStage>(found - stage_names.begin());
}

SearchMessage search_message_of(const std::string& name) {
  const auto found = std::find(search_messages.begin(), search_messages.end(), name);
  if (found == search_messages.end()) refuse("it says of a search what nobody understands");
  return static_cast<SearchMessage>(found - search_messages.begin());
}

}  // namespace

std::string to_text(const WorkerRequest& request) {
  return printed({{"program", request.program},
                  {"expression", request.expression},
                  {"lowered", request.lowered},
                  {"sizes", request.sizes},
                  {"thorough", request.thorough},
                  {"constant", request.constant},
                  {"ranges", json_of(request.ranges)},
                  {"rank", request.rank},
                  {"lower_only", request.lower_only},
                  {"keeps_schedules", request.keeps_schedules},
                  {"identity", request.identity ? json_of(*request.identity) : Json()},
                  {"search", request.search ? Json(name_of(*request.search)) : Json()},
                  {"target", json_of(request.target)},
                  {"seed", request.seed},
                  {"solver_milliseconds", request.solver_milliseconds},
                  {"proof_seconds", request.proof_seconds},
                  {"processor_seconds", request.processor_seconds},
                  {"processor_share", request.processor_share}});
}

WorkerRequest request_from(std::string_view text) {
  const Json json = parsed(text);
  WorkerRequest request;
  request.program = text_of(json, "program");
  request.expression = text_of(json, "expression");
  request.lowered = text_of(json, "lowered");
  request.sizes.clear();
  for (const Json& one : list(json, "sizes")) {
    if (!one.is_object() && !one.is_null()) refuse("sizes are no object");
    std::map<std::string, int64_t> sizes;
    for (const auto& [name, value] : one.items()) {
      if (!value.is_number_integer()) refuse("a size is no integer");
      sizes[name] = value.get<int64_t>();
    }
    request.sizes.push_back(std::move(sizes));
  }
  if (request.sizes.empty()) refuse("there are no sizes");
  request.thorough =
      static_cast<size_t>(integer_of(json, "thorough", 1, static_cast<int64_t>(request.sizes.size())));
  for (const Json& flag : list(json, "constant")) {
    if (!flag.is_boolean()) refuse("a flag of a constant is neither true nor false");
    request.constant.push_back(flag.get<bool>());
  }
  request.ranges = sizes_of(json, "ranges");
  request.rank = unsigned_of(json, "rank");
  request.lower_only = flag_of(json, "lower_only");
  request.keeps_schedules = flag_of(json, "keeps_schedules");
  if (!member(json, "identity").is_null()) request.identity = sizes_of(json, "identity");
  if (!member(json, "search").is_null()) {
    request.search = stage_of(text_of(json, "search"));
    if (*request.search < WorkerStage::choosing_layouts) refuse("'search' is no search");
  }
  request.target = target_from(member(json, "target"));
  request.seed = unsigned_of(json, "seed");
  request.solver_milliseconds = static_cast<unsigned>(integer_of(json, "solver_milliseconds", 1, 1 << 30));
  request.proof_seconds = amount_of(json, "proof_seconds");
  request.processor_seconds = amount_of(json, "processor_seconds");
  request.processor_share = amount_of(json, "processor_share");
  constexpr double least_share = 1e-3;
  if (request.processor_share < least_share || request.processor_share > 1)
    refuse("processor_share is no share");
  return request;
}

std::string to_text(const WorkerReply& reply) {
  return printed({{"reply",
                   {{"refusal", reply.refusal},
                    {"proof", json_of(reply.proof)},
                    {"gate", json_of(reply.gate)},
                    {"safety", json_of(reply.safety)},
                    {"safety_back", json_of(reply.safety_back)},
                    {"compile_seconds", reply.compile_seconds},
                    {"code_bytes", reply.code_bytes},
                    {"code_hash", reply.code_hash},
                    {"processor_seconds", reply.processor_seconds}}}});
}

std::string to_text(const WorkerLowering& lowering) {
  return printed({{"lowering",
                   {{"program", lowering.program},
                    {"expression", lowering.expression},
                    {"inputs", lowering.inputs},
                    {"kind", lowering.kind},
                    {"reason", lowering.reason},
                    {"alternatives", lowering.alternatives},
                    {"schedule", lowering.schedule},
                    {"expected_us", lowering.expected_us}}}});
}

std::string to_text(const ScheduleMessage& message) {
  return printed(
      {{"schedules", {{"ask", schedule_asks[static_cast<size_t>(message.kind)]}, {"key", message.key}}}});
}

std::string to_text(SearchMessage message) {
  return printed({{"search", search_messages[static_cast<size_t>(message)]}});
}

std::string to_text(WorkerStage stage) { return printed({{"stage", name_of(stage)}}); }

WorkerMessage message_from(std::string_view text) {
  const Json json = parsed(text);
  WorkerMessage message;
  if (json.contains("stage")) {
    message.stage = stage_of(text_of(json, "stage"));
    return message;
  }
  if (json.contains("lowering")) {
    message.lowering = lowering_from(member(json, "lowering"));
    return message;
  }
  if (json.contains("schedules")) {
    message.schedules = schedules_from(member(json, "schedules"));
    return message;
  }
  if (json.contains("search")) {
    message.search = search_message_of(text_of(json, "search"));
    return message;
  }
  const Json& answer = member(json, "reply");
  WorkerReply reply;
  reply.refusal = short_text_of(answer, "refusal");
  reply.proof = evidence_from(member(answer, "proof"));
  reply.gate = evidence_from(member(answer, "gate"));
  reply.safety = evidence_from(member(answer, "safety"));
  reply.safety_back = evidence_from(member(answer, "safety_back"));
  reply.compile_seconds = amount_of(answer, "compile_seconds");
  reply.code_bytes = unsigned_of(answer, "code_bytes");
  reply.code_hash = unsigned_of(answer, "code_hash");
  reply.processor_seconds = amount_of(answer, "processor_seconds");
  if (reply.refusal.empty() && !(reply.proof.verdict == verify::Verdict::proved && reply.gate.accepted())) {
    refuse("it accepts a kernel without evidence");
  }
  message.reply = std::move(reply);
  return message;
}

uint64_t hash_of_code(const void* code, size_t bytes) {
  const auto* byte = static_cast<const unsigned char*>(code);
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (size_t k = 0; k < bytes; ++k) hash = (hash ^ byte[k]) * 0x100000001b3u;
  return hash;
}

}  // namespace axrun::runtime
