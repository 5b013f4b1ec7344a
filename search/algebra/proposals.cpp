#include "search/algebra/proposals.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "search/algebra/affine_form.h"

namespace axrun::search::algebra {
namespace {

class Propagation {
 public:
  Propagation(Terms& terms, TermId root, TermId producer, size_t most)
      : terms_(terms), root_(root), producer_(producer), most_(most), facts_(terms[root].facts) {
    for (const TermId id : reached_from(terms, {root})) {
      known_dims_.insert_or_assign(ir::to_string(terms[id].facts.dims), terms[id].facts.dims);
      if (terms[id].operation >= 0) movers_ = movers_ || is_index_map(terms.operation(terms[id].operation));
      if (terms.is(id, "Transpose")) turned_ = true;
      if (terms.is(id, "Reshape")) reshaped_ = true;
    }
  }

  std::vector<TermId> run() {
    const Term& consumer = terms_[root_];
    leave_out();
    if (producer_ == root_) offer(affine_form(terms_, root_).whole);
    if (producer_ != root_) {
      for (size_t slot = 0; slot < consumer.children.size(); ++slot) {
        if (consumer.children[slot] != producer_) continue;
        past(slot);
        to_another_argument(slot);
      }
    }
    together();
    into_an_operand();
    std::stable_sort(found_.begin(), found_.end(), [&](TermId a, TermId b) {
      return operations_in(terms_, {a}) < operations_in(terms_, {b});
    });
    return std::move(found_);
  }

 private:
  void offer(TermId id) {
    if (id == no_term || id == root_ || found_.size() >= most_ || !seen_.insert(id).second) return;
    const Facts& facts = terms_[id].facts;
    if (facts.type == facts_.type && facts.dims == facts_.dims) found_.push_back(id);
  }

  /// The operation of `like` on other arguments: along any axis, in any order of the dims.
  std::vector<TermId> again(TermId like, const std::vector<TermId>& arguments) {
    const Term& term = terms_[like];
    const Operation operation = terms_.operation(term.operation);
    std::vector<TermId> made;
    const auto add = [&](TermId id) {
      ++made_;
      if (id != no_term && std::find(made.begin(), made.end(), id) == made.end()) made.push_back(id);
    };
    if (made_ > most_made || std::find(arguments.begin(), arguments.end(), no_term) != arguments.end())
      return made;
    add(terms_.make(term.operation, term.parameters, arguments));
    const ir::Dims dims = terms_[arguments[0]].facts.dims;
    const auto rank = static_cast<int64_t>(dims.size());
    if (operation.name == "Transpose") {
      for (const auto& permutation : permutations(rank)) add(terms_.transpose(arguments[0], permutation));
    } else if (operation.name == "Reshape") {
      for (const auto& [text, target] : known_dims_) add(terms_.reshape(arguments[0], target));
      if (const auto target = regrouped(terms_[term.children[0]].facts.dims, term.facts.dims, dims))
        add(terms_.reshape(arguments[0], *target));
    } else if (operation.name == "Expand") {
      for (const auto& [text, target] : known_dims_) {
        const int id = term.operation;
        add(terms_.make(id, {target}, arguments));
      }
    } else if (operation.name == "Slice" && term.parameters.size() == 3) {
      // Each range along any axis.
      for (int64_t axis = 0; axis < rank && term.parameters[2].size() == 1; ++axis)
        add(terms_.make(term.operation, {term.parameters[0], term.parameters[1], {ir::Dim(axis)}},
                        arguments));
    } else if (operation.attributes.count("axis") != 0) {
      for (int64_t axis = 0; axis <= rank; ++axis) {
        Operation other = operation;
        other.attributes["axis"].integer = axis;
        add(terms_.make(terms_.operation(other), term.parameters, arguments));
      }
    } else if (operation.attributes.count("axes") != 0 &&
               operation.attributes.at("axes").integers.size() == 1) {
      for (int64_t axis = 0; axis < rank; ++axis) {
        Operation other = operation;
        other.attributes["axes"].integers = {axis};
        add(terms_.make(terms_.operation(other), term.parameters, arguments));
      }
    }
    return made;
  }

  /// The first dims of `dims` in other groups, as `from` became `to`, where these have their last dims in
  /// common.
  static std::optional<ir::Dims> regrouped(const ir::Dims& from, const ir::Dims& to, const ir::Dims& dims) {
    size_t last = 0;
    while (last < from.size() && last < to.size() && from[from.size() - 1 - last] == to[to.size() - 1 - last])
      ++last;
    const size_t first = from.size() - last;
    if (last == 0 || first == 0 || dims.size() < first ||
        !std::equal(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(first), dims.begin()))
      return std::nullopt;
    ir::Dims target(to.begin(), to.end() - static_cast<std::ptrdiff_t>(last));
    target.insert(target.end(), dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end());
    return target;
  }

