#include "runtime/warm/recheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/error.h"
#include "ir/loop/loop_program.h"
#include "ir/scanner.h"
#include "ir/text.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/kernel_sizes.h"
#include "runtime/optimizer/proving_by_worker.h"
#include "runtime/warm/algebra_image.h"
#include "runtime/warm/plans_image.h"
#include "runtime/warm/shapes_image.h"
#include "runtime/warm/warm_keys.h"

namespace axrun::runtime {
namespace {

/// Without a sign of life: the worker limits its own processor time.
constexpr double answer_seconds = 60;
/// A size at which a range is tested besides the small ones.
constexpr int64_t common_size = 48;

SizeValues sizes_within(const search::Sizes& ranges) {
  SizeValues sizes;
  for (const ir::loop::Size& range : ranges) {
    const int64_t value = std::clamp(common_size, range.low, range.high);
    sizes[range.name] = std::max(range.low, value / range.divisor * range.divisor);
  }
  return sizes;
}

/// A size that is in the range is one that the program says it is right for.
bool claims(const ir::loop::LoopProgram& program, const ir::loop::Size& range) {
  return std::any_of(program.sizes.begin(), program.sizes.end(), [&](const ir::loop::Size& size) {
    return size.name == range.name && size.low <= range.low && size.high >= range.high &&
           range.divisor % size.divisor == 0;
  });
}

/// The key is that of another expression, or of other constants or ranges.
bool is_key_of_another(const LibraryImage::Kernel& kernel) {
  std::string key = kernel.expression.text;
  for (const bool constant : kernel.expression.constant) key += constant ? 'c' : '-';
  return !kernel.key.starts_with(key) || !kernel.key.ends_with(text_of(kernel.ranges));
}

void fail(RecheckedKernel& result, Recheck outcome, std::string reason) {
  result.outcome = outcome;
  result.reason = std::move(reason);
}

void check_claims(const LibraryImage::Kernel& kernel, RecheckedKernel& result) {
  const ir::loop::LoopProgram& program = kernel.code.code->program();
  for (const ir::loop::Size& range : kernel.ranges) {
    if (!claims(program, range))
      return fail(result, Recheck::damaged, fmt::format("its loop program is not for all of {}", range.name));
  }
}

}  // namespace

std::string_view name_of(Recheck outcome) {
  switch (outcome) {
    case Recheck::right:
      return "right";
    case Recheck::not_checkable:
      return "not checkable";
    case Recheck::damaged:
      return "damaged";
    case Recheck::unknown:
      return "not proved";
    case Recheck::wrong:
      return "wrong";
    case Recheck::refuted:
      break;
  }
  return "refuted";
}

Rechecker::Rechecker(std::string generator, std::string machine, jit::Target target, WorkerOptions worker)
    : generator_(std::move(generator)),
      machine_(std::move(machine)),
      target_(std::move(target)),
      worker_(std::move(worker)) {}

void Rechecker::compare_code(const LibraryImage::Kernel& kernel, RecheckedKernel& result) const {
  const jit::CodeImage stored = kernel.code.code->image();
  const jit::CodeImage made = jit::KernelCode::compile(kernel.code.code->program(), target_)->image();
  if (made.bytes == stored.bytes && made.entries == stored.entries && made.signature == stored.signature)
    return;
  fail(result, Recheck::damaged, "its machine code is not the one that its loop program gives");
}

void Rechecker::prove_and_test(const LibraryImage::Kernel& kernel, RecheckedKernel& result) {
  StepExpression expression = kernel.expression;
  expression.program = expression.whole_program();
  const ir::loop::LoopProgram& program = kernel.code.code->program();
  // Of the schedules that there are now only the simplified expression is wanted: what is stored may be one
  // of others.
  WorkerLowering stored;
  stored.program = ir::loop::print(program);
  CandidateTools tools;
  tools.target = target_;
  WorkerRequest request = request_for(expression, stored, kernel.ranges, sizes_within(kernel.ranges), tools);
  // How far it serves follows from where it is said to have been tested.
  for (const SizeValues& sizes : kernel.code.tested.sizes()) {
    if (!covers(kernel.ranges, sizes)) return fail(result, Recheck::damaged, "it was tested at other sizes");
    request.sizes.push_back(sizes);
  }
  WorkerAnswer answer = worker_.ask(request, answer_seconds, stop_);
  for (int kills = 1; answer.failure == WorkerFailure::killed && kills < most_kills; ++kills)
    answer = worker_.ask(request, answer_seconds, stop_);
  if (answer.failure != WorkerFailure::none) {
    const bool none = worker_.failed_starts() > 0 || answer.failure == WorkerFailure::killed;
    return fail(result, none ? Recheck::not_checkable : Recheck::wrong,
                fmt::format("the helper process {}: {}", name_of(answer.failure), answer.reason));
  }
  if (!answer.lowering || answer.lowering->expression.empty())
    return fail(result, Recheck::not_checkable,
                "there is no schedule for it now: " +
                    (answer.lowering ? answer.lowering->reason : answer.reply.refusal));
  if (answer.lowering->inputs != kernel.code.inputs)
    return fail(result, Recheck::damaged, "it is given other operands");
  const WorkerReply& reply = answer.reply;
  const auto text = [](const verify::Evidence& evidence) {
    return evidence.text.empty() ? ""
                                 : fmt::format("{}: {}", verify::name_of(evidence.verdict), evidence.text);
  };
  result.proof = text(reply.proof);
  result.gate = text(reply.gate);
  if (reply.refusal.empty()) return;
  const Recheck outcome = reply.proof.verdict == verify::Verdict::refuted  ? Recheck::refuted
                          : reply.proof.verdict != verify::Verdict::proved ? Recheck::unknown
                          : result.gate.empty()                            ? Recheck::not_checkable
                                                                           : Recheck::wrong;
  fail(result, outcome, reply.refusal);
}

RecheckedKernel Rechecker::check(const LibraryImage::Kernel& kernel) {
  RecheckedKernel result;
  result.ops = kernel.record.ops;
  result.kind = kernel.code.kind;
  result.sizes = text_of(kernel.ranges);
  if (is_key_of_another(kernel)) {
    fail(result, Recheck::damaged, "it is found under the key of another expression");
    return result;
  }
  const jit::CodeImage image = kernel.code.code->image();
  const std::string all =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", kernel.key, image.program, image.signature, image.bytes,
                  fmt::join(image.entries, " "), fmt::join(kernel.code.inputs, " "));
  const auto [known, fresh] = known_.try_emplace(all);
  if (!fresh) return known->second;
  try {
    check_claims(kernel, result);
    if (result.outcome == Recheck::right) compare_code(kernel, result);
    if (result.outcome == Recheck::right) prove_and_test(kernel, result);
  } catch (const Error& error) {
    fail(result, error.fault() == Fault::unsupported ? Recheck::not_checkable : Recheck::damaged,
         error.what());
  }
  known->second = result;
  return result;
}

