// Every kind of stage computes into the memos of the others, on demand: one struct, and one file that is
// longer than others.
#include "verify/error_bound.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/arithmetic.h"
#include "ir/element_access.h"
#include "ir/error.h"
#include "ir/grammar.h"
#include "verify/bound_body.h"
#include "verify/bound_fold.h"
#include "verify/bound_memo.h"
#include "verify/row_major.h"

namespace axrun::verify {
namespace {

using ir::ElementType;
using ir::ScalarOp;
using ir::Shape;
using ir::Stage;
using ir::StageKind;
using ir::TensorId;

constexpr double largest_integer = 9007199254740992.0;  // 2^53

/// What is known of a stage once sizes are.
struct Code {
  const Stage* stage = nullptr;
  Shape axes;
  Shape reduce_axes;
  int64_t reduce_points = 1;
  std::unique_ptr<BoundBody> body;
  std::unique_ptr<BoundBody> combine;  ///< of a tuple: roots are the new tuple, then the identity
};

/// Of a scan.
constexpr int64_t most_steps = int64_t{1} << 16;

}  // namespace

struct ErrorBound::State : ElementSource {
  const ir::Program& program;
  std::vector<ir::Tensor> operands;
  std::map<std::string, ir::Dim> sizes;
  std::vector<Shape> shapes;  ///< by TensorId; only those that outputs depend on
  std::vector<const ir::Tensor*> operand_of;
  std::vector<int> stage_of;  ///< by TensorId
  std::vector<size_t> result_of;
  std::vector<std::unique_ptr<Memo>> memos;
  std::vector<Code> codes;  ///< by stage
  int64_t work = 0;
  int share_of_steps = 1;
  int64_t most_work_of_steps = 0;  ///< 0: no limit
  // In the step of a scan:
  State* around = nullptr;
  std::map<TensorId, TensorId> captured;  ///< what operands are there
  int64_t time = 0;

  /// The step of a scan. Its states have memos, which whoever runs it fills.
  State(State& outer, const Stage& scan)
      : program(*scan.step),
        sizes(outer.sizes),
        shapes(program.tensors.size()),
        operand_of(program.tensors.size(), nullptr),
        stage_of(program.tensors.size(), -1),
        result_of(program.tensors.size(), 0),
        memos(program.tensors.size()),
        codes(program.stages.size()),
        around(&outer) {
    if (outer.around != nullptr) throw NoBound{"a scan within a scan"};
    number_results();
    for (size_t k = 0; k < program.operands.size(); ++k) {
      const TensorId id = program.operands[k];
      if (id == ir::none) continue;
      find_shape(id);
      if (k < scan.captures.size()) {
        captured[id] = scan.captures[k];
      } else {
        memos[static_cast<size_t>(id)] = std::make_unique<Memo>(count_of(shapes[static_cast<size_t>(id)]));
      }
    }
    for (size_t s : needed_stages()) prepare(s);
  }

  State(const ir::Program& p, const std::map<std::string, int64_t>& given,
        const std::vector<ir::Tensor>& tensors)
      : program(p),
        operands(tensors),
        shapes(p.tensors.size()),
        operand_of(p.tensors.size(), nullptr),
        stage_of(p.tensors.size(), -1),
        result_of(p.tensors.size(), 0),
        memos(p.tensors.size()),
        codes(p.stages.size()) {
    for (const auto& [name, value] : given) sizes.emplace(name, ir::Dim(value));
    for (size_t k = 0; k < p.operands.size(); ++k) {
      if (p.operands[k] != ir::none) operand_of[static_cast<size_t>(p.operands[k])] = &operands.at(k);
    }
    number_results();
    for (size_t s : needed_stages()) prepare(s);
  }

  void number_results() {
    for (size_t s = 0; s < program.stages.size(); ++s) {
      for (size_t r = 0; r < program.stages[s].results.size(); ++r) {
        stage_of[static_cast<size_t>(program.stages[s].results[r])] = static_cast<int>(s);
        result_of[static_cast<size_t>(program.stages[s].results[r])] = r;
      }
    }
  }

  int64_t extent(const ir::Dim& dim) const {
    const auto value = dim.substitute(sizes).constant();
    if (!value) throw NoBound{"the size " + dim.to_string() + " is not known"};
    if (*value < 0) throw NoBound{"the size " + dim.to_string() + " is negative"};
    return *value;
  }

  Shape extents(const std::vector<ir::Axis>& axes) const {
    Shape result;
    for (const ir::Axis& axis : axes) result.push_back(extent(axis.extent));
    return result;
  }

