#include "runtime/optimizer/algebra_question.h"

#include <fmt/format.h>

#include "ir/text.h"
#include "runtime/optimizer/worker_protocol.h"
#include "runtime/warm/lists.h"
#include "runtime/warm/window_image.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;
using search::algebra::IdentityEvidence;

/// Outlines and sets of rules.
std::string text(Reader& in) { return std::string(in.text(longest_request)); }

void end_of_algebra(const Reader& in) { require_finished(in, "algebra"); }

void put(Writer& out, const verify::Evidence& evidence) {
  out.put(evidence.verdict).put(evidence.text).put(evidence.seconds);
}
verify::Evidence evidence(Reader& in) {
  verify::Evidence read;
  read.verdict = in.get<verify::Verdict>();
  if (read.verdict > verify::Verdict::unknown) in.fail();
  read.text = text(in);
  read.seconds = in.get<double>();
  return read;
}

void put(Writer& out, const IdentityEvidence& known) {
  put(out, known.equality);
  put(out, known.safety);
  put(out, known.safety_back);
}
IdentityEvidence identity_evidence(Reader& in) {
  IdentityEvidence read;
  read.equality = evidence(in);
  read.safety = evidence(in);
  read.safety_back = evidence(in);
  return read;
}

void put(Writer& out, const RulesKnown& known) {
  out.put(known.stored);
  put_count(out, known.found.size());
  for (const std::string& rule : known.found) out.put(rule);
  put_count(out, known.proofs.size());
  for (const auto& [key, proof] : known.proofs) {
    out.put(key);
    put(out, proof);
  }
}
RulesKnown rules_known(Reader& in) {
  RulesKnown known;
  known.stored = text(in);
  known.found.resize(in.count(4));
  for (std::string& rule : known.found) rule = text(in);
  const size_t proofs = in.count(43);
  for (size_t k = 0; k < proofs; ++k) {
    const std::string key = text(in);
    known.proofs[key] = identity_evidence(in);
  }
  return known;
}

void put(Writer& out, const search::algebra::RewrittenWindow& window) {
  out.put(window.text).put(window.before).put(window.after);
  put_count(out, window.uses.size());
  for (const auto& [rule, forward] : window.uses) out.put(rule).put(forward);
  put_all(out, window.values);
  write_windows(out, {window.recipe});
}
search::algebra::RewrittenWindow rewritten_window(Reader& in) {
  search::algebra::RewrittenWindow window;
  window.text = text(in);
  window.before = in.get<double>();
  window.after = in.get<double>();
  const size_t uses = in.count(5);
  for (size_t k = 0; k < uses; ++k) {
    const std::string rule = text(in);
    window.uses.emplace(rule, in.get<bool>());
  }
  window.values = get_all<ir::ValueId>(in);
  auto recipes = read_windows(in);
  if (recipes.size() != 1) {
    in.fail();
  } else {
    window.recipe = std::move(recipes.front());
  }
  return window;
}

}  // namespace

std::string key_of_identity(const search::algebra::Sides& sides, const std::vector<ir::loop::Size>& sizes) {
  std::string all = ir::print(sides.left) + "\n" + ir::print(sides.right);
  for (const ir::loop::Size& size : sizes)
    all += fmt::format("\n{} {} {} {}", size.name, size.low, size.high, size.divisor);
  // FNV-1a of 128 bits: a claim of one identity must not pass for one of another.
  using Wide = unsigned __int128;
  constexpr Wide prime = (Wide{1} << 88) + 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142u} << 64) + 0x62b821756295c58du;
  for (const char c : all) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash));
}

std::string write_note(const RuleNote& note) {
  Writer out;
  out.put(note.kind).put(note.text);
  put(out, note.evidence);
  return std::move(out).text();
}

RuleNote read_note(std::string_view bytes) {
  Reader in(bytes);
  RuleNote note;
  note.kind = in.get<RuleNote::Kind>();
  if (note.kind > RuleNote::Kind::damaged) in.fail();
  note.text = text(in);
  note.evidence = identity_evidence(in);
  end_of_algebra(in);
  return note;
}