std::vector<RecheckedWindow> Rechecker::check(const AlgebraRecipe& recipe) {
  using search::algebra::Rule;
  CandidateTools tools;
  tools.target = target_;
  const search::algebra::Prover prover = prover_by(worker_, tools, stop_);
  std::map<std::string, std::shared_ptr<const Rule>> rules;
  std::string damage;
  try {
    for (const std::string& text : recipe.rules) {
      ir::text::Scanner in(text);
      const auto rule = std::make_shared<Rule>(search::algebra::parse_rule(in));
      search::algebra::establish(*rule, prover);
      rules.emplace(rule->id, rule);
    }
  } catch (const Error& error) {
    damage = error.what();
  }
  std::vector<RecheckedWindow> windows;
  for (size_t k = 0; k < recipe.windows.size(); ++k) {
    RecheckedWindow& window = windows.emplace_back();
    const auto end = [&](Recheck outcome, std::string reason) {
      if (outcome <= window.outcome) return;
      window.outcome = outcome;
      window.reason = std::move(reason);
    };
    if (!damage.empty() || recipe.report.windows.size() != recipe.windows.size()) {
      end(Recheck::damaged, damage.empty() ? "its record is not of its windows" : damage);
      continue;
    }
    window.values = recipe.report.windows[k].values;
    std::vector<std::shared_ptr<const Rule>> used;
    for (const AlgebraReport::Rule& one : recipe.report.windows[k].rules) {
      window.rules.push_back(one.name);
      const auto rule = rules.find(one.name);
      if (rule == rules.end()) {
        end(Recheck::damaged, one.name + " is not there");
        continue;
      }
      used.push_back(rule->second);
      if (!rule->second->established)
        end(Recheck::not_checkable, "the helper process that proves gives no answer");
      else if (rule->second->equality.verdict == verify::Verdict::refuted)
        end(Recheck::refuted, one.name + " is refuted: " + rule->second->equality.text);
      else if (!rule->second->usable(one.forward))
        end(Recheck::unknown, one.name + " is not proved");
    }
    try {
      if (window.outcome == Recheck::right && !search::algebra::follows_from(recipe.windows[k].text, used))
        end(Recheck::unknown, "its rules do not lead there");
    } catch (const Error& error) {
      end(Recheck::damaged, error.what());
    }
  }
  return windows;
}