  void find_shape(TensorId id) {
    Shape& shape = shapes[static_cast<size_t>(id)];
    shape.clear();
    for (const ir::Dim& dim : program.tensors[static_cast<size_t>(id)].dims) shape.push_back(extent(dim));
    const ir::Tensor* operand = operand_of[static_cast<size_t>(id)];
    if (operand != nullptr && operand->shape() != shape)
      throw NoBound{"the operand " + program.tensors[static_cast<size_t>(id)].name + " has another shape"};
  }

  std::vector<TensorId> loaded_by(const Stage& stage) const {
    std::vector<ir::ExprId> roots = stage.body;
    roots.insert(roots.end(), stage.monoid.combine.begin(), stage.monoid.combine.end());
    std::vector<TensorId> loaded = stage.captures;
    loaded.insert(loaded.end(), stage.initial.begin(), stage.initial.end());
    for (ir::ExprId id : ir::reachable(program, roots)) {
      const ir::Expr& e = program.exprs[static_cast<size_t>(id)];
      if (e.op == ScalarOp::load) loaded.push_back(static_cast<TensorId>(e.integer));
    }
    return loaded;
  }

  /// In order of execution. Finds the shapes of what they read, too.
  std::set<size_t> needed_stages() {
    std::set<size_t> stages;
    std::vector<TensorId> open = program.outputs;
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      find_shape(id);
      const int number = stage_of[static_cast<size_t>(id)];
      if (number < 0 || !stages.insert(static_cast<size_t>(number)).second) continue;
      const Stage& stage = program.stages[static_cast<size_t>(number)];
      if (stage.kind == StageKind::scatter || stage.kind == StageKind::opaque) {
        constexpr std::string_view kinds[] = {"map", "reduce", "scan", "scatter", "opaque"};
        throw NoBound{"the stage " + stage.name + " is a " +
                      std::string(kinds[static_cast<size_t>(stage.kind)])};
      }
      for (TensorId result : stage.results) find_shape(result);
      for (TensorId loaded : loaded_by(stage)) open.push_back(loaded);
    }
    return stages;
  }

  void prepare(size_t number) {
    const Stage& stage = program.stages[number];
    Code& code = codes[number];
    code.stage = &stage;
    code.axes = extents(stage.axes);
    code.reduce_axes = extents(stage.reduce_axes);
    code.reduce_points = count_of(code.reduce_axes);
    for (TensorId result : stage.results)
      memos[static_cast<size_t>(result)] =
          std::make_unique<Memo>(count_of(shapes[static_cast<size_t>(result)]));
    if (stage.kind == StageKind::scan) return;
    code.body = std::make_unique<BoundBody>(program, stage.body, shapes, sizes);
    if (stage.kind == StageKind::reduce && stage.monoid.kind == ir::Monoid::Kind::tuple) {
      std::vector<ir::ExprId> roots = stage.monoid.combine;
      roots.insert(roots.end(), stage.monoid.identity.begin(), stage.monoid.identity.end());
      code.combine = std::make_unique<BoundBody>(program, roots, shapes, sizes);
    }
  }

  void read(TensorId id, const int64_t* positions, int count, Lanes& lanes) override {
    const auto index = static_cast<size_t>(id);
    if (operand_of[index] != nullptr) return read_operand(*operand_of[index], positions, count, lanes);
    if (const auto outer = captured.find(id); outer != captured.end())
      return around->read(outer->second, positions, count, lanes);
    if (stage_of[index] >= 0) compute(id, positions, count);
    Memo& memo = *memos[index];
    bool certain = true;
    for (int k = 0; k < count; ++k) {
      const int64_t position = std::max<int64_t>(positions[k], 0);
      const bool real = positions[k] >= 0;
      const auto lane = static_cast<size_t>(k);
      lanes.value[lane] = real ? memo.value[position] : 0;
      lanes.low[lane] = real ? memo.low[position] : 0;
      lanes.high[lane] = real ? memo.high[position] : 0;
      certain &= (lanes.low[lane] == lanes.value[lane]) & (lanes.high[lane] == lanes.value[lane]);
    }
    lanes.certain = certain;
  }

  void read_run(TensorId id, int64_t first, int64_t step, int count, Lanes& lanes) override {
    const auto index = static_cast<size_t>(id);
    const ir::Tensor* operand = operand_of[index];
    const auto outer = captured.find(id);
    if (outer != captured.end()) return around->read_run(outer->second, first, step, count, lanes);
    if (operand != nullptr && operand->type() == ElementType::f32) {
      const float* data = operand->as<float>() + first;
      for (int k = 0; k < count; ++k)
        lanes.value[static_cast<size_t>(k)] = static_cast<double>(data[k * step]);
      lanes.certain = true;
      return;
    }
    if (operand != nullptr || (stage_of[index] >= 0 && !is_known(*memos[index], first, step, count))) {
      std::array<int64_t, most_lanes> positions;
      for (int k = 0; k < count; ++k) positions[static_cast<size_t>(k)] = first + k * step;
      return read(id, positions.data(), count, lanes);
    }
    Memo& memo = *memos[index];
    int64_t uncertain = 0;
    for (int k = 0; k < count; ++k) {
      const int64_t position = first + k * step;
      const auto lane = static_cast<size_t>(k);
      const double value = memo.value[position], low = memo.low[position], high = memo.high[position];
      lanes.value[lane] = value;
      lanes.low[lane] = low;
      lanes.high[lane] = high;
      uncertain |= (low == value ? 0 : 1) | (high == value ? 0 : 1);
    }
    lanes.certain = uncertain == 0;
  }

