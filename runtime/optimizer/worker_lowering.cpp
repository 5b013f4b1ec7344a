#include "runtime/optimizer/worker_lowering.h"

#include "ir/text.h"

namespace axrun::runtime {

WorkerLowering sent_form(const search::Lowered& lowered) {
  WorkerLowering sent;
  if (lowered.program) sent.program = ir::loop::print(*lowered.program);
  if (!lowered.expression.stages.empty()) sent.expression = ir::print(lowered.expression);
  for (size_t k = 0; k < lowered.expression.operands.size(); ++k) {
    if (lowered.expression.operands[k] != ir::none) sent.inputs.push_back(static_cast<int>(k));
  }
  sent.kind = lowered.kind;
  sent.reason = lowered.reason;
  sent.alternatives = static_cast<int>(lowered.alternatives);
  sent.schedule = lowered.schedule.text;
  sent.expected_us = lowered.schedule.expected / 1e3;
  return sent;
}

}  // namespace axrun::runtime
