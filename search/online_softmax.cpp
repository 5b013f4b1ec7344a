#include "search/online_softmax.h"

#include <algorithm>
#include <limits>

#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;
using ir::Stage;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;
using Member = RowsForm::Member;

namespace {

class OnlineSoftmaxFinder {
 public:
  explicit OnlineSoftmaxFinder(const Program& program) : program_(program) {}

  SoftmaxForm run(const RowsForm& rows) {
    const std::vector<Member>& members = rows.members;
    if (members.size() != 4) return {};
    const Member &maximum = members[0], &power = members[1], &total = members[2], &share = members[3];
    const auto is_reduction = [&](const Member& member, ir::Monoid::Kind kind) {
      return member.stage->kind == ir::StageKind::reduce && member.stage->monoid.kind == kind;
    };
    for (const Member& member : members) {
      if (member.columns.size() != 1 || type_of(member) != ElementType::f32) return {};
    }
    if (!is_reduction(maximum, ir::Monoid::Kind::max) || !is_reduction(total, ir::Monoid::Kind::sum) ||
        power.stage->kind != ir::StageKind::map || share.stage->kind != ir::StageKind::map)
      return {};
    const Expr& exponential = body(power);
    if (exponential.op != ScalarOp::exp) return {};
    const Expr& difference = at(exponential.args[0]);
    const bool stable = difference.op == ScalarOp::sub &&
                        same(difference.args[0], power, maximum.stage->body[0], maximum) &&
                        reads(difference.args[1], maximum, power);
    if (!stable || !reads(total.stage->body[0], power, total)) return {};
    // A quotient, or a product with the reciprocal.
    const Expr& quotient = body(share);
    if (quotient.args[0] == ir::none || !reads(quotient.args[0], power, share)) return {};
    bool divided = quotient.op == ScalarOp::div && reads(quotient.args[1], total, share);
    if (quotient.op == ScalarOp::mul) {
      const Expr& inverse = at(quotient.args[1]);
      divided = inverse.op == ScalarOp::div && at(inverse.args[0]).op == ScalarOp::real &&
                at(inverse.args[0]).real == 1 && reads(inverse.args[1], total, share);
    }
    if (!divided) return {};
    return {true, &maximum, &power, &total};
  }

 private:
  const Expr& at(ExprId id) const { return program_.exprs[static_cast<size_t>(id)]; }
  const Expr& body(const Member& member) const { return at(member.stage->body[0]); }
  ElementType type_of(const Member& member) const {
    return program_.tensors[static_cast<size_t>(member.stage->results[0])].type;
  }

  /// Whether an expression of `reader` is the element of another member at the same row and column. Its row
  /// is the same: that is what makes them rows.
  bool reads(ExprId id, const Member& member, const Member& reader) const {
    const Expr& load = at(id);
    if (load.op != ScalarOp::load || load.integer != member.stage->results[0] || load.args[0] != ir::none)
      return false;
    if (member.stage->kind == ir::StageKind::reduce) return true;
    if (member.stage->groups.size() != member.stage->axes.size()) return false;
    const Expr& index = at(load.indices[static_cast<size_t>(member.columns[0])]);
    return index.op == ScalarOp::axis && index.integer == reader.columns[0];
  }

  /// The same value at the same row and column.
  bool same(ExprId a, const Member& mine, ExprId b, const Member& theirs) const {
    const Expr &x = at(a), &y = at(b);
    if (x.op != y.op || x.type != y.type || x.indices.size() != y.indices.size() || x.dim != y.dim)
      return false;
    if (x.op == ScalarOp::axis)
      return place(static_cast<int>(x.integer), mine) == place(static_cast<int>(y.integer), theirs);
    const bool same_real = x.real == y.real || (x.real != x.real && y.real != y.real);
    if (x.integer != y.integer || !same_real) return false;
    for (size_t k = 0; k < x.args.size(); ++k) {
      if ((x.args[k] == ir::none) != (y.args[k] == ir::none)) return false;
      if (x.args[k] != ir::none && !same(x.args[k], mine, y.args[k], theirs)) return false;
    }
    for (size_t k = 0; k < x.indices.size(); ++k) {
      if (!same(x.indices[k], mine, y.indices[k], theirs)) return false;
    }
    return true;
  }
  /// An axis of a member as the number of the row's axis, or -1: the column.
  static int place(int axis, const Member& member) {
    const auto row = std::find(member.rows.begin(), member.rows.end(), axis);
    return row == member.rows.end() ? -1 : static_cast<int>(row - member.rows.begin());
  }

  const Program& program_;
};

}  // namespace

SoftmaxForm find_softmax(const Program& program, const RowsForm& rows) {
  return OnlineSoftmaxFinder(program).run(rows);
}

OnlineSoftmax::OnlineSoftmax(PieceContext& context, const RowsForm& form, const SoftmaxForm& softmax,
                             const Dim& rows, Dim here)
    : context_(context),
      form_(form),
      softmax_(softmax),
      w_(context.writer),
      rows_(rows),
      here_(std::move(here)) {}

