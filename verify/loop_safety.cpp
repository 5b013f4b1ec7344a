#include "verify/loop_safety.h"

#include <algorithm>

#include "verify/accesses.h"
#include "verify/checks.h"
#include "verify/last_writes.h"
#include "verify/loop_values.h"
#include "verify/unproved.h"

namespace axrun::verify {

using ir::loop::Loop;
using ir::loop::Role;

int prove_extents(const LoopNest& nest, Solver& solver) {
  Terms& terms = nest.terms();
  int proved = 0;
  for (const LoopNest::LoopPlace& place : nest.loop_places()) {
    TermList values;
    const std::vector<const Loop*> outer(place.loops.begin(), place.loops.end() - 1);
    nest.extend(outer, values);
    const Term extent = term_of(terms, place.loops.back()->extent, nest.names(outer, values));
    const TermList facts = with(nest.size_facts(), nest.domain(outer, values, 0));
    if (!solver.implied(facts, terms.at_least(extent, terms.integer(0))) && checks::on("loops.extent"))
      throw Unproved{"the extent of loop " + place.loops.back()->variable + " may be negative"};
    ++proved;
  }
  const auto sized = [&](int buffer, const std::vector<const Loop*>& loops) {
    TermList values;
    nest.extend(loops, values);
    const TermList facts = with(nest.size_facts(), nest.domain(loops, values, 0));
    for (const Term extent : nest.extents(buffer, loops, values)) {
      if (!solver.implied(facts, terms.at_least(extent, terms.integer(0))) && checks::on("loops.buffer_size"))
        throw Unproved{"the size of " + nest.buffer(buffer).name + " may be negative"};
    }
    ++proved;
  };
  for (size_t id = 0; id < nest.program().buffers.size(); ++id) {
    if (nest.program().buffers[id].role != Role::scratch) sized(static_cast<int>(id), {});
  }
  for (const LoopNest::AllocationPlace& place : nest.allocation_places()) sized(place.buffer, place.loops);
  return proved;
}

namespace {

Term all_inside(Terms& terms, const TermList& indices, const TermList& extents) {
  TermList inside;
  for (size_t d = 0; d < indices.size(); ++d) {
    inside.push_back(terms.at_least(indices[d], terms.integer(0)));
    inside.push_back(terms.less(indices[d], extents[d]));
  }
  return terms.all(inside);
}

/// An index may be looked up before the loops are entered that it does not depend on.
void prove_lookup(const LoopNest& nest, Solver& solver, const ir::loop::Lookup& lookup, const Instance& at) {
  std::vector<std::string> names;
  for (const ir::Dim& index : lookup.indices) index.collect_symbols(names);
  std::vector<const Loop*> loops = nest.leaf(at.leaf).loops;
  const auto named = [&](const Loop* loop) {
    return std::find(names.begin(), names.end(), loop->variable) != names.end();
  };
  while (!loops.empty() && !named(loops.back())) loops.pop_back();
  const TermList values(at.values.begin(), at.values.begin() + static_cast<std::ptrdiff_t>(loops.size()));
  const TermList indices = terms_of(nest.terms(), lookup.indices, nest.names(loops, values));
  const TermList extents = nest.extents(lookup.buffer, loops, values);
  if (!solver.implied(with(nest.size_facts(), nest.domain(loops, values, 0)),
                      all_inside(nest.terms(), indices, extents)) &&
      checks::on("loops.lookup_bounds")) {
    throw Unproved{"an index of " + nest.buffer(lookup.buffer).name + ", looked up by " +
                   nest.describe(at.leaf) + ", may be out of bounds"};
  }
}

}  // namespace

int prove_bounds(const LoopNest& nest, Solver& solver) {
  Terms& terms = nest.terms();
  int proved = 0;
  for (size_t leaf = 0; leaf < nest.leaves().size(); ++leaf) {
    const Instance at = nest.any_instance(static_cast<int>(leaf));
    const TermList facts = with(nest.size_facts(), nest.domain(at));
    for (const Touch& touch : touches(nest, at)) {
      TermList extents = nest.extents(touch.access->buffer, nest.leaf(at.leaf).loops, at.values);
      TermList indices = nest.indices(*touch.access, at);
      // What is looked up is inside, or the program has ended.
      const std::vector<ir::loop::Lookup>& lookups = touch.access->lookups;
      for (auto lookup = lookups.rbegin(); lookup != lookups.rend(); ++lookup) {
        prove_lookup(nest, solver, *lookup, at);
        extents.erase(extents.begin() + lookup->dimension);
        indices.erase(indices.begin() + lookup->dimension);
      }
      if (!solver.implied(with(facts, touch.guards), all_inside(terms, indices, extents)) &&
          checks::on("loops.bounds")) {
        throw Unproved{"an index of " + nest.buffer(touch.access->buffer).name + " in " +
                       nest.describe(at.leaf) + " may be out of bounds"};
      }
      ++proved;
    }
  }
  return proved;
}

int prove_divisors(const LoopNest& nest, Solver& solver) {
  Terms& terms = nest.terms();
  int proved = 0;
  for (size_t leaf = 0; leaf < nest.leaves().size(); ++leaf) {
    const Instance at = nest.any_instance(static_cast<int>(leaf));
    for (const int id : integer_divisors(nest, at.leaf)) {
      const ir::loop::Value& divisor = nest.program().values[static_cast<size_t>(id)];
      auto term = index_value(nest, id, at);
      if (divisor.op == ir::ScalarOp::integer) term = terms.integer(divisor.integer);
      const TermList facts = with(nest.size_facts(), nest.domain(at));
      const bool divides =
          term && solver.implied(facts, terms.negation(terms.equal(*term, terms.integer(0))));
      if (!divides && checks::on("loops.divisor"))
        throw Unproved{nest.describe(at.leaf) + " may divide an integer by 0"};
      ++proved;
    }
  }
  return proved;
}

int prove_written(const LoopNest& nest, Solver& solver) {
  int proved = 0;
  for (size_t leaf = 0; leaf < nest.leaves().size(); ++leaf) {
    const Instance at = nest.any_instance(static_cast<int>(leaf));
    const TermList facts = with(nest.size_facts(), nest.domain(at));
    for (const Touch& touch : touches(nest, at)) {
      if (touch.writes || nest.buffer(touch.access->buffer).role == Role::input) continue;
      const TermList indices = nest.indices(*touch.access, at);
      if (!surely_written(nest, solver, with(facts, touch.guards), at, touch.access->buffer, indices) &&
          checks::on("loops.written")) {
        throw Unproved{nest.describe(at.leaf) + " may read an element of " +
                       nest.buffer(touch.access->buffer).name + " that has not been written"};
      }
      ++proved;
    }
  }
  return proved;
}

int prove_inverses(const LoopNest& nest, Solver& solver) {
  Terms& terms = nest.terms();
  int proved = 0;
  for (size_t leaf = 0; leaf < nest.leaves().size(); ++leaf) {
    const ir::loop::Mapping& mapping = nest.leaf(static_cast<int>(leaf)).compute->mapping;
    if (mapping.stage.empty()) continue;
    const Instance at = nest.any_instance(static_cast<int>(leaf));
    Names coordinates;
    for (const Term coordinate : terms_of(terms, mapping.point, nest.names(at)))
      coordinates["x" + std::to_string(coordinates.size())] = coordinate;
    Names names = nest.sizes();  // a size that has the name of a coordinate comes first
    names.insert(coordinates.begin(), coordinates.end());
    const TermList back = terms_of(terms, mapping.inverse, names);
    const TermList facts = with(nest.size_facts(), nest.domain(at));
    if (!solver.implied(facts, terms.same(back, at.values)) && checks::on("loops.inverse"))
      throw Unproved{"the inverse of " + nest.describe(at.leaf) + " does not give its loops back"};
    ++proved;
  }
  return proved;
}

}  // namespace axrun::verify
