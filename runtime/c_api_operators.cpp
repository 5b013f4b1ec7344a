#include "runtime/c_api_operators.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "ir/error_place.h"
#include "ir/text.h"

using namespace axrun::c_api;
using axrun::Error;
using axrun::ErrorPlace;
using axrun::Fault;
using axrun::PlacedError;
namespace ir = axrun::ir;

namespace {

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

/// What went wrong in a callback: what it said, otherwise what the last function said that failed in it.
std::string reason_of(const std::string& message, const char* function, axrun_status status) {
  if (!message.empty()) return message;
  const std::string last = axrun_last_error();
  return last.empty() ? fmt::format("its function {} answered {}", function, axrun_status_name(status))
                      : last;
}

[[noreturn]] void throw_at(const ir::Node& node, Fault fault, const std::string& reason) {
  throw PlacedError(fault, fmt::format("{} '{}': {}", node.op, node.name, reason),
                    ErrorPlace::of_node(node.name, node.op));
}

/// What axrun_operators_add got.
class UserOperator final : public ir::CustomOperator, public std::enable_shared_from_this<UserOperator> {
 public:
  UserOperator(const axrun_operator& given, std::optional<ir::Program> text)
      : CustomOperator(given.domain, given.name, given.since, revision_of(given)),
        functions_(given),
        text_(std::move(text)) {}
  ~UserOperator() override {
    if (owns_context_ && functions_.release != nullptr) functions_.release(functions_.context);
  }
  UserOperator(const UserOperator&) = delete;
  UserOperator& operator=(const UserOperator&) = delete;

  void own_context() { owns_context_ = true; }
  const axrun_operator& functions() const { return functions_; }

  ir::Program define(const ir::OperatorContext& context) const override;
  std::shared_ptr<const ir::CustomKernel> whole_kernel(const ir::Node& node) const override {
    return text_ ? kernel(node, nullptr) : nullptr;
  }

 private:
  /// A text without kernel says all.
  static std::string revision_of(const axrun_operator& given) {
    if (given.revision != nullptr) return fmt::format("revision {} {}", given.revision, text_of(given.text));
    const bool told = given.text != nullptr && given.compute == nullptr;
    return told ? fmt::format("text {}", given.text) : "";
  }
  std::shared_ptr<const ir::CustomKernel> kernel(const ir::Node& node, std::shared_ptr<void> state) const;
  ir::Program program_of(const ir::OperatorContext& context, const axrun_node& node) const;

  axrun_operator functions_;  ///< its texts are not kept
  std::optional<ir::Program> text_;
  bool owns_context_ = false;
};

class UserKernel final : public ir::CustomKernel {
 public:
  UserKernel(std::shared_ptr<const UserOperator> of, ir::Node node, std::shared_ptr<void> state)
      : operator_(std::move(of)), node_(std::move(node)), state_(std::move(state)) {}

  void run(const std::vector<ir::Tensor>& inputs, std::vector<ir::CustomResult>& results,
           const ir::ParallelFor& parallel) const override {
    axrun_call call{{node_, nullptr}, state_.get(), inputs, results, parallel};
    fail(AXRUN_OK, "");
    const axrun_status status = operator_->functions().compute(operator_->functions().context, &call);
    if (status != AXRUN_OK) {
      const bool ours = status == AXRUN_INTERNAL_ERROR;
      throw_at(node_, ours ? Fault::internal : Fault::user, reason_of(call.message, "compute", status));
    }
    for (size_t k = 0; k < results.size(); ++k) {
      if (results[k].wanted && !results[k].tensor.defined())
        throw_at(node_, Fault::user, fmt::format("its function compute has not made output {}", k));
    }
  }

