#include "verify/loop_nest.h"

namespace axrun::verify {

using ir::loop::Loop;

LoopNest::LoopNest(const ir::loop::LoopProgram& program, Terms& terms) : program_(program), terms_(terms) {
  for (const ir::loop::Size& size : program.sizes) {
    const Term value = terms.variable(size.name, static_cast<double>(size.high));
    sizes_[size.name] = value;
    size_facts_.push_back(terms.at_least(value, terms.integer(size.low)));
    size_facts_.push_back(terms.at_least(terms.integer(size.high), value));
    if (size.divisor != 1) {
      const Term rest = terms.floor_mod(value, terms.integer(size.divisor));
      size_facts_.push_back(terms.equal(rest, terms.integer(0)));
    }
  }
  writers_.resize(program.buffers.size());
  scopes_.resize(program.buffers.size());
  std::vector<const Loop*> loops;
  walk(program.body, loops);
}

void LoopNest::walk(const ir::loop::Block& body, std::vector<const Loop*>& loops) {
  for (const ir::loop::Statement& statement : body) {
    if (const auto* allocation = std::get_if<ir::loop::Allocate>(&statement)) {
      scopes_[static_cast<size_t>(allocation->buffer)] = loops.size();
      allocation_places_.push_back({allocation->buffer, loops});
    } else if (const auto* compute = std::get_if<ir::loop::Compute>(&statement)) {
      writers_[static_cast<size_t>(compute->target.buffer)].push_back(static_cast<int>(leaves_.size()));
      leaves_.push_back({compute, loops});
    } else {
      const Loop& loop = std::get<Loop>(statement);
      loops.push_back(&loop);
      const size_t place = loop_places_.size();
      loop_places_.push_back({loops, static_cast<int>(leaves_.size()), 0});
      walk(loop.body, loops);
      loop_places_[place].last_leaf = static_cast<int>(leaves_.size());
      loops.pop_back();
    }
  }
}

size_t LoopNest::common(int a, int b) const {
  if (a == ir::none || b == ir::none) return 0;
  const std::vector<const Loop*>&x = leaf(a).loops, &y = leaf(b).loops;
  size_t count = 0;
  while (count < x.size() && count < y.size() && x[count] == y[count]) ++count;
  return count;
}

Names LoopNest::names(const std::vector<const Loop*>& loops, const TermList& values) const {
  Names names = sizes_;
  for (size_t k = 0; k < values.size(); ++k) names[loops[k]->variable] = values[k];
  return names;
}

Names LoopNest::names(const Instance& at) const {
  return at.leaf == ir::none ? sizes_ : names(leaf(at.leaf).loops, at.values);
}

TermList LoopNest::indices(const ir::loop::Access& access, const Instance& at) const {
  const Names known = names(at);
  TermList indices = terms_of(terms_, access.indices, known);
  for (const ir::loop::Lookup& lookup : access.lookups) {
    const auto dimension = static_cast<size_t>(lookup.dimension);
    const Term extent = term_of(terms_, buffer(access.buffer).dims[dimension], sizes_);
    indices[dimension] = terms_.lookup(lookup.buffer, extent, terms_of(terms_, lookup.indices, known));
  }
  return indices;
}

TermList LoopNest::extents(int id, const std::vector<const Loop*>& loops, const TermList& values) const {
  const TermList prefix(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(scope(id)));
  return terms_of(terms_, buffer(id).dims, names(loops, prefix));
}

void LoopNest::extend(const std::vector<const Loop*>& loops, TermList& values) const {
  while (values.size() < loops.size()) {
    const Loop& loop = *loops[values.size()];
    const Term extent = term_of(terms_, loop.extent, names(loops, values));
    values.push_back(terms_.variable(loop.variable, terms_.magnitude(extent)));
  }
}

TermList LoopNest::domain(const std::vector<const Loop*>& loops, const TermList& values, size_t from) const {
  TermList facts;
  for (size_t k = from; k < loops.size(); ++k) {
    const TermList outer(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(k));
    const Term extent = term_of(terms_, loops[k]->extent, names(loops, outer));
    facts.push_back(terms_.at_least(values[k], terms_.integer(0)));
    facts.push_back(terms_.less(values[k], extent));
    if (loops[k]->step != 1) {
      const Term rest = terms_.floor_mod(values[k], terms_.integer(loops[k]->step));
      facts.push_back(terms_.equal(rest, terms_.integer(0)));
    }
  }
  return facts;
}

Instance LoopNest::any_instance(int id) const {
  Instance instance{id, {}};
  extend(leaf(id).loops, instance.values);
  return instance;
}

std::string LoopNest::describe(int id) const {
  if (id == ir::none) return "the end of the program";
  return "statement " + std::to_string(id) + " on " + buffer(leaf(id).compute->target.buffer).name;
}

void append(TermList& list, const TermList& more) { list.insert(list.end(), more.begin(), more.end()); }

TermList with(TermList list, Term term) {
  list.push_back(term);
  return list;
}

TermList with(TermList list, const TermList& more) {
  append(list, more);
  return list;
}

}  // namespace axrun::verify