RecheckedEntry Rechecker::check(const cache::StoredEntry& entry) {
  RecheckedEntry result;
  result.where = entry.where;
  const auto end = [&](Recheck outcome, std::string reason) {
    result.outcome = outcome;
    result.reason = std::move(reason);
    return result;
  };
  std::vector<LibraryImage::Kernel> kernels;
  const auto owner = std::make_shared<const std::string>(entry.payload);
  cache::Reader in(*owner);
  const bool one = entry.key.starts_with(prefix_of_kernels), plans = entry.key.starts_with(prefix_of_plans);
  result.what = one ? "a kernel" : plans ? "the kernels of a model" : entry.key;
  result.is_of_kernels = one || plans;
  if (!result.is_of_kernels) return result;
  if (entry.generator != generator_) return end(Recheck::not_checkable, "made by another version");
  if (entry.machine != machine_) return end(Recheck::not_checkable, "made for another processor");
  if (one) {
    LibraryImage::Kernel& kernel = kernels.emplace_back();
    kernel.key = key_in_library(entry.key);
    const bool right = in.get<uint32_t>() == form_of_entries;
    if (!right || !LibraryImage::read(in, kernel, owner) || !in.finished())
      return end(Recheck::damaged, "it makes no sense");
  } else {
    read_head(in);
    in.get<bool>();
    read_shapes(in);
    in.text(longest_layouts);
    const auto rewrites = rewrites_in(in.text(longest_rewrites));
    in.text(longest_nested);
    if (!rewrites) return end(Recheck::damaged, "it makes no sense");
    for (const AlgebraRecipe& one : *rewrites)
      for (RecheckedWindow& window : check(one)) result.windows.push_back(std::move(window));
    auto found = LibraryImage::kernels_in(in, owner);
    if (!found) return end(Recheck::damaged, "it makes no sense");
    kernels = std::move(*found);
  }
  for (const RecheckedWindow& window : result.windows)
    if (window.outcome > result.outcome) end(window.outcome, window.reason);
  for (const LibraryImage::Kernel& kernel : kernels) {
    RecheckedKernel& last = result.kernels.emplace_back(check(kernel));
    if (last.outcome > result.outcome) end(last.outcome, last.reason);
  }
  return result;
}

}  // namespace axrun::runtime