Dims OnlineSoftmax::point_of(const Member& member, const Dim& row, const Dim& column) const {
  Dims point(member.stage->axes.size() + member.stage->reduce_axes.size(), Dim(0));
  for (size_t g = 0; g < member.rows.size(); ++g) {
    const AxisPart part = part_of(context_, *form_.members.front().stage, form_.members.front().rows[g]);
    point[static_cast<size_t>(member.rows[g])] = part.first;
  }
  point[static_cast<size_t>(member.rows.back())] = point[static_cast<size_t>(member.rows.back())] + row;
  point[static_cast<size_t>(member.columns[0])] = column;
  return point;
}

int OnlineSoftmax::at_least_one(const Dim& row) {
  return w_.operation(ScalarOp::max, ElementType::f32, {of_row(total_, row), w_.real(1)});
}

void OnlineSoftmax::start() {
  maximum_ = w_.allocate("maximum", ElementType::f32, {rows_}, Level::cache);
  total_ = w_.allocate("total", ElementType::f32, {rows_}, Level::cache);
  rescaling_ = w_.allocate("rescaling", ElementType::f32, {rows_}, Level::cache);
  w_.loop(LoopKind::sequential, "r", here_, [&](const Dim& row) {
    w_.store({maximum_, {row}}, Combine::assign, w_.real(std::numeric_limits<float>::lowest()));
    w_.store({total_, {row}}, Combine::assign, w_.real(0));
  });
}

void OnlineSoftmax::part(const AxisPart& columns, int64_t lanes, const Place& probability) {
  const ElementType type = ElementType::f32;
  const Stage& maximum = *softmax_.maximum->stage;
  const bool whole = columns.has_whole_tiles(lanes, context_.facts);
  const auto value = [&](const char* name) { return w_.allocate(name, type, {}, Level::registers); };
  w_.loop(LoopKind::sequential, "r", here_, [&](const Dim& row) {
    const auto for_columns = [&](const std::function<void(const Dim& lane, const Dim& column)>& body) {
      w_.loop(LoopKind::sequential, "c", columns.tiles(lanes, context_.facts), [&](const Dim& c) {
        const Dim here = whole ? Dim(lanes) : min(Dim(lanes), columns.rest - Dim(lanes) * c);
        w_.loop(LoopKind::vector, "v", here,
                [&](const Dim& v) { body(v, columns.first + Dim(lanes) * c + v); });
      });
    };
    const auto partial = [&](const char* name, double start) {
      const int buffer = w_.allocate(name, type, {Dim(lanes)}, Level::registers);
      w_.loop(LoopKind::vector, "z", Dim(lanes), [&](const Dim& z) {
        w_.store({buffer, {z}}, Combine::assign, w_.real(start));
      });
      return buffer;
    };
    const auto fold = [&](int from, int to, Combine combine) {
      w_.loop(LoopKind::vector, "z", Dim(lanes), [&](const Dim& z) {
        w_.store({to, {row}}, combine, w_.load({from, {z}}));
      });
    };

    const int old = value("old");
    w_.store({old, {}}, Combine::assign, of_row(maximum_, row));
    const int highest = partial("highest", -std::numeric_limits<double>::infinity());
    for_columns([&](const Dim& lane, const Dim& column) {
      const Dims point = point_of(*softmax_.maximum, row, column);
      w_.store({highest, {lane}}, Combine::max, context_.values.value(maximum.body[0], point), maximum.name,
               point);
    });
    fold(highest, maximum_, Combine::max);
    const int top = value("top");
    w_.store({top, {}}, Combine::assign, of_row(maximum_, row));

    const int shrunk = value("shrunk"), before = value("before");
    const int difference = w_.operation(ScalarOp::sub, type, {w_.load({old, {}}), w_.load({top, {}})});
    w_.store({shrunk, {}}, Combine::assign, w_.operation(ScalarOp::exp, type, {difference}));
    w_.store({before, {}}, Combine::assign, w_.mul(at_least_one(row), w_.load({shrunk, {}})));
    w_.store({total_, {row}}, Combine::mul, w_.load({shrunk, {}}));
    const int sum = partial("sum", 0);
    context_.values.read_at(maximum.results[0], [top](const Dims&) { return Access{top, {}}; });
    for_columns([&](const Dim& lane, const Dim& column) {
      const Dims point = point_of(*softmax_.power, row, column);
      const Access place = probability(row, column);
      w_.store(place, Combine::assign, context_.values.value(softmax_.power->stage->body[0], point));
      w_.store({sum, {lane}}, Combine::add, w_.load(place), softmax_.total->stage->name,
               point_of(*softmax_.total, row, column));
    });
    fold(sum, total_, Combine::add);

    const int inverse = value("inverse");
    w_.store({inverse, {}}, Combine::assign,
             w_.operation(ScalarOp::div, type, {w_.real(1), at_least_one(row)}));
    w_.store({rescaling_, {row}}, Combine::assign, w_.mul(w_.load({before, {}}), w_.load({inverse, {}})));
    for_columns([&](const Dim&, const Dim& column) {
      w_.store(probability(row, column), Combine::mul, w_.load({inverse, {}}));
    });
  });
}

int OnlineSoftmax::rescaling(const Dim& row) { return of_row(rescaling_, row); }

int OnlineSoftmax::correction(const Dim& row) {
  return w_.operation(ScalarOp::div, ElementType::f32, {at_least_one(row), of_row(total_, row)});
}

}  // namespace axrun::search