  static std::vector<std::vector<int64_t>> permutations(int64_t rank) {
    std::vector<std::vector<int64_t>> list;
    if (rank < 2 || rank > 4) return list;
    std::vector<int64_t> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    while (std::next_permutation(order.begin(), order.end())) list.push_back(order);
    return list;
  }

  /// An argument with its dims at other places.
  std::vector<TermId> placed(TermId id) {
    std::vector<TermId> list{id};
    const auto add = [&](TermId other) {
      if (other != no_term && std::find(list.begin(), list.end(), other) == list.end()) list.push_back(other);
    };
    const Facts facts = terms_[id].facts;
    ir::Dims large;
    for (const ir::Dim& dim : facts.dims)
      if (dim != ir::Dim(1)) large.push_back(dim);
    if (large.size() <= 1) {
      ir::Dims dims = large;
      add(terms_.reshape(id, dims));
      for (size_t ones = 0; ones < 3 && !large.empty(); ++ones) {
        dims.emplace_back(1);
        add(terms_.reshape(id, dims));
      }
    }
    if (turned_)
      for (const auto& permutation : permutations(static_cast<int64_t>(facts.dims.size())))
        add(terms_.transpose(id, permutation));
    if (reshaped_) {
      for (const auto& [text, target] : known_dims_) {
        // All of it, or its last dims with as many elements.
        for (size_t first = 0; first < target.size(); ++first) {
          const ir::Dims part(target.begin() + static_cast<std::ptrdiff_t>(first), target.end());
          if (ir::product(part) == ir::product(facts.dims)) add(terms_.reshape(id, part));
        }
      }
    }
    if (movers_) {
      for (const TermId like : {root_, producer_}) {
        if (!is_index_map(terms_.operation(terms_[like].operation)) || terms_[like].children.size() != 1)
          continue;
        for (const TermId moved : again(like, {id})) add(moved);
      }
    }
    return list;
  }

  /// Every choice of one of each list.
  void choices(const std::vector<std::vector<TermId>>& lists,
               const std::function<void(const std::vector<TermId>&)>& use) {
    std::vector<TermId> chosen;
    const auto next = [&](const auto& self) -> void {
      if (steps_ > 3000 || found_.size() >= most_) return;
      if (chosen.size() == lists.size()) {
        ++steps_;
        return use(chosen);
      }
      for (const TermId id : lists[chosen.size()]) {
        chosen.push_back(id);
        self(self);
        chosen.pop_back();
      }
    };
    steps_ = 0;
    next(next);
  }

  /// The root's operation with its argument `slot` replaced, the others placed anyhow.
  std::vector<TermId> clones(size_t slot, TermId argument) {
    std::vector<std::vector<TermId>> lists;
    const std::vector<TermId> children = terms_[root_].children;
    for (size_t k = 0; k < children.size(); ++k)
      lists.push_back(k == slot ? std::vector<TermId>{argument} : placed(children[k]));
    std::vector<TermId> made;
    choices(lists, [&](const std::vector<TermId>& arguments) {
      for (const TermId id : again(root_, arguments))
        if (std::find(made.begin(), made.end(), id) == made.end() && made.size() < 64) made.push_back(id);
    });
    return made;
  }

  /// Leaves, and one operation on leaves.
  void leave_out() {
    const std::vector<TermId> leaves = leaves_of(terms_, {root_});
    for (const TermId leaf : leaves) {
      for (const TermId id : placed(leaf)) offer(id);
      for (const TermId like : {root_, producer_}) {
        if (terms_[like].children.size() != 1) continue;
        for (const TermId id : again(like, {leaf})) offer(id);
      }
    }
    if (producer_ == root_) return;
    const std::vector<TermId> outer = terms_[root_].children, inner = terms_[producer_].children;
    for (size_t slot = 0; slot < outer.size(); ++slot) {
      if (outer[slot] != producer_) continue;
      for (const TermId argument : inner)
        for (const TermId id : clones(slot, argument)) offer(id);
    }
    for (const TermId other : outer) {
      if (other == producer_) continue;
      for (size_t k = 0; k < inner.size() && inner.size() > 1; ++k) {
        std::vector<TermId> arguments = inner;
        arguments[k] = other;
        for (const TermId id : again(producer_, arguments)) offer(id);
      }
      // One more argument: a bias.
      for (const TermId last : placed(other)) {
        std::vector<TermId> arguments = inner;
        arguments.push_back(last);
        if (terms_.operation(terms_[producer_].operation).slots.empty())
          for (const TermId id : again(producer_, arguments)) offer(id);
      }
    }
  }

