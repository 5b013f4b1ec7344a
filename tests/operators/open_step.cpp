#include "tests/operators/open_step.h"

#include "ir/builder.h"
#include "ir/error.h"

namespace axrun::runtime {
namespace {

/// The ports of the step, over the names of the case.
OpenPorts ports_of(const StepContext& context, OpenCase& open) {
  const auto dims_of = [&](ir::ValueId id) {
    OpenPorts::Dims dims;
    if (id == ir::absent) return dims;
    for (const ir::Dim& dim : *open.fact(id).dims) dims.push_back({open.place_of(dim), 0});
    return dims;
  };
  OpenPorts ports;
  for (const ir::ValueId id : context.input_ids) {
    ports.inputs.push_back(dims_of(id));
    ports.told.push_back(id != ir::absent && open.fact(id).elements.has_value());
  }
  for (const ir::ValueId id : context.output_ids) ports.outputs.push_back(dims_of(id));
  return ports;
}

}  // namespace

std::unique_ptr<StepUnderTest> step_of(const Case& given) {
  try {
    return std::make_unique<StepUnderTest>(given, 1);
  } catch (const Error&) {
    return nullptr;
  } catch (const ir::NotYetKnown&) {
    return nullptr;
  }
}

OpenStep::OpenStep(const GeneratorEntry& generator, Random random)
    : random_(random),
      given_(generator.draw(random_)),
      own_(given_, random_.chance(50)),
      open_(given_, own_) {
  if (!open_.is_known() || !open_.is_open()) return;
  step_ = step_of(given_);
  if (step_ != nullptr) make_kernel_of(*step_);
}

std::unique_ptr<OpenStep> OpenStep::draw(const GeneratorEntry& generator, uint64_t seed) {
  std::unique_ptr<OpenStep> step(new OpenStep(generator, Random(seed)));
  return step->step_ == nullptr ? nullptr : std::move(step);
}

void OpenStep::make_kernel_of(const StepUnderTest& step) {
  StepContext context = step.context();
  context.programs.clear();
  for (const ir::OpenProgram& program : open_.programs()) {
    programs_.push_back(program.at(open_.numbers_at(own_)));
    context.programs.push_back(programs_.back().get());
    context.open_programs.push_back(&program.program());
  }
  ports_ = ports_of(context, open_);
  for (const KernelFactory factory : factories_for(context.node.domain, context.node.op)) {
    kernel_ = factory(context);
    if (kernel_ == nullptr) continue;
    factory_ = factory;
    return;
  }
  kernel_ = make_kernel(context);
}

std::optional<OpenStep::Sizes> OpenStep::change() {
  NamedSizes sizes = own_;
  sizes.change(random_);
  Sizes changed{{}, open_.numbers_at(sizes)};
  if (!open_.lets_through(changed.numbers)) return std::nullopt;
  changed.other = at_sizes(given_, sizes);
  return changed;
}

}  // namespace axrun::runtime
