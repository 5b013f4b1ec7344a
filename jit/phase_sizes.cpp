#include "jit/phase_sizes.h"

#include <vector>

namespace axrun::jit {
namespace {

using ir::loop::LoopProgram;

class Names {
 public:
  explicit Names(const LoopProgram& program) : program_(program) {}

  void add(const ir::Dim& dim) {
    std::vector<std::string> names;
    dim.collect_symbols(names);
    found_.insert(names.begin(), names.end());
  }
  void add(const ir::Dims& dims) {
    for (const ir::Dim& dim : dims) add(dim);
  }
  void add(const ir::loop::Access& access) {
    if (access.buffer == ir::none) return;
    add(access.indices);
    add(program_.buffers[static_cast<size_t>(access.buffer)].dims);
    for (const ir::loop::Lookup& lookup : access.lookups) {
      add(lookup.indices);
      add(program_.buffers[static_cast<size_t>(lookup.buffer)].dims);
    }
  }
  void add_value(int id) {
    if (id == ir::none || !seen_.insert(id).second) return;
    const ir::loop::Value& value = program_.values[static_cast<size_t>(id)];
    add(value.index);
    add(value.access);
    for (const int argument : value.args) add_value(argument);
  }
  void add(const ir::loop::Loop& loop) {
    add(loop.extent);
    for (const ir::loop::Statement& statement : loop.body) add(statement);
  }
  void add(const ir::loop::Statement& statement) {
    if (const auto* loop = std::get_if<ir::loop::Loop>(&statement)) add(*loop);
    if (const auto* made = std::get_if<ir::loop::Allocate>(&statement)) {
      add(program_.buffers[static_cast<size_t>(made->buffer)].dims);
    }
    if (const auto* compute = std::get_if<ir::loop::Compute>(&statement)) {
      add(compute->target);
      add_value(compute->value);
    }
  }
  std::set<std::string> found() && { return std::move(found_); }

 private:
  const LoopProgram& program_;
  std::set<std::string> found_;
  std::set<int> seen_;
};

}  // namespace

std::set<std::string> names_in(const LoopProgram& program, const Phase& phase) {
  Names names(program);
  if (phase.parallel != nullptr) names.add(*phase.parallel);
  for (const ir::loop::Statement* statement : phase.statements) names.add(*statement);
  return std::move(names).found();
}

}  // namespace axrun::jit