 private:
  std::shared_ptr<const UserOperator> operator_;
  ir::Node node_;
  std::shared_ptr<void> state_;
};

std::shared_ptr<const ir::CustomKernel> UserOperator::kernel(const ir::Node& node,
                                                             std::shared_ptr<void> state) const {
  if (functions_.compute == nullptr) return nullptr;
  return std::make_shared<UserKernel>(shared_from_this(), node, std::move(state));
}

ir::Program UserOperator::define(const ir::OperatorContext& context) const {
  const ir::Node& node = context.node();
  if (text_) return ir::bind_expression(*text_, context, kernel(node, nullptr));
  axrun_node asked{node, &context};
  asked.outputs.resize(node.outputs.size());
  fail(AXRUN_OK, "");
  const axrun_status status = functions_.define(functions_.context, &asked);
  // Whatever a definition makes of what it could not know: it does not count.
  if (asked.unknown) throw ir::NotYetKnown{*asked.unknown};
  if (status == AXRUN_NOT_YET) throw ir::NotYetKnown{"what its function define waits for"};
  if (status != AXRUN_OK) throw_at(node, Fault::model, reason_of(asked.message, "define", status));
  return program_of(context, asked);
}

ir::Program UserOperator::program_of(const ir::OperatorContext& context, const axrun_node& node) const {
  const std::shared_ptr<const ir::CustomKernel> compute = kernel(context.node(), node.state);
  if (node.text) return ir::bind_expression(*node.text, context, compute);
  if (compute == nullptr) context.fail("its operator has neither a text for it nor a function compute");
  ir::Builder builder(context.node().op);
  std::vector<ir::TensorRef> arguments;
  for (int k = 0; k < context.inputs(); ++k)
    arguments.push_back(context.has(k) ? ir::operand(builder, context, k) : ir::TensorRef());
  ir::CustomStage stage{compute, {}};
  std::vector<std::pair<ir::ElementType, ir::Dims>> results;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const axrun_node::Output& output = node.outputs[k];
    if (output.type == ir::ElementType::undefined)
      context.fail(fmt::format("its function define does not say what output {} is", k));
    ir::Dims dims;
    for (const int64_t dim : output.dims) {
      const auto d = static_cast<int>(dims.size());
      dims.push_back(dim < 0 ? context.unknown_dim(static_cast<int>(k), d) : ir::Dim(dim));
    }
    stage.results.push_back({output.type, dims, true, {}});
    results.emplace_back(output.type, std::move(dims));
  }
  auto payload = std::make_shared<const ir::CustomStage>(std::move(stage));
  for (const ir::TensorRef& result : builder.opaque("custom", arguments, results, std::move(payload)))
    builder.output(result);
  return builder.finish();
}

std::shared_ptr<UserOperator> operator_of(const axrun_operator& given) {
  require(given.domain != nullptr && given.name != nullptr && given.name[0] != '\0',
          "the operator has no name");
  const std::string called = fmt::format("operator '{}' of domain '{}'", given.name, given.domain);
  const auto refuse = [&](const std::string& why) {
    throw Error(Fault::user, fmt::format("{}: {}", called, why));
  };
  if (given.since < 1) refuse(fmt::format("there is no version {}", given.since));
  if (given.text == nullptr && given.define == nullptr) refuse("it needs a text, or a function define");
  if (given.text != nullptr && given.define != nullptr)
    refuse("a text and a function define are one too many");
  std::optional<ir::Program> text;
  if (given.text != nullptr) {
    try {
      text = ir::parse(given.text);
      ir::check_expression(*text, given.compute != nullptr);
    } catch (const Error& error) {
      refuse(error.what());
    }
  }
  return std::make_shared<UserOperator>(given, std::move(text));
}

void load_operators(axrun_operators& operators, const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(Fault::user, fmt::format("operators of '{}': {}", path, dlerror()));
  using Add = axrun_status (*)(axrun_operators*);
  const auto add = reinterpret_cast<Add>(dlsym(library, "axrun_add_operators"));
  if (add == nullptr) {
    dlclose(library);
    throw Error(Fault::user, fmt::format("operators of '{}': it has no function axrun_add_operators", path));
  }
  fail(AXRUN_OK, "");
  const axrun_status status = add(&operators);
  if (status == AXRUN_OK) return;
  throw Error(Fault::user,
              fmt::format("operators of '{}': {}", path, reason_of("", "axrun_add_operators", status)));
}

}  // namespace

std::shared_ptr<const ir::CustomOperators> axrun::c_api::operators_of(
    const std::vector<std::string>& libraries) {
  if (libraries.empty()) return nullptr;
  axrun_operators operators;
  for (const std::string& library : libraries) load_operators(operators, library.c_str());
  return std::make_shared<const ir::CustomOperators>(std::move(operators.set));
}

// axrun_operators.h is the manual of what follows.

axrun_status axrun_operators_create(axrun_operators** operators) {
  return guarded([&] {
    require(operators != nullptr, "operators is NULL");
    *operators = new axrun_operators();
  });
}

void axrun_operators_free(axrun_operators* operators) { delete operators; }

axrun_status axrun_operators_add(axrun_operators* operators, const axrun_operator* made) {
  return guarded([&] {
    require(operators != nullptr && made != nullptr, "operators or made is NULL");
    const std::shared_ptr<UserOperator> user = operator_of(*made);
    operators->set.add(user);
    user->own_context();
  });
}

axrun_status axrun_operators_load(axrun_operators* operators, const char* path) {
  return guarded([&] {
    require(operators != nullptr && path != nullptr, "operators or path is NULL");
    load_operators(*operators, path);
  });
}

axrun_status axrun_options_set_operators(axrun_options* options, const axrun_operators* operators) {
  return guarded([&] {
    require(options != nullptr, "options is NULL");
    options->options.operators =
        operators == nullptr ? nullptr : std::make_shared<const ir::CustomOperators>(operators->set);
  });
}