  static bool is_known(Memo& memo, int64_t first, int64_t step, int count) {
    for (int k = 0; k < count; ++k) {
      if (memo.known[first + k * step] != Memo::done) return false;
    }
    return true;
  }

  static void read_operand(const ir::Tensor& tensor, const int64_t* positions, int count, Lanes& lanes) {
    lanes.certain = true;
    if (tensor.type() == ElementType::f32) {
      const auto* data = tensor.as<float>();
      for (int k = 0; k < count; ++k)
        lanes.value[static_cast<size_t>(k)] = positions[k] < 0 ? 0 : static_cast<double>(data[positions[k]]);
      return;
    }
    ir::visit_element(tensor.type(), [&]<typename Row>(Row) {
      for (int k = 0; k < count; ++k) {
        const auto lane = static_cast<size_t>(k);
        if (positions[k] < 0) {
          lanes.value[lane] = 0;
          continue;
        }
        lanes.value[lane] = Row::to_real(ir::load_element<typename Row::Stored>(tensor.data(), positions[k]));
        if (!ir::is_float(tensor.type()) && std::fabs(lanes.value[lane]) > largest_integer)
          throw NoBound{"integers beyond 2^53 are not followed"};
      }
    });
  }

  /// Computes what is missing of a stage's result at these positions (negative ones do not count).
  void compute(TensorId id, const int64_t* positions, int64_t count) {
    Memo& memo = *memos[static_cast<size_t>(id)];
    std::vector<int64_t> missing;
    for (int64_t k = 0; k < count; ++k) {
      if (positions[k] < 0 || memo.known[positions[k]] != Memo::unknown) continue;
      memo.known[positions[k]] = Memo::wanted;
      missing.push_back(positions[k]);
    }
    if (missing.empty()) return;
    Code& code = codes[static_cast<size_t>(stage_of[static_cast<size_t>(id)])];
    if (code.stage->kind == StageKind::scan) {
      scan(*code.stage);
    } else if (code.stage->kind == StageKind::map) {
      map(code, missing);
    } else if (code.combine) {
      reduce_tuple(code, missing);
    } else {
      reduce(code, missing);
    }
  }

  void keep(const Stage& stage, size_t result, int64_t position, Interval interval) {
    const auto id = static_cast<size_t>(stage.results[result]);
    const ElementType type = program.tensors[id].type;
    // Results in a narrower type are rounded once more, unless a fused loop keeps them as they are.
    if (ir::is_float(type) && type != ElementType::f32 && type != ElementType::f64)
      interval = rounded(type, interval);
    Memo& memo = *memos[id];
    memo.value[position] = interval.value;
    memo.low[position] = interval.low;
    memo.high[position] = interval.high;
    memo.known[position] = Memo::done;
  }

  /// Sets the coordinates, along the axes from `begin` on, of `count` consecutive points.
  static void set_consecutive_axes(BoundBody& body, size_t begin, const Shape& extents, int64_t first,
                                   int count) {
    int64_t stride = 1;
    for (size_t d = extents.size(); d-- > 0; stride *= extents[d]) {
      Lanes* lanes = body.axis(begin + d);
      if (lanes == nullptr) continue;
      lanes->uniform = false;
      lanes->certain = true;
      int64_t coordinate = first / stride % extents[d];
      int64_t left = stride - first % stride;
      lanes->consecutive = stride == 1 && coordinate + count <= extents[d];
      for (int k = 0; k < count;) {
        const int end = static_cast<int>(std::min<int64_t>(count, k + left));
        std::fill(lanes->value.begin() + k, lanes->value.begin() + end, static_cast<double>(coordinate));
        k = end;
        left = stride;
        if (++coordinate == extents[d]) coordinate = 0;
      }
    }
  }

