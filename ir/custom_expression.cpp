#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "ir/custom_operator.h"
#include "ir/error.h"
#include "ir/grammar.h"
#include "ir/operator.h"

namespace axrun::ir {
namespace {

constexpr std::string_view custom_function = "custom";

using Sizes = std::map<std::string, Dim>;

/// The name of a size that stands alone.
std::optional<std::string> plain_name(const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  if (names.size() != 1 || dim != Dim::symbol(names[0])) return std::nullopt;
  return names[0];
}

/// Names of the sizes that operands give.
std::set<std::string> given_names(const Program& text) {
  std::set<std::string> names;
  for (const TensorId id : text.operands) {
    if (id == none) continue;
    for (const Dim& dim : text.tensors[static_cast<size_t>(id)].dims) {
      if (const auto name = plain_name(dim)) names.insert(*name);
    }
  }
  return names;
}

/// Calls with every size of a program, those of scans' steps included.
template <class AnyProgram, class Call>
void for_dims(AnyProgram& program, const Call& call) {
  for (auto& tensor : program.tensors) {
    for (auto& dim : tensor.dims) call(dim);
  }
  for (auto& expr : program.exprs) call(expr.dim);
  for (auto& stage : program.stages) {
    for (auto& axis : stage.axes) call(axis.extent);
    for (auto& axis : stage.reduce_axes) call(axis.extent);
    call(stage.length);
  }
}

Program with_sizes(Program program, const Sizes& sizes) {
  for_dims(program, [&](Dim& dim) { dim = dim.substitute(sizes); });
  for (Stage& stage : program.stages) {
    if (stage.step) stage.step = std::make_shared<const Program>(with_sizes(*stage.step, sizes));
  }
  return program;
}

void collect_names(const Program& program, std::vector<std::string>& names) {
  for_dims(program, [&](const Dim& dim) { dim.collect_symbols(names); });
  for (const Stage& stage : program.stages) {
    if (stage.step) collect_names(*stage.step, names);
  }
}

/// Names of sizes that only kernels tell.
std::set<std::string> open_names(const Program& text) {
  std::vector<std::string> names;
  for (const Stage& stage : text.stages) {
    if (stage.kind != StageKind::opaque) continue;
    for (const TensorId id : stage.results) {
      for (const Dim& dim : text.tensors[static_cast<size_t>(id)].dims) dim.collect_symbols(names);
    }
  }
  std::set<std::string> open(names.begin(), names.end());
  for (const std::string& name : given_names(text)) open.erase(name);
  return open;
}

/// Throws Error(user) for opaque stages of scans' steps, and for any but those of the user's kernel.
void check_stages(const Program& program, bool has_kernel, bool inside) {
  for (const Stage& stage : program.stages) {
    if (stage.step) check_stages(*stage.step, has_kernel, true);
    if (stage.kind != StageKind::opaque) continue;
    if (stage.function != custom_function) {
      throw Error(Fault::user, fmt::format("stage '{}' calls '{}': an operator's text may call no opaque "
                                           "function but '{}', its own kernel",
                                           stage.name, stage.function, custom_function));
    }
    if (!has_kernel) {
      throw Error(Fault::user, fmt::format("stage '{}': the operator has no kernel", stage.name));
    }
    if (inside) throw Error(Fault::user, fmt::format("stage '{}': a kernel within a scan", stage.name));
  }
}

/// What the inputs make of the text's named sizes. Inputs must have the types and ranks that it states.
Sizes sizes_of(const Program& text, const OperatorContext& context) {
  const int expected = static_cast<int>(text.operands.size());
  for (int k = expected; k < context.inputs(); ++k) {
    if (context.has(k)) context.fail(fmt::format("it has {} inputs, its text takes {}", k + 1, expected));
  }
  Sizes sizes;
  const auto declared = [&](int k) -> const TensorDecl* {
    const TensorId id = text.operands[static_cast<size_t>(k)];
    return id == none ? nullptr : &text.tensors[static_cast<size_t>(id)];
  };
  for (int k = 0; k < expected; ++k) {
    const TensorDecl* decl = declared(k);
    if (decl == nullptr) continue;
    if (context.type(k) != decl->type) {
      context.fail(fmt::format("input {} ('{}') is {}, its text takes {}", k, decl->name,
                               name_of(context.type(k)), name_of(decl->type)));
    }
    const Dims& dims = context.dims(k);
    if (dims.size() != decl->dims.size()) {
      context.fail(fmt::format("input {} ('{}') has shape {}, its text takes {}", k, decl->name,
                               to_string(dims), to_string(decl->dims)));
    }
    for (size_t d = 0; d < dims.size(); ++d) {
      if (const auto name = plain_name(decl->dims[d])) sizes.try_emplace(*name, dims[d]);
    }
  }
  for (int k = 0; k < expected; ++k) {
    const TensorDecl* decl = declared(k);
    for (size_t d = 0; decl != nullptr && d < decl->dims.size(); ++d) {
      if (context.equal(decl->dims[d].substitute(sizes), context.dims(k)[d])) continue;
      context.fail(fmt::format("input {} ('{}') has shape {}, which does not fit {} of its text", k,
                               decl->name, to_string(context.dims(k)), to_string(decl->dims)));
    }
  }
  return sizes;
}

}  // namespace

void check_expression(const Program& text, bool has_kernel) {
  check_stages(text, has_kernel, false);
  std::vector<std::string> names;
  collect_names(text, names);
  const std::set<std::string> given = given_names(text);
  const std::set<std::string> open = open_names(text);
  for (const std::string& name : names) {
    if (given.count(name) == 0 && open.count(name) == 0) {
      throw Error(Fault::user, fmt::format("the size '{}' is no dimension of an input", name));
    }
  }
}

Program bind_expression(const Program& text, const OperatorContext& context,
                        const std::shared_ptr<const CustomKernel>& kernel) {
  Sizes sizes = sizes_of(text, context);
  for (const std::string& name : open_names(text)) {
    sizes.emplace(name, Dim::symbol(fmt::format("{}/{}", context.name(), name)));
  }
  Program program = with_sizes(text, sizes);
  for (Stage& stage : program.stages) {
    if (stage.kind != StageKind::opaque) continue;
    auto payload = std::make_shared<CustomStage>();
    payload->kernel = kernel;
    for (const TensorId id : stage.results) {
      const TensorDecl& decl = program.tensors[static_cast<size_t>(id)];
      payload->results.push_back({decl.type, decl.dims, true, {}});
    }
    stage.payload = std::move(payload);
  }
  const size_t wanted = static_cast<size_t>(context.outputs());
  if (program.outputs.size() < wanted && context.wants(static_cast<int>(wanted) - 1)) {
    context.fail(fmt::format("it has {} outputs, its text gives {}", wanted, program.outputs.size()));
  }
  const std::vector<Violation> found = violations(program);
  if (!found.empty())
    context.fail(fmt::format("its text does not hold for these inputs: {}", to_string(found[0])));
  return program;
}

}  // namespace axrun::ir