  void past(size_t slot) {
    const std::vector<TermId> inner = terms_[producer_].children, outer = terms_[root_].children;
    std::vector<std::vector<TermId>> lists;
    for (const TermId argument : inner) {
      std::vector<TermId> list{argument};
      for (const TermId clone : clones(slot, argument)) list.push_back(clone);
      lists.push_back(std::move(list));
    }
    const auto use = [&](const std::vector<TermId>& arguments) {
      for (const TermId id : again(producer_, arguments)) offer(id);
      // Where the consumer's other arguments fill what the producer leaves open.
      if (arguments.size() < 2 || !terms_.operation(terms_[producer_].operation).slots.empty()) return;
      for (const TermId other : outer) {
        if (other == producer_) continue;
        for (const TermId last : placed(other)) {
          std::vector<TermId> more = arguments;
          more.push_back(last);
          const Operation operation = terms_.operation(terms_[producer_].operation);
          if (!is_sum_or_product(operation)) offer(terms_.make(terms_[producer_].operation, {}, more));
        }
      }
    };
    choices(lists, use);
    if (lists.size() == 2 && !is_sum_or_product(terms_.operation(terms_[producer_].operation))) {
      std::swap(lists[0], lists[1]);
      choices(lists, use);
    }
  }

  void to_another_argument(size_t slot) {
    const std::vector<TermId> inner = terms_[producer_].children, outer = terms_[root_].children;
    for (size_t stays = 0; stays < inner.size(); ++stays) {
      std::vector<std::vector<TermId>> lists;
      for (size_t k = 0; k < outer.size(); ++k) {
        if (k == slot) {
          lists.push_back({inner[stays]});
          continue;
        }
        std::vector<std::vector<TermId>> arguments;
        for (size_t n = 0; n < inner.size(); ++n)
          arguments.push_back(n == stays ? std::vector<TermId>{outer[k]} : placed(inner[n]));
        std::vector<TermId> list{outer[k]};
        const int steps = steps_;
        choices(arguments, [&](const std::vector<TermId>& chosen) {
          for (const TermId id : again(producer_, chosen))
            if (list.size() < 64) list.push_back(id);
        });
        steps_ = steps;
        lists.push_back(std::move(list));
      }
      choices(lists, [&](const std::vector<TermId>& arguments) {
        for (const TermId id : again(root_, arguments)) offer(id);
      });
    }
  }

  /// All arguments of the root are the producer's operation: one of it, on what the root makes of their
  /// arguments.
  void together() {
    const std::vector<TermId> children = terms_[root_].children;
    if (children.size() < 2 || terms_[producer_].operation < 0) return;
    const size_t count = terms_[producer_].children.size();
    for (const TermId child : children)
      if (terms_[child].operation != terms_[producer_].operation || terms_[child].children.size() != count)
        return;
    const auto join = [&](const std::vector<std::vector<TermId>>& arguments) {
      std::vector<std::vector<TermId>> lists;
      for (size_t p = 0; p < count; ++p) {
        std::vector<TermId> own;
        for (const auto& list : arguments) own.push_back(list[p]);
        std::vector<TermId> list;
        if (std::all_of(own.begin(), own.end(), [&](TermId id) { return id == own[0]; }))
          list.push_back(own[0]);
        for (const TermId id : again(root_, own)) list.push_back(id);
        lists.push_back(std::move(list));
      }
      choices(lists, [&](const std::vector<TermId>& chosen) {
        for (const TermId id : again(producer_, chosen)) offer(id);
      });
    };
    std::vector<std::vector<TermId>> arguments;
    for (const TermId child : children) arguments.push_back(terms_[child].children);
    join(arguments);
    if (children.size() == 2 && count == 2) {
      std::swap(arguments[1][0], arguments[1][1]);
      join(arguments);
    }
  }

  /// The root's other argument reads what the producer reads, too: the producer, on what the root makes of
  /// what they read besides.
  void into_an_operand() {
    const std::vector<TermId> outer = terms_[root_].children;
    if (producer_ == root_ || outer.size() != 2 || outer[0] == outer[1]) return;
    const std::vector<TermId> mine = terms_[producer_].children;
    const std::vector<TermId> theirs = terms_[outer[0] == producer_ ? outer[1] : outer[0]].children;
    if (mine.size() < 2 || theirs.size() < 2) return;
    for (const TermId shared : mine) {
      if (std::find(theirs.begin(), theirs.end(), shared) == theirs.end()) continue;
      for (size_t k = 0; k < mine.size(); ++k) {
        for (const TermId other : theirs) {
          if (mine[k] == shared || other == shared) continue;
          std::vector<TermId> arguments = mine;
          for (const TermId made : again(root_, {mine[k], other})) {
            arguments[k] = made;
            for (const TermId id : again(producer_, arguments)) offer(id);
          }
        }
      }
    }
  }

  Terms& terms_;
  TermId root_, producer_;
  size_t most_;
  Facts facts_;
  std::map<std::string, ir::Dims> known_dims_;
  bool movers_ = false, turned_ = false, reshaped_ = false;
  static constexpr int most_made = 20000;
  int steps_ = 0, made_ = 0;
  std::set<TermId> seen_;
  std::vector<TermId> found_;
};

}  // namespace

std::vector<TermId> propagate(Terms& terms, TermId root, TermId producer, size_t most) {
  return Propagation(terms, root, producer, most).run();
}

}  // namespace axrun::search::algebra
