#include "verify/program_values.h"

#include <algorithm>

#include "verify/checks.h"
#include "verify/loop_values.h"
#include "verify/rescaling.h"
#include "verify/unproved.h"

namespace axrun::verify {

using ir::Monoid;
using ir::ScalarOp;
using ir::loop::Combine;

namespace {

Monoid::Kind monoid_of(Combine combine) {
  constexpr Monoid::Kind kinds[] = {Monoid::Kind::sum, Monoid::Kind::product, Monoid::Kind::min,
                                    Monoid::Kind::max};
  return kinds[static_cast<size_t>(combine) - 1];
}

ValueHead two_cases(Terms& terms, Term condition, Symbolic* then, Symbolic* otherwise) {
  ValueHead head;
  head.kind = ValueHead::Kind::cases;
  head.terms = {condition, terms.negation(condition)};
  head.arguments = {then, otherwise};
  return head;
}

}  // namespace

/// What an assignment and the contributions after it leave in an element.
class ProgramValues::Held final : public Symbolic {
 public:
  Held(ProgramValues& values, Content content, Instance reader)
      : values_(values), content_(std::move(content)), reader_(std::move(reader)) {}

 private:
  const ir::loop::Compute& statement(const Instance& at) const {
    return *values_.nest_.leaf(at.leaf).compute;
  }

  ValueHead unfold(const TermList& facts) override {
    Symbolic* held = values_.value(statement(content_.assigned).value, content_.assigned);
    const auto& list = content_.contributions;
    const auto other_kind = [&](const Contribution& c) {
      return statement(c.at).combine != statement(list.front().at).combine;
    };
    if (!content_.in_order && std::any_of(list.begin(), list.end(), other_kind)) return rescaled(facts, held);
    for (size_t begin = 0; begin < list.size();) {
      const Combine combine = statement(list[begin].at).combine;
      size_t end = begin;
      while (end < list.size() && statement(list[end].at).combine == combine) ++end;
      held = combined(facts, held, combine, begin, end);
      begin = end;
    }
    return *held->head(facts);
  }

  /// Contributions [begin, end), all of one kind.
  Symbolic* combined(const TermList& facts, Symbolic* before, Combine combine, size_t begin, size_t end) {
    const Terms& terms = values_.nest_.terms();
    const bool zero = is_identity(terms, *before->head(facts), Monoid::Kind::sum);
    if (zero && combine == Combine::mul) return before;
    ValueHead head;
    head.type = values_.nest_.buffer(statement(content_.assigned).target.buffer).type;
    bool once = true;
    for (size_t k = begin; k < end; ++k) {
      const Contribution& c = content_.contributions[k];
      once =
          once && c.variables.empty() && values_.solver_.implied(facts, values_.nest_.terms().all(c.domain));
    }
    const bool neutral = is_identity(terms, *before->head(facts), monoid_of(combine));
    if (once) {
      if (neutral) before = contribution(begin++);
      for (size_t k = begin; k < end; ++k) {
        head.op = operation_of(monoid_of(combine));
        head.arguments = {before, contribution(k)};
        before = values_.keep(std::make_unique<Unfolded>(head));
      }
      return before;
    }
    head.kind = ValueHead::Kind::reduction;
    head.monoid = monoid_of(combine);
    if (!neutral) head.parts.push_back({{}, {}, {}, before, {}});
    for (size_t k = begin; k < end; ++k) head.parts.push_back(part(content_.contributions[k]));
    return values_.keep(std::make_unique<Unfolded>(std::move(head)));
  }

