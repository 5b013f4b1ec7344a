#include "jit/phase_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace axrun::jit {
namespace {

using ir::loop::LoopProgram;

/// A program of one phase.
class Excerpt {
 public:
  Excerpt(const LoopProgram& program, const std::map<std::string, ir::Dim>& sizes) : known_(sizes) {
    out_.name = "phase";
    out_.values = program.values;
    out_.buffers = program.buffers;
    met_.assign(program.buffers.size(), false);
    changed_.assign(program.values.size(), false);
  }

  void add(ir::loop::Statement statement) {
    change(statement);
    out_.body.push_back(std::move(statement));
  }

  PhaseText text() {
    // Everything that is met, and nothing else, is declared alike: what is an input here may be made
    // elsewhere.
    std::vector<ir::loop::Statement> body;
    for (const int id : order_) body.emplace_back(ir::loop::Allocate{id});
    std::move(out_.body.begin(), out_.body.end(), std::back_inserter(body));
    out_.body = std::move(body);
    for (ir::loop::Buffer& buffer : out_.buffers) buffer.role = ir::loop::Role::scratch;
    return {ir::loop::print(out_), std::move(order_)};
  }

 private:
  void change(ir::Dim& dim) { dim = dim.substitute(known_); }
  void change(ir::Dims& dims) {
    for (ir::Dim& dim : dims) change(dim);
  }
  void meet(int id) {
    const auto at = static_cast<size_t>(id);
    if (met_[at]) return;
    met_[at] = true;
    out_.buffers[at].name = "b" + std::to_string(order_.size());
    change(out_.buffers[at].dims);
    order_.push_back(id);
  }
  void change(ir::loop::Access& access) {
    if (access.buffer == ir::none) return;
    meet(access.buffer);
    change(access.indices);
    for (ir::loop::Lookup& lookup : access.lookups) {
      meet(lookup.buffer);
      change(lookup.indices);
    }
  }
  void change_value(int id) {
    if (id == ir::none || changed_[static_cast<size_t>(id)]) return;
    changed_[static_cast<size_t>(id)] = true;
    ir::loop::Value& value = out_.values[static_cast<size_t>(id)];
    change(value.index);
    change(value.access);
    for (const int argument : value.args) change_value(argument);
  }
  void change(ir::loop::Statement& statement) {
    if (auto* loop = std::get_if<ir::loop::Loop>(&statement)) {
      change(loop->extent);
      // One name for all loops of a name: they may share values.
      const auto [place, fresh] = names_.try_emplace(loop->variable, "v" + std::to_string(names_.size()));
      if (fresh) known_.insert_or_assign(loop->variable, ir::Dim::symbol(place->second));
      loop->variable = place->second;
      for (ir::loop::Statement& inner : loop->body) change(inner);
    } else if (auto* compute = std::get_if<ir::loop::Compute>(&statement)) {
      change(compute->target);
      change_value(compute->value);
      compute->mapping = {};
    } else {
      meet(std::get<ir::loop::Allocate>(statement).buffer);
    }
  }

  std::map<std::string, ir::Dim> known_;
  LoopProgram out_;
  std::vector<bool> met_, changed_;
  std::vector<int> order_;
  std::map<std::string, std::string> names_;  ///< of loops
};

}  // namespace

PhaseText text_of(const LoopProgram& program, const Phase& phase,
                  const std::map<std::string, ir::Dim>& sizes) {
  Excerpt excerpt(program, sizes);
  if (phase.parallel != nullptr) excerpt.add(*phase.parallel);
  for (const ir::loop::Statement* statement : phase.statements) excerpt.add(*statement);
  return excerpt.text();
}

}  // namespace axrun::jit
