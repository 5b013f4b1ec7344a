#include "jit/layout.h"

#include <algorithm>

#include "ir/error.h"

namespace axrun::jit {

using ir::loop::Allocate;
using ir::loop::Block;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::LoopProgram;
using ir::loop::Role;
using ir::loop::Statement;

namespace {

void add_once(std::vector<int>& list, int item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

class Builder {
 public:
  explicit Builder(const LoopProgram& program) : program_(program) {}

  Layout run() {
    const size_t buffers = program_.buffers.size();
    layout_.argument.assign(buffers, ir::none);
    layout_.per_worker.assign(buffers, false);
    layout_.arguments = static_cast<int>(program_.sizes.size());
    for (size_t id = 0; id < buffers; ++id) {
      if (program_.buffers[id].level != ir::loop::Level::registers)
        layout_.argument[id] = layout_.arguments++;
    }
    for (const Statement& statement : program_.body) {
      const auto* loop = std::get_if<Loop>(&statement);
      if (loop != nullptr && loop->kind == LoopKind::parallel) {
        layout_.phases.push_back({loop, {}, {}, {}});
        scan(loop->body, true);
        continue;
      }
      if (const auto* allocation = std::get_if<Allocate>(&statement);
          allocation != nullptr && at(allocation->buffer).level != ir::loop::Level::registers) {
        continue;  // lives from the beginning
      }
      if (layout_.phases.empty() || layout_.phases.back().parallel != nullptr ||
          only_prepares(layout_.phases.back())) {
        layout_.phases.push_back({});
      }
      layout_.phases.back().statements.push_back(&statement);
      if (loop != nullptr) {
        scan(loop->body, false);
      } else if (const auto* compute = std::get_if<Compute>(&statement)) {
        note(*compute);
      }
    }
    return std::move(layout_);
  }

 private:
  const ir::loop::Buffer& at(int id) const { return program_.buffers[static_cast<size_t>(id)]; }

  /// What goes before stays a function of its own when it only fills scratch memory: it may turn out to
  /// depend on constants only.
  bool only_prepares(const Phase& phase) const {
    const bool in_registers =
        std::any_of(phase.statements.begin(), phase.statements.end(),
                    [](const Statement* one) { return std::holds_alternative<Allocate>(*one); });
    return !in_registers && !phase.writes.empty() &&
           std::all_of(phase.writes.begin(), phase.writes.end(),
                       [&](int id) { return at(id).role == Role::scratch; });
  }

  void scan(const Block& block, bool in_parallel) {
    for (const Statement& statement : block) {
      if (const auto* loop = std::get_if<Loop>(&statement)) {
        if (loop->kind == LoopKind::parallel)
          throw Error(Fault::unsupported, "parallel loop " + loop->variable + " inside of another loop");
        scan(loop->body, in_parallel);
      } else if (const auto* allocation = std::get_if<Allocate>(&statement)) {
        const ir::loop::Buffer& buffer = at(allocation->buffer);
        if (buffer.level == ir::loop::Level::registers) continue;
        layout_.per_worker[static_cast<size_t>(allocation->buffer)] = in_parallel;
        for (const ir::Dim& dim : buffer.dims) {
          std::vector<std::string> names;
          dim.collect_symbols(names);
          for (const std::string& name : names) {
            if (!is_size(name))
              throw Error(Fault::unsupported, buffer.name + ": its size depends on the loop " + name);
          }
        }
      } else {
        note(std::get<Compute>(statement));
      }
    }
  }

  bool is_size(const std::string& name) const {
    return std::any_of(program_.sizes.begin(), program_.sizes.end(),
                       [&](const ir::loop::Size& size) { return size.name == name; });
  }

  void note(const Compute& compute) {
    if (at(compute.target.buffer).level != ir::loop::Level::registers) {
      add_once(layout_.phases.back().writes, compute.target.buffer);
      if (compute.combine != ir::loop::Combine::assign)
        add_once(layout_.phases.back().reads, compute.target.buffer);
    }
    reads(compute.value);
  }

  void reads(int id) {
    const ir::loop::Value& value = program_.values[static_cast<size_t>(id)];
    if (value.op == ir::ScalarOp::load && at(value.access.buffer).level != ir::loop::Level::registers)
      add_once(layout_.phases.back().reads, value.access.buffer);
    for (const ir::loop::Lookup& lookup : value.access.lookups) {
      add_once(layout_.phases.back().reads, lookup.buffer);
      if (layout_.flag_argument == ir::none) layout_.flag_argument = layout_.arguments++;
    }
    for (const int argument : value.args) {
      if (argument != ir::none) reads(argument);
    }
  }

  const LoopProgram& program_;
  Layout layout_;
};

}  // namespace

Layout layout_of(const LoopProgram& program) { return Builder(program).run(); }

}  // namespace axrun::jit