  ValueHead rescaled(const TermList& facts, Symbolic* before) {
    const LoopNest& nest = values_.nest_;
    if (!is_identity(nest.terms(), *before->head(facts), Monoid::Kind::sum) && checks::on("rescaled.start"))
      throw Unproved{"what is multiplied and added to again and again does not start at 0"};
    const RescaledLoop loop = rescaled_loop(nest, values_.solver_, facts, reader_, content_.contributions);
    ValueHead head;
    head.kind = ValueHead::Kind::rescaled;
    head.type = nest.buffer(statement(content_.assigned).target.buffer).type;
    for (const Contribution& c : loop.added) head.parts.push_back(part(c));
    if (values_.solver_.implied(facts, nest.terms().at_least(nest.terms().integer(0), loop.last))) {
      // Only 0 is rescaled.
      head.kind = ValueHead::Kind::reduction;
      head.monoid = Monoid::Kind::sum;
      return head;
    }
    const auto factor = [this, loop](Term time) {
      Instance at = loop.factor.at;
      const std::map<Term, Term> moved = {{at.values[loop.depth], time}};
      for (Term& value : at.values) value = values_.nest_.terms().substitute(value, moved);
      return values_.value(statement(at).value, at);
    };
    head.rescaling = std::make_shared<const Rescaling>(Rescaling{loop.times, loop.last, factor});
    return head;
  }

  Symbolic* contribution(size_t k) {
    const Contribution& c = content_.contributions[k];
    return values_.value(statement(c.at).value, c.at);
  }

  Part part(const Contribution& c) {
    const LoopNest& nest = values_.nest_;
    const auto& loops = nest.leaf(c.at.leaf).loops;
    Part part{c.variables, {}, c.domain, values_.value(statement(c.at).value, c.at), {}};
    for (const Term variable : c.variables) {
      for (size_t k = 0; k < loops.size(); ++k) {
        if (c.at.values[k] == variable) part.steps.push_back(loops[k]->step);
      }
    }
    const ir::loop::Mapping& mapping = statement(c.at).mapping;
    part.claim = {mapping.stage, terms_of(nest.terms(), mapping.point, nest.names(c.at))};
    return part;
  }

  ProgramValues& values_;
  Content content_;
  Instance reader_;
};

/// A read, without a guard.
class ProgramValues::Read final : public Symbolic {
 public:
  Read(ProgramValues& values, int buffer, TermList element, Instance reader)
      : values_(values), buffer_(buffer), element_(std::move(element)), reader_(std::move(reader)) {}

 private:
  ValueHead unfold(const TermList& facts) override {
    const ir::loop::Buffer& buffer = values_.nest_.buffer(buffer_);
    ValueHead head;
    head.type = buffer.type;
    if (buffer.role == ir::loop::Role::input) {
      head.kind = ValueHead::Kind::input;
      head.input = buffer_;  // inputs come first among the buffers, or `prove` has refused the program
      head.terms = element_;
      return head;
    }
    std::vector<Content> contents;
    try {
      contents = written(facts);
    } catch (const Unproved& unproved) {
      // Perhaps an earlier iteration wrote it, and nothing else did: then the value does not depend on the
      // reader, who has only to come later.
      try {
        only_writes(values_.nest_, values_.solver_, facts, reader_, buffer_, element_);
      } catch (const Unproved&) {
        throw unproved;
      }
      head.kind = ValueHead::Kind::carried;
      head.terms = element_;
      head.recurrence = values_.recurrence(buffer_);
      return head;
    }
    head = values_.cases_of(std::move(contents), reader_);
    if (head.arguments.size() == 1) return *head.arguments[0]->head(facts);
    return head;
  }

  std::vector<Content> written(const TermList& facts) {
    try {
      return last_writes(values_.nest_, values_.solver_, facts, reader_, buffer_, element_);
    } catch (const Unproved& unproved) {
      try {
        return {writes_so_far(values_.nest_, values_.solver_, facts, reader_, buffer_, element_)};
      } catch (const Unproved&) {
        throw unproved;
      }
    }
  }

  ProgramValues& values_;
  int buffer_;
  TermList element_;
  Instance reader_;
};

/// What the only assignment to an element of a buffer leaves there.
class ProgramValues::Once final : public Symbolic {
 public:
  Once(ProgramValues& values, int buffer, TermList element)
      : values_(values), buffer_(buffer), element_(std::move(element)) {}

 private:
  ValueHead unfold(const TermList& facts) override {
    const Instance end;
    ValueHead head =
        values_.cases_of(only_writes(values_.nest_, values_.solver_, facts, end, buffer_, element_), end);
    if (head.arguments.size() == 1) return *head.arguments[0]->head(facts);
    return head;
  }

