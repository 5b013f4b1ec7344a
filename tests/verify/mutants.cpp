#include "tests/verify/mutants.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ir/error.h"

namespace axrun::tests {
namespace {

using ir::Dim;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Block;
using ir::loop::Combine;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::LoopProgram;
using ir::loop::Role;
using ir::loop::Statement;
using ir::loop::Value;

/// One attempt: a copy, the places in it, and the mutations.
class Surgeon {
 public:
  Surgeon(const LoopProgram& valid, std::mt19937_64& random) : program_(valid), random_(random) {
    collect(program_.body);
    for (Value& value : program_.values) {
      if (value.op == ScalarOp::load) {
        loads_.push_back(&value);
        accesses_.push_back(&value.access);
      }
      if (value.op == ScalarOp::extent) indices_.push_back(&value.index);
    }
    for (Access* access : accesses_) {
      for (Dim& index : access->indices) indices_.push_back(&index);
      for (ir::loop::Lookup& lookup : access->lookups) {
        lookups_.push_back(&lookup);
        for (Dim& index : lookup.indices) indices_.push_back(&index);
      }
      if (!access->lookups.empty()) looking_up_.push_back(access);
    }
  }

  std::optional<Mutant> run() {
    const std::vector<std::pair<const char*, bool (Surgeon::*)()>> kinds = {
        {"overlap", &Surgeon::overlap},
        {"gap", &Surgeon::gap},
        {"race", &Surgeon::race},
        {"race", &Surgeon::shared_scratch},
        {"out of bounds", &Surgeon::shifted},
        {"wrong lane", &Surgeon::wrong_lane},
        {"time", &Surgeon::other_time},
        {"time", &Surgeon::no_history},
        {"gate", &Surgeon::other_part},
        {"tail", &Surgeon::tail},
        {"tail", &Surgeon::tail},
        {"stride", &Surgeon::permuted},
        {"stride", &Surgeon::scaled},
        {"stride", &Surgeon::other_variable},
        {"epilogue", &Surgeon::other_operation},
        {"epilogue", &Surgeon::operands_rotated},
        {"extent", &Surgeon::extent},
        {"step", &Surgeon::step},
        {"initialisation", &Surgeon::statement_dropped},
        {"initialisation", &Surgeon::statement_moved_in},
        {"initialisation", &Surgeon::statement_moved_out},
        {"initialisation", &Surgeon::literal},
        {"order", &Surgeon::statements_swapped},
        {"order", &Surgeon::statement_doubled},
        {"order", &Surgeon::loops_interchanged},
        {"operand", &Surgeon::other_operand},
        {"operand", &Surgeon::other_target},
        {"mapping", &Surgeon::mapping},
        {"combine", &Surgeon::combine},
        {"guard", &Surgeon::guard},
        {"claim", &Surgeon::claim},
        {"allocation", &Surgeon::allocation},
        {"lookup", &Surgeon::looked_up_elsewhere},
        {"lookup", &Surgeon::looked_up_not},
    };
    const auto& [name, mutation] = kinds[below(kinds.size())];
    try {
      if (!(this->*mutation)() || !ir::loop::violations(program_).empty()) return std::nullopt;
    } catch (const Error&) {
      return std::nullopt;  // a size that cannot be written
    }
    return Mutant{name, std::move(program_)};
  }

 private:
  size_t below(size_t count) { return static_cast<size_t>(random_() % count); }
  bool coin() { return below(2) == 0; }
  template <typename T>
  T* pick(std::vector<T*>& list) {
    return list.empty() ? nullptr : list[below(list.size())];
  }

  void collect(Block& body) {
    blocks_.push_back(&body);
    for (Statement& statement : body) {
      if (auto* compute = std::get_if<Compute>(&statement)) {
        computes_.push_back(compute);
        accesses_.push_back(&compute->target);
      } else if (auto* loop = std::get_if<Loop>(&statement)) {
        loops_.push_back(loop);
        collect(loop->body);
      }
    }
  }