std::string write(const RulesQuestion& question) {
  Writer out;
  out.put(question.outline).put(question.model);
  put(out, question.known);
  return std::move(out).text();
}

RulesQuestion read_rules_question(std::string_view bytes) {
  Reader in(bytes);
  RulesQuestion question;
  question.outline = text(in);
  question.model = text(in);
  question.known = rules_known(in);
  end_of_algebra(in);
  return question;
}

std::string write(const RulesAnswer& answer) {
  Writer out;
  out.put(answer.complete).put(answer.rules);
  return std::move(out).text();
}

RulesAnswer read_rules_answer(std::string_view bytes) {
  Reader in(bytes);
  RulesAnswer answer;
  answer.complete = in.get<bool>();
  answer.rules = text(in);
  end_of_algebra(in);
  return answer;
}

std::string write(const MergeQuestion& question) {
  Writer out;
  out.put(question.stored);
  put(out, question.known);
  return std::move(out).text();
}

MergeQuestion read_merge_question(std::string_view bytes) {
  Reader in(bytes);
  MergeQuestion question;
  question.stored = text(in);
  question.known = rules_known(in);
  end_of_algebra(in);
  return question;
}

std::string write(const WindowsQuestion& question) {
  Writer out;
  out.put(question.outline);
  put(out, question.known);
  out.put(question.movement).put(question.least_share);
  put_count(out, question.apart.size());
  for (const ir::ValueId id : question.apart) out.put(id);
  put_count(out, question.step_of.size());
  for (const auto& [id, step] : question.step_of) out.put(id).put(step);
  put_all(out, question.times);
  return std::move(out).text();
}

WindowsQuestion read_windows_question(std::string_view bytes) {
  Reader in(bytes);
  WindowsQuestion question;
  question.outline = text(in);
  question.known = rules_known(in);
  question.movement = in.get<search::algebra::Movement>();
  question.least_share = in.get<double>();
  for (const ir::ValueId id : get_all<ir::ValueId>(in)) question.apart.insert(id);
  const size_t values = in.count(8);
  for (size_t k = 0; k < values; ++k) {
    const auto id = in.get<ir::ValueId>();
    question.step_of[id] = in.get<uint32_t>();
  }
  question.times = get_all<double>(in);
  for (const auto& [id, step] : question.step_of)
    if (step >= question.times.size()) in.fail();
  end_of_algebra(in);
  return question;
}

std::string write(const WindowsAnswer& answer) {
  Writer out;
  out.put(answer.rules).put(answer.looked_at);
  put_count(out, answer.windows.size());
  for (const WindowsAnswer::Window& one : answer.windows) {
    put(out, one.window);
    write_report(out, one.report);
  }
  put_count(out, answer.rules_used.size());
  for (const auto& [id, rule] : answer.rules_used) out.put(id).put(rule);
  return std::move(out).text();
}

WindowsAnswer read_windows_answer(std::string_view bytes) {
  Reader in(bytes);
  WindowsAnswer answer;
  answer.rules = in.get<int>();
  answer.looked_at = in.get<int>();
  answer.windows.resize(in.count(64));
  for (WindowsAnswer::Window& one : answer.windows) {
    one.window = rewritten_window(in);
    one.report = read_report_of_window(in);
  }
  const size_t rules = in.count(8);
  for (size_t k = 0; k < rules; ++k) {
    const std::string id = text(in);
    answer.rules_used[id] = text(in);
  }
  // Whatever a window uses is there.
  for (const WindowsAnswer::Window& one : answer.windows)
    for (const auto& [rule, forward] : one.window.uses)
      if (answer.rules_used.count(rule) == 0) in.fail();
  end_of_algebra(in);
  return answer;
}

std::string write(const GraphQuestion& question) {
  Writer out;
  out.put(question.outline);
  write_windows(out, question.windows);
  return std::move(out).text();
}

GraphQuestion read_graph_question(std::string_view bytes) {
  Reader in(bytes);
  GraphQuestion question;
  question.outline = text(in);
  question.windows = read_windows(in);
  end_of_algebra(in);
  return question;
}

}  // namespace axrun::runtime