  ProgramValues& values_;
  int buffer_;
  TermList element_;
};

class ProgramValues::Evaluated final : public Symbolic {
 public:
  Evaluated(ProgramValues& values, int id, Instance at) : values_(values), id_(id), at_(std::move(at)) {}

 private:
  ValueHead unfold(const TermList& facts) override {
    const LoopNest& nest = values_.nest_;
    Terms& terms = nest.terms();
    const ir::loop::Value& v = nest.program().values[static_cast<size_t>(id_)];
    const auto argument = [&](int k) { return values_.value(v.args[static_cast<size_t>(k)], at_); };
    if (v.op == ScalarOp::real) return real_head(v.type, v.real);
    if (const auto term = index_value(nest, id_, at_)) {
      ValueHead head = integer_head(v.type, *term);
      if (terms.is_boolean(*term)) head.kind = ValueHead::Kind::condition;
      return head;
    }
    if (v.op == ScalarOp::integer) return integer_head(v.type, terms.integer(v.integer));
    if (v.op == ScalarOp::load) {
      Symbolic* read = values_.element(v.access.buffer, nest.indices(v.access, at_), at_);
      if (v.args[0] == ir::none) return *read->head(facts);
      const auto guard = index_value(nest, v.args[0], at_);
      if (!guard) throw Unproved{"a read is guarded by data"};
      return two_cases(terms, *guard, read, argument(1));
    }
    if (v.op == ScalarOp::select) {
      if (const auto condition = index_value(nest, v.args[0], at_))
        return two_cases(terms, *condition, argument(1), argument(2));
    }
    if (v.op == ScalarOp::cast || v.op == ScalarOp::cast_saturate) {
      const ir::ElementType from = nest.program().values[static_cast<size_t>(v.args[0])].type;
      return cast_head(terms, v.op, v.type, from, argument(0), facts);
    }
    ValueHead head;
    head.op = v.op;
    head.type = v.type;
    for (int k = 0; k < 3 && v.args[static_cast<size_t>(k)] != ir::none; ++k)
      head.arguments.push_back(argument(k));
    return head;
  }

  ProgramValues& values_;
  int id_;
  Instance at_;
};

/// Where several conditions hold, the first counts.
ValueHead ProgramValues::cases_of(std::vector<Content> contents, const Instance& reader) {
  Terms& terms = nest_.terms();
  ValueHead head;
  head.kind = ValueHead::Kind::cases;
  TermList none_before;
  for (Content& content : contents) {
    const Term condition = terms.all(content.condition);
    head.type = nest_.buffer(nest_.leaf(content.assigned.leaf).compute->target.buffer).type;
    head.terms.push_back(terms.all(with(none_before, condition)));
    none_before.push_back(terms.negation(condition));
    head.arguments.push_back(keep(std::make_unique<Held>(*this, std::move(content), reader)));
  }
  return head;
}

std::shared_ptr<const Recurrence> ProgramValues::recurrence(int buffer) {
  std::shared_ptr<const Recurrence>& known = recurrences_[buffer];
  if (known) return known;
  Recurrence made;
  made.number = buffer;
  made.extents = nest_.extents(buffer, {}, {});
  made.at = [this, buffer](const TermList& element) {
    return keep(std::make_unique<Once>(*this, buffer, element));
  };
  return known = std::make_shared<const Recurrence>(std::move(made));
}

Symbolic* ProgramValues::keep(std::unique_ptr<Symbolic> made) {
  kept_.push_back(std::move(made));
  return kept_.back().get();
}

Symbolic* ProgramValues::value(int id, const Instance& at) {
  Symbolic*& known = values_[{id, at.leaf, at.values}];
  if (known == nullptr) known = keep(std::make_unique<Evaluated>(*this, id, at));
  return known;
}

Symbolic* ProgramValues::element(int buffer, const TermList& element, const Instance& reader) {
  return keep(std::make_unique<Read>(*this, buffer, element, reader));
}

}  // namespace axrun::verify
