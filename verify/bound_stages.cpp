#include <algorithm>
#include <array>
#include <numeric>

#include "verify/bound_axes.h"
#include "verify/bound_fold.h"
#include "verify/bound_state.h"
#include "verify/row_major.h"

namespace axrun::verify {

using ir::ElementType;
using ir::Shape;
using ir::Stage;
using ir::TensorId;

namespace {

/// Of a scan.
constexpr int64_t most_steps = int64_t{1} << 16;
/// Shorter reductions share a block of lanes with those of other points. In blocks of their own loads may
/// follow one another in memory, and the rest is the same for all lanes.
constexpr int64_t worth_a_block = 48;

}  // namespace

Interval ErrorBound::State::held(TensorId id, const Interval& interval) const {
  const ElementType type = program.tensors[static_cast<size_t>(id)].type;
  const bool narrow = ir::is_float(type) && type != ElementType::f32 && type != ElementType::f64;
  return narrow ? rounded(type, interval) : interval;
}

void ErrorBound::State::keep(const Stage& stage, size_t result, int64_t position, Interval interval) {
  const auto id = static_cast<size_t>(stage.results[result]);
  interval = held(stage.results[result], interval);
  Memo& memo = *memos[id];
  memo.value[position] = interval.value;
  memo.low[position] = interval.low;
  memo.high[position] = interval.high;
  memo.known[position] = Memo::done;
}

void ErrorBound::State::copy_all(TensorId from, Memo& to, int64_t offset) {
  const int64_t count = count_of(shapes[static_cast<size_t>(from)]);
  Lanes lanes;
  lanes.uniform = false;
  std::array<int64_t, most_lanes> positions{};
  for (int64_t first = 0; first < count; first += most_lanes) {
    const int here = static_cast<int>(std::min<int64_t>(most_lanes, count - first));
    std::iota(positions.begin(), positions.begin() + here, first);
    read(from, positions.data(), here, lanes);
    for (int k = 0; k < here; ++k) {
      const Interval interval = lanes.at(k);
      const int64_t position = offset + first + k;
      to.value[position] = interval.value;
      to.low[position] = interval.low;
      to.high[position] = interval.high;
      to.known[position] = Memo::done;
    }
  }
}

void ErrorBound::State::forget() {
  for (size_t id = 0; id < memos.size(); ++id) {
    if (!memos[id] || stage_of[id] < 0) continue;
    for (int64_t k = count_of(shapes[id]); k-- > 0;) memos[id]->known[k] = Memo::unknown;
  }
}

void ErrorBound::State::scan(const Stage& stage) {
  const int64_t length = extent(stage.length);
  if (length > most_steps) throw NoBound{"a scan is too long"};
  State inner(*this, stage);
  const size_t states = stage.initial.size();
  const std::vector<TensorId>& operands_there = inner.program.operands;
  std::vector<std::unique_ptr<Memo>> current;
  for (const TensorId id : stage.initial) {
    current.push_back(std::make_unique<Memo>(count_of(shapes[static_cast<size_t>(id)])));
    copy_all(id, *current.back(), 0);
  }
  const auto memo_of = [&](size_t result) -> Memo& {
    return *memos[static_cast<size_t>(stage.results[result])];
  };
  constexpr int64_t least = 4;
  int64_t followed = std::min(length, std::max(least, (length + share_of_steps - 1) / share_of_steps));
  const int64_t before = work;
  for (int64_t t = 0; t < followed; ++t) {
    if (t >= least && most_work_of_steps > 0 && work - before + inner.work > most_work_of_steps) followed = t;
    if (t == followed) break;
    inner.time = t;
    inner.forget();
    for (size_t k = 0; k < states; ++k) {
      const TensorId id = operands_there[stage.captures.size() + k];
      if (id != ir::none) std::swap(inner.memos[static_cast<size_t>(id)], current[k]);
    }
    for (size_t r = 0; r < stage.results.size(); ++r) {
      const TensorId id = inner.program.outputs[r];
      const int64_t count = count_of(inner.shapes[static_cast<size_t>(id)]);
      if (r < states) current[r] = std::make_unique<Memo>(count);
      inner.copy_all(id, r < states ? *current[r] : memo_of(r), r < states ? 0 : t * count);
    }
  }
  for (size_t k = 0; k < states; ++k) memos[static_cast<size_t>(stage.results[k])] = std::move(current[k]);
  for (size_t r = 0; r < stage.results.size(); ++r) {
    const int64_t count = count_of(shapes[static_cast<size_t>(stage.results[r])]);
    const int64_t unknown =
        r < states ? (followed < length ? 0 : count) : count / std::max<int64_t>(length, 1) * followed;
    for (int64_t p = 0; p < count; ++p) {
      memo_of(r).known[p] = Memo::done;
      if (p < unknown) continue;
      memo_of(r).value[p] = 0;
      memo_of(r).low[p] = Interval::anything(0).low;
      memo_of(r).high[p] = Interval::anything(0).high;
    }
  }
  work += inner.work;
}

void ErrorBound::State::run(BoundBody& body, int count) {
  if (Lanes* lanes = body.time()) lanes->set_uniform(Interval::exactly(static_cast<double>(time)));
  body.run(count, *this);
  work += body.operations() * count;
}

void ErrorBound::State::map(BoundCode& code, const std::vector<int64_t>& points) {
  for (size_t first = 0; first < points.size(); first += most_lanes) {
    const int count = static_cast<int>(std::min<size_t>(most_lanes, points.size() - first));
    set_axes(*code.body, 0, code.axes, points.data() + first, count);
    run(*code.body, count);
    for (size_t r = 0; r < code.stage->results.size(); ++r) {
      for (int k = 0; k < count; ++k)
        keep(*code.stage, r, points[first + static_cast<size_t>(k)], code.body->root(r).at(k));
    }
  }
}

void ErrorBound::State::map_into(BoundCode& code, const int64_t* positions, int count, Lanes& lanes) {
  const int64_t before = work;
  std::array<int64_t, most_lanes> points{};
  for (int k = 0; k < count; ++k) points[static_cast<size_t>(k)] = std::max<int64_t>(positions[k], 0);
  set_axes(*code.body, 0, code.axes, points.data(), count);
  run(*code.body, count);
  lanes.uniform = false;
  for (int k = 0; k < count; ++k) {
    lanes.put(
        k, positions[k] < 0 ? Interval::exactly(0) : held(code.stage->results[0], code.body->root(0).at(k)));
  }
  lanes.finish(count);
  work = before;
}

void ErrorBound::State::reduce(BoundCode& code, const std::vector<int64_t>& points) {
  const Stage& stage = *code.stage;
  const ElementType type = program.exprs[static_cast<size_t>(stage.body[0])].type;
  Fold fold(stage.monoid.kind, type);
  const size_t reduce_begin = code.axes.size();
  if (code.reduce_points >= worth_a_block || code.reduce_points == 0) {
    const bool single = code.reduce_points > 0 && code.reduce_points <= most_lanes;
    if (single) {
      const int count = static_cast<int>(code.reduce_points);
      set_consecutive_axes(*code.body, reduce_begin, code.reduce_axes, 0, count);
    }
    for (int64_t point : points) {
      fold.start();
      set_uniform_axes(*code.body, 0, code.axes, point);
      for (int64_t first = 0; first < code.reduce_points; first += most_lanes) {
        const int count = static_cast<int>(std::min<int64_t>(most_lanes, code.reduce_points - first));
        if (!single) set_consecutive_axes(*code.body, reduce_begin, code.reduce_axes, first, count);
        run(*code.body, count);
        fold.add(code.body->root(0), 0, count);
      }
      keep(stage, 0, point, fold.result());
    }
    return;
  }
  const int length = static_cast<int>(code.reduce_points);
  const size_t together = static_cast<size_t>(most_lanes / length);
  // The reduce points repeat with period `length`; consecutive positions do so by themselves.
  set_consecutive_axes(*code.body, reduce_begin, code.reduce_axes, 0, static_cast<int>(together) * length);
  for (size_t first = 0; first < points.size(); first += together) {
    const size_t here = std::min(together, points.size() - first);
    const int count = static_cast<int>(here) * length;
    set_axes(*code.body, 0, code.axes, points.data() + first, static_cast<int>(here), length);
    run(*code.body, count);
    for (size_t p = 0; p < here; ++p) {
      fold.start();
      fold.add(code.body->root(0), static_cast<int>(p) * length, length);
      keep(stage, 0, points[first + p], fold.result());
    }
  }
}

void ErrorBound::State::reduce_tuple(BoundCode& code, const std::vector<int64_t>& points) {
  const Stage& stage = *code.stage;
  const size_t components = stage.body.size();
  std::vector<Lanes> state(components);
  for (size_t first = 0; first < points.size(); first += most_lanes) {
    const int count = static_cast<int>(std::min<size_t>(most_lanes, points.size() - first));
    for (size_t k = 0; k < 2 * components; ++k) {
      if (Lanes* parameter = code.combine->parameter(k)) parameter->set_uniform(Interval::exactly(0));
    }
    run(*code.combine, 1);
    for (size_t c = 0; c < components; ++c) state[c] = code.combine->root(components + c);
    set_axes(*code.body, 0, code.axes, points.data() + first, count);
    for (int64_t r = 0; r < code.reduce_points; ++r) {
      set_uniform_axes(*code.body, code.axes.size(), code.reduce_axes, r);
      run(*code.body, count);
      for (size_t c = 0; c < components; ++c) {
        if (Lanes* left = code.combine->parameter(c)) *left = state[c];
        if (Lanes* right = code.combine->parameter(components + c)) *right = code.body->root(c);
      }
      run(*code.combine, count);
      for (size_t c = 0; c < components; ++c) state[c] = code.combine->root(c);
    }
    for (size_t c = 0; c < components; ++c) {
      for (int k = 0; k < count; ++k) {
        Interval interval = state[c].at(k);
        if (ir::is_float(program.exprs[static_cast<size_t>(stage.body[c])].type) && !interval.is_certain()) {
          interval.low -= interval.value - interval.low;
          interval.high += interval.high - interval.value;
          if (std::isnan(interval.low) || std::isnan(interval.high))
            interval = Interval::anything(interval.value);
        }
        keep(stage, c, points[first + static_cast<size_t>(k)], interval);
      }
    }
  }
}

}  // namespace axrun::verify
