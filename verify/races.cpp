#include "verify/accesses.h"
#include "verify/checks.h"
#include "verify/loop_safety.h"
#include "verify/unproved.h"

namespace axrun::verify {
namespace {

/// One statement in an iteration of a parallel loop, with what it touches.
struct Side {
  Instance at;
  TermList domain;  ///< from the parallel loop on
  std::vector<Touch> touches;
};

Side side(const LoopNest& nest, int leaf, const TermList& outer) {
  Side made{{leaf, outer}, {}, {}};
  nest.extend(nest.leaf(leaf).loops, made.at.values);
  made.domain = nest.domain(made.at, outer.size());
  made.touches = touches(nest, made.at);
  return made;
}

/// Both combine into their targets in the same way: the order makes no difference over the reals.
bool same_reduction(const LoopNest& nest, const Side& x, const Touch& p, const Side& y, const Touch& q) {
  const ir::loop::Compute &a = *nest.leaf(x.at.leaf).compute, &b = *nest.leaf(y.at.leaf).compute;
  return a.combine == b.combine && a.combine != ir::loop::Combine::assign && p.access == &a.target &&
         q.access == &b.target;
}

}  // namespace

int prove_no_races(const LoopNest& nest, Solver& solver, ir::loop::LoopKind kind) {
  const bool lanes = kind == ir::loop::LoopKind::vector;
  Terms& terms = nest.terms();
  int proved = 0;
  for (const LoopNest::LoopPlace& place : nest.loop_places()) {
    if (place.loops.back()->kind != kind) continue;
    const std::vector<const ir::loop::Loop*> around(place.loops.begin(), place.loops.end() - 1);
    TermList outer;
    nest.extend(around, outer);
    const TermList facts = with(nest.size_facts(), nest.domain(around, outer, 0));
    const size_t depth = around.size();
    for (int a = place.first_leaf; a < place.last_leaf; ++a) {
      for (int b = place.first_leaf; b <= a; ++b) {
        const Side x = side(nest, a, outer), y = side(nest, b, outer);
        for (const Touch& p : x.touches) {
          for (const Touch& q : y.touches) {
            const int buffer = p.access->buffer;
            if (buffer != q.access->buffer || (!p.writes && !q.writes)) continue;
            if (nest.scope(buffer) > depth) continue;  // made within an iteration
            if (lanes && same_reduction(nest, x, p, y, q)) continue;
            TermList clash = with(with(facts, x.domain), y.domain);
            append(clash, p.guards);
            append(clash, q.guards);
            clash.push_back(terms.same(nest.indices(*p.access, x.at), nest.indices(*q.access, y.at)));
            // In both orders: the statements differ.
            for (const bool swapped : {false, true}) {
              if (swapped && a == b && p.writes == q.writes) continue;
              if (swapped && !checks::on("loops.race_in_other_order")) continue;
              const Term t = x.at.values[depth], u = y.at.values[depth];
              const Term order = swapped ? terms.less(u, t) : terms.less(t, u);
              const bool asked = lanes ? checks::on("loops.vector_race") : checks::on("loops.parallel_race");
              if (!solver.impossible(with(clash, order)) && asked) {
                throw Unproved{std::string(lanes ? "lanes" : "iterations") + " of the " +
                               (lanes ? "vector" : "parallel") + " loop " + place.loops.back()->variable +
                               " may touch the same element of " + nest.buffer(buffer).name};
              }
              ++proved;
            }
          }
        }
      }
    }
  }
  return proved;
}

}  // namespace axrun::verify