  static std::vector<std::string> symbols(const Dim& dim) {
    std::vector<std::string> names;
    dim.collect_symbols(names);
    return names;
  }
  bool is_variable(const std::string& name) const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const Loop* loop) { return loop->variable == name; });
  }
  std::vector<std::string> variables(const Dim& dim) const {
    std::vector<std::string> names = symbols(dim);
    std::erase_if(names, [&](const std::string& name) { return !is_variable(name); });
    return names;
  }
  std::string any_variable() { return loops_.empty() ? "" : loops_[below(loops_.size())]->variable; }

  /// Tiles that are too close, or too far apart, wherever the variable is used.
  bool respaced(int64_t by) {
    const std::string name = any_variable();
    bool changed = false;
    const bool everywhere = coin();
    for (Dim* index : indices_) {
      const std::vector<std::string> used = variables(*index);
      if (std::find(used.begin(), used.end(), name) == used.end()) continue;
      if (changed && !everywhere) break;
      *index = *index + Dim(by) * Dim::symbol(name);
      changed = true;
    }
    return changed;
  }
  bool overlap() { return respaced(-1); }
  bool gap() { return respaced(1); }

  bool race() {
    Loop* loop = pick(loops_);
    if (loop == nullptr || loop->kind == LoopKind::parallel) return false;
    loop->kind = LoopKind::parallel;
    return true;
  }

  /// An allocation moves out of its loop.
  bool shared_scratch() {
    for (Block* outer : blocks_) {
      for (size_t k = 0; k < outer->size(); ++k) {
        auto* loop = std::get_if<Loop>(&(*outer)[k]);
        if (loop == nullptr || loop->body.empty() || coin()) continue;
        if (!std::holds_alternative<ir::loop::Allocate>(loop->body.front())) continue;
        const Statement moved = loop->body.front();
        loop->body.erase(loop->body.begin());
        outer->insert(outer->begin() + static_cast<std::ptrdiff_t>(k), moved);
        return true;
      }
    }
    return false;
  }

  /// An index comes from another input, or leads into another dimension.
  bool looked_up_elsewhere() {
    Access* access = pick(looking_up_);
    if (access == nullptr) return false;
    ir::loop::Lookup& lookup = access->lookups[below(access->lookups.size())];
    if (coin()) {
      lookup.dimension = static_cast<int>(below(access->indices.size()));
    } else {
      lookup.buffer = lookups_[below(lookups_.size())]->buffer;
    }
    return true;
  }

  /// It is always the same.
  bool looked_up_not() {
    Access* access = pick(looking_up_);
    if (access == nullptr) return false;
    access->lookups.erase(access->lookups.begin() + static_cast<std::ptrdiff_t>(below(access->lookups.size())));
    return true;
  }

  bool shifted() {
    Dim* index = pick(indices_);
    if (index == nullptr) return false;
    *index = *index + Dim(coin() ? 1 : -1);
    return true;
  }

  /// One place counts the iterations of a sequential loop backwards, is late, or stays at the first.
  bool other_time() {
    std::vector<Loop*> sequential = loops_;
    std::erase_if(sequential,
                  [](Loop* loop) { return loop->kind != LoopKind::sequential || loop->step != 1; });
    Loop* loop = pick(sequential);
    Access* access = pick(accesses_);
    if (loop == nullptr || access == nullptr) return false;
    const Dim now = Dim::symbol(loop->variable);
    const Dim others[] = {Dim(0), loop->extent - 1 - now, max(now - 1, 0), min(now + 1, loop->extent - 1)};
    const Dim& other = others[below(4)];
    for (Dim& index : access->indices) index = index.substitute({{loop->variable, other}});
    return true;
  }

  /// A scratch buffer with one entry per iteration of a loop has two that take turns, or one.
  bool no_history() {
    Access* access = pick(accesses_);
    if (access == nullptr || access->indices.empty()) return false;
    const int buffer = access->buffer;
    if (program_.buffers[static_cast<size_t>(buffer)].role != Role::scratch) return false;
    const size_t dimension = below(access->indices.size());
    const Dim turns(coin() ? 2 : 1);
    for (Access* other : accesses_) {
      if (other->buffer == buffer) other->indices[dimension] = floor_mod(other->indices[dimension], turns);
    }
    program_.buffers[static_cast<size_t>(buffer)].dims[dimension] = turns;
    return true;
  }

  /// A literal index is another.
  bool other_part() {
    std::vector<std::pair<Access*, size_t>> places;
    for (Access* access : accesses_) {
      for (size_t d = 0; d < access->indices.size(); ++d) {
        const Dim& extent = program_.buffers[static_cast<size_t>(access->buffer)].dims[d];
        if (access->indices[d].is_constant() && extent.is_constant() && extent.value() > 1)
          places.emplace_back(access, d);
      }
    }
    if (places.empty()) return false;
    const auto& [access, d] = places[below(places.size())];
    const Dim extent = program_.buffers[static_cast<size_t>(access->buffer)].dims[d];
    access->indices[d] = Dim(static_cast<int64_t>(below(static_cast<size_t>(extent.value()))));
    return true;
  }

  bool wrong_lane() {
    std::vector<Loop*> vectors;
    for (Loop* loop : loops_) {
      if (loop->kind == LoopKind::vector || loop->kind == LoopKind::unrolled) vectors.push_back(loop);
    }
    Loop* loop = pick(vectors);
    Dim* index = pick(indices_);
    if (loop == nullptr || index == nullptr) return false;
    const std::vector<std::string> used = variables(*index);
    if (std::find(used.begin(), used.end(), loop->variable) == used.end()) return false;
    const Dim lane = Dim::symbol(loop->variable);
    const Dim others[] = {Dim(0), floor_div(lane, 2), lane + 1, loop->extent - 1 - lane, min(lane, 1)};
    *index = index->substitute({{loop->variable, others[below(5)]}});
    return true;
  }

  /// A minimum loses one of its sides.
  bool tail() {
    std::vector<Dim*> places = indices_;
    for (Loop* loop : loops_) places.push_back(&loop->extent);
    std::erase_if(places, [](Dim* dim) { return dim->to_string().find("min(") == std::string::npos; });
    Dim* place = pick(places);
    if (place == nullptr) return false;
    const std::string text = place->to_string();
    const size_t begin = text.find("min(");
    std::vector<std::string> sides(1);
    size_t end = begin + 4;
    for (int depth = 1; depth > 0; ++end) {
      if (text[end] == '(') ++depth;
      if (text[end] == ')' && --depth == 0) break;
      if (text[end] == ',' && depth == 1) {
        sides.emplace_back();
      } else {
        sides.back() += text[end];
      }
    }
    *place =
        ir::parse_dim(text.substr(0, begin) + "(" + sides[below(sides.size())] + ")" + text.substr(end + 1));
    return true;
  }

  bool permuted() {
    Access* access = pick(accesses_);
    if (access == nullptr || access->indices.size() < 2) return false;
    const size_t k = below(access->indices.size() - 1);
    std::swap(access->indices[k], access->indices[k + 1]);
    return true;
  }

  bool scaled() {
    Dim* index = pick(indices_);
    if (index == nullptr) return false;
    *index = coin() ? Dim(2) * *index : floor_div(*index, 2);
    return true;
  }

  bool other_variable() {
    Dim* index = pick(indices_);
    if (index == nullptr) return false;
    const std::vector<std::string> used = variables(*index);
    const std::string other = any_variable();
    if (used.empty() || other.empty()) return false;
    *index = index->substitute({{used[below(used.size())], Dim::symbol(other)}});
    return true;
  }

  bool other_operation() {
    static const std::vector<std::vector<ScalarOp>> groups = {
        {ScalarOp::add, ScalarOp::sub, ScalarOp::mul, ScalarOp::div, ScalarOp::min, ScalarOp::max},
        {ScalarOp::exp, ScalarOp::sqrt, ScalarOp::tanh, ScalarOp::erf, ScalarOp::neg, ScalarOp::abs},
        {ScalarOp::less, ScalarOp::less_equal, ScalarOp::greater, ScalarOp::greater_equal, ScalarOp::equal},
        {ScalarOp::logical_and, ScalarOp::logical_or}};
    std::vector<Value*> places;
    std::vector<const std::vector<ScalarOp>*> choices;
    for (Value& value : program_.values) {
      for (const auto& group : groups) {
        if (std::find(group.begin(), group.end(), value.op) == group.end()) continue;
        places.push_back(&value);
        choices.push_back(&group);
      }
    }
    if (places.empty()) return false;
    const size_t k = below(places.size());
    places[k]->op = (*choices[k])[below(choices[k]->size())];
    return true;
  }

  /// op(inner(a, b), c) becomes inner(op(a, c), b), or two arguments change places.
  bool operands_rotated() {
    std::vector<Value*> places;
    for (Value& value : program_.values) {
      if (value.op >= ScalarOp::add && value.args[1] != ir::none) places.push_back(&value);
    }
    Value* outer = pick(places);
    if (outer == nullptr) return false;
    Value& inner = program_.values[static_cast<size_t>(outer->args[0])];
    if (coin() || inner.args[1] == ir::none || inner.op < ScalarOp::add || inner.type != outer->type) {
      std::swap(outer->args[0], outer->args[1]);
      return true;
    }
    std::swap(outer->op, inner.op);
    return true;
  }

  bool extent() {
    Loop* loop = pick(loops_);
    if (loop == nullptr) return false;
    loop->extent = loop->extent + Dim(coin() ? 1 : -1);
    return true;
  }

  bool step() {
    Loop* loop = pick(loops_);
    if (loop == nullptr) return false;
    loop->step = std::max<int64_t>(1, loop->step + (coin() ? 1 : -1));
    return true;
  }

  struct Spot {
    Block* block;
    size_t at;
  };
  template <typename T>
  std::optional<Spot> any_statement() {
    std::vector<Spot> spots;
    for (Block* block : blocks_) {
      for (size_t k = 0; k < block->size(); ++k) {
        if (std::holds_alternative<T>((*block)[k])) spots.push_back({block, k});
      }
    }
    if (spots.empty()) return std::nullopt;
    return spots[below(spots.size())];
  }

  bool statement_dropped() {
    const auto spot = coin() ? any_statement<Compute>() : any_statement<Loop>();
    if (!spot) return false;
    spot->block->erase(spot->block->begin() + static_cast<std::ptrdiff_t>(spot->at));
    return true;
  }

  /// Into the loop that follows it, as its first statement.
  bool statement_moved_in() {
    const auto spot = coin() ? any_statement<Compute>() : any_statement<Loop>();
    if (!spot || spot->at + 1 >= spot->block->size()) return false;
    if (!std::holds_alternative<Loop>((*spot->block)[spot->at + 1])) return false;
    Statement moved = (*spot->block)[spot->at];
    spot->block->erase(spot->block->begin() + static_cast<std::ptrdiff_t>(spot->at));
    Block& body = std::get<Loop>((*spot->block)[spot->at]).body;
    body.insert(coin() ? body.begin() : body.end(), moved);
    return true;
  }

  /// The first or last statement of a loop goes before or after it.
  bool statement_moved_out() {
    const auto spot = any_statement<Loop>();
    if (!spot) return false;
    Block& body = std::get<Loop>((*spot->block)[spot->at]).body;
    if (body.size() < 2) return false;
    const bool first = coin();
    const Statement moved = first ? body.front() : body.back();
    body.erase(first ? body.begin() : body.end() - 1);
    spot->block->insert(spot->block->begin() + static_cast<std::ptrdiff_t>(spot->at + (first ? 0 : 1)),
                        moved);
    return true;
  }

  bool literal() {
    std::vector<Value*> places;
    for (Value& value : program_.values) {
      if (value.op == ScalarOp::real || value.op == ScalarOp::integer) places.push_back(&value);
    }
    Value* place = pick(places);
    if (place == nullptr) return false;
    if (place->op == ScalarOp::real) {
      place->real = coin() ? 0 : place->real + 1;
    } else if (place->type != ir::ElementType::boolean) {
      place->integer += coin() ? 1 : -1;
    }
    return true;
  }

  bool statements_swapped() {
    Block* block = pick(blocks_);
    if (block == nullptr || block->size() < 2) return false;
    const size_t k = below(block->size() - 1);
    std::swap((*block)[k], (*block)[k + 1]);
    return true;
  }

  bool statement_doubled() {
    const auto spot = coin() ? any_statement<Compute>() : any_statement<Loop>();
    if (!spot) return false;
    const Statement copy = (*spot->block)[spot->at];
    const size_t to = below(spot->block->size() + 1);
    spot->block->insert(spot->block->begin() + static_cast<std::ptrdiff_t>(to), copy);
    return true;
  }

  bool loops_interchanged() {
    Loop* outer = pick(loops_);
    if (outer == nullptr || outer->body.size() != 1) return false;
    auto* inner = std::get_if<Loop>(&outer->body.front());
    if (inner == nullptr) return false;
    std::swap(outer->variable, inner->variable);
    std::swap(outer->extent, inner->extent);
    if (coin()) std::swap(outer->kind, inner->kind);
    return true;
  }

  bool same_form(int a, int b) const {
    const auto &x = program_.buffers[static_cast<size_t>(a)], &y = program_.buffers[static_cast<size_t>(b)];
    return x.type == y.type && x.dims.size() == y.dims.size();
  }

  bool other_operand() {
    Value* load = pick(loads_);
    if (load == nullptr) return false;
    const int other = static_cast<int>(below(program_.buffers.size()));
    if (other == load->access.buffer || !same_form(other, load->access.buffer)) return false;
    load->access.buffer = other;
    return true;
  }

  bool other_target() {
    Compute* compute = pick(computes_);
    if (compute == nullptr) return false;
    const int other = static_cast<int>(below(program_.buffers.size()));
    if (other == compute->target.buffer || !same_form(other, compute->target.buffer)) return false;
    compute->target.buffer = other;
    return true;
  }

  bool mapping() {
    std::vector<Compute*> places = computes_;
    std::erase_if(places, [](Compute* compute) { return compute->mapping.stage.empty(); });
    Compute* place = pick(places);
    if (place == nullptr) return false;
    ir::Dims& list = coin() ? place->mapping.point : place->mapping.inverse;
    if (list.empty()) return false;
    const size_t k = below(list.size());
    if (coin()) {
      list[k] = list[k] + Dim(1);
    } else {
      std::swap(list[k], list[below(list.size())]);
    }
    return true;
  }

  bool combine() {
    Compute* compute = pick(computes_);
    if (compute == nullptr) return false;
    compute->combine = static_cast<Combine>(below(5));
    return true;
  }

  bool guard() {
    std::vector<Value*> guarded = loads_;
    std::erase_if(guarded, [](Value* load) { return load->args[0] == ir::none; });
    Value* load = pick(guarded);
    if (load == nullptr) return false;
    load->args = {ir::none, ir::none, ir::none};
    return true;
  }

  bool claim() {
    if (program_.sizes.empty()) return false;
    ir::loop::Size& size = program_.sizes[below(program_.sizes.size())];
    if (size.divisor != 1 && coin()) {
      size.divisor = 1;
    } else {
      size.low = size.low / 2;
      size.high *= 2;
    }
    return true;
  }

  bool allocation() {
    std::vector<ir::loop::Buffer*> scratch;
    for (ir::loop::Buffer& buffer : program_.buffers) {
      if (buffer.role == Role::scratch && !buffer.dims.empty()) scratch.push_back(&buffer);
    }
    ir::loop::Buffer* buffer = pick(scratch);
    if (buffer == nullptr) return false;
    Dim& dim = buffer->dims[below(buffer->dims.size())];
    dim = dim - 1;
    return true;
  }

  LoopProgram program_;
  std::mt19937_64& random_;
  std::vector<Block*> blocks_;
  std::vector<Loop*> loops_;
  std::vector<Compute*> computes_;
  std::vector<Value*> loads_;
  std::vector<Access*> accesses_;
  std::vector<Dim*> indices_;
  std::vector<ir::loop::Lookup*> lookups_;
  std::vector<Access*> looking_up_;
};

}  // namespace

std::optional<Mutant> mutate(const LoopProgram& valid, std::mt19937_64& random) {
  return Surgeon(valid, random).run();
}

}  // namespace axrun::tests