  /// The same for any points, each for `repeat` lanes.
  static void set_axes(BoundBody& body, size_t begin, const Shape& extents, const int64_t* positions,
                       int points, int repeat = 1) {
    if (repeat == 1 && positions[points - 1] - positions[0] == points - 1 &&
        std::is_sorted(positions, positions + points))
      return set_consecutive_axes(body, begin, extents, positions[0], points);
    Shape point(extents.size());
    std::vector<double*> to(extents.size(), nullptr);
    for (size_t d = 0; d < extents.size(); ++d) {
      Lanes* lanes = body.axis(begin + d);
      if (lanes == nullptr) continue;
      lanes->uniform = false;
      lanes->certain = true;
      lanes->consecutive = false;
      to[d] = lanes->value.data();
    }
    for (int k = 0; k < points; ++k) {
      if (k > 0 && positions[k] == positions[k - 1] + 1) {
        advance(extents, point);
      } else {
        decode(positions[k], extents, point);
      }
      for (size_t d = 0; d < extents.size(); ++d) {
        if (to[d] != nullptr) std::fill_n(to[d] + k * repeat, repeat, static_cast<double>(point[d]));
      }
    }
  }

  /// One point for all lanes.
  static void set_uniform_axes(BoundBody& body, size_t begin, const Shape& extents, int64_t position) {
    Shape point(extents.size());
    decode(position, extents, point);
    for (size_t d = 0; d < extents.size(); ++d) {
      if (Lanes* lanes = body.axis(begin + d))
        lanes->set_uniform(Interval::exactly(static_cast<double>(point[d])));
    }
  }

  /// All elements of a tensor.
  void copy_all(TensorId from, Memo& to, int64_t offset) {
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

  /// What the last step computed counts no more.
  void forget() {
    for (size_t id = 0; id < memos.size(); ++id) {
      if (!memos[id] || stage_of[id] < 0) continue;
      for (int64_t k = count_of(shapes[id]); k-- > 0;) memos[id]->known[k] = Memo::unknown;
    }
  }

  void scan(const Stage& stage) {
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
      if (t >= least && most_work_of_steps > 0 && work - before + inner.work > most_work_of_steps)
        followed = t;
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

  void run(BoundBody& body, int count) {
    if (Lanes* lanes = body.time()) lanes->set_uniform(Interval::exactly(static_cast<double>(time)));
    body.run(count, *this);
    work += body.operations() * count;
  }

  void map(Code& code, const std::vector<int64_t>& points) {
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

  /// Lanes are reduce points; short reductions of several points share a block.
  void reduce(Code& code, const std::vector<int64_t>& points) {
    const Stage& stage = *code.stage;
    const ElementType type = program.exprs[static_cast<size_t>(stage.body[0])].type;
    Fold fold(stage.monoid.kind, type);
    const size_t reduce_begin = code.axes.size();
    if (code.reduce_points >= most_lanes || code.reduce_points == 0) {
      for (int64_t point : points) {
        fold.start();
        set_uniform_axes(*code.body, 0, code.axes, point);
        for (int64_t first = 0; first < code.reduce_points; first += most_lanes) {
          const int count = static_cast<int>(std::min<int64_t>(most_lanes, code.reduce_points - first));
          set_consecutive_axes(*code.body, reduce_begin, code.reduce_axes, first, count);
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

  /// Lanes are points; the reduction goes on one reduce point after another.
  void reduce_tuple(Code& code, const std::vector<int64_t>& points) {
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
          if (ir::is_float(program.exprs[static_cast<size_t>(stage.body[c])].type) &&
              !interval.is_certain()) {
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
};

ErrorBound::ErrorBound(const ir::Program& program, const std::map<std::string, int64_t>& sizes,
                       const std::vector<ir::Tensor>& operands)
    : state_(std::make_unique<State>(program, sizes, operands)) {}
ErrorBound::~ErrorBound() = default;

void ErrorBound::follow_share_of_steps(int share, int64_t most_work) {
  state_->share_of_steps = share;
  state_->most_work_of_steps = most_work;
}

const ir::Shape& ErrorBound::output_shape(size_t output) const {
  return state_->shapes[static_cast<size_t>(state_->program.outputs.at(output))];
}

std::vector<Interval> ErrorBound::at(size_t output, std::span<const int64_t> positions) {
  const TensorId id = state_->program.outputs.at(output);
  std::vector<Interval> intervals;
  intervals.reserve(positions.size());
  Lanes lanes;
  lanes.uniform = false;
  if (state_->operand_of[static_cast<size_t>(id)] == nullptr)
    state_->compute(id, positions.data(), static_cast<int64_t>(positions.size()));
  for (size_t first = 0; first < positions.size(); first += most_lanes) {
    const int count = static_cast<int>(std::min<size_t>(most_lanes, positions.size() - first));
    state_->read(id, positions.data() + first, count, lanes);
    for (int k = 0; k < count; ++k) intervals.push_back(lanes.at(k));
  }
  return intervals;
}

int64_t ErrorBound::work() const { return state_->work; }

}  // namespace axrun::verify
