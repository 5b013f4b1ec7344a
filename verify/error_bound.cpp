#include "verify/error_bound.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/element_access.h"
#include "ir/error.h"
#include "ir/grammar.h"
#include "verify/bound_state.h"
#include "verify/row_major.h"

namespace axrun::verify {

using ir::ElementType;
using ir::ScalarOp;
using ir::Shape;
using ir::Stage;
using ir::StageKind;
using ir::TensorId;

namespace {}  // namespace

ErrorBound::State::State(State& outer, const Stage& scan)
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

ErrorBound::State::State(const ir::Program& p, const std::map<std::string, int64_t>& given,
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

void ErrorBound::State::number_results() {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    for (size_t r = 0; r < program.stages[s].results.size(); ++r) {
      stage_of[static_cast<size_t>(program.stages[s].results[r])] = static_cast<int>(s);
      result_of[static_cast<size_t>(program.stages[s].results[r])] = r;
    }
  }
}

int64_t ErrorBound::State::extent(const ir::Dim& dim) const {
  const auto value = dim.substitute(sizes).constant();
  if (!value) throw NoBound{"the size " + dim.to_string() + " is not known"};
  if (*value < 0) throw NoBound{"the size " + dim.to_string() + " is negative"};
  return *value;
}

Shape ErrorBound::State::extents(const std::vector<ir::Axis>& axes) const {
  Shape result;
  for (const ir::Axis& axis : axes) result.push_back(extent(axis.extent));
  return result;
}

void ErrorBound::State::find_shape(TensorId id) {
  Shape& shape = shapes[static_cast<size_t>(id)];
  shape.clear();
  for (const ir::Dim& dim : program.tensors[static_cast<size_t>(id)].dims) shape.push_back(extent(dim));
  const ir::Tensor* operand = operand_of[static_cast<size_t>(id)];
  if (operand != nullptr && operand->shape() != shape)
    throw NoBound{"the operand " + program.tensors[static_cast<size_t>(id)].name + " has another shape"};
}

std::vector<TensorId> ErrorBound::State::loaded_by(const Stage& stage) const {
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

std::set<size_t> ErrorBound::State::needed_stages() {
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

void ErrorBound::State::prepare(size_t number) {
  const Stage& stage = program.stages[number];
  BoundCode& code = codes[number];
  code.stage = &stage;
  code.axes = extents(stage.axes);
  code.reduce_axes = extents(stage.reduce_axes);
  code.reduce_points = count_of(code.reduce_axes);
  for (TensorId result : stage.results)
    memos[static_cast<size_t>(result)] =
        std::make_unique<Memo>(count_of(shapes[static_cast<size_t>(result)]));
  if (stage.kind == StageKind::scan) return;
  code.body = std::make_unique<BoundBody>(program, stage.body, shapes, sizes);
  code.transient = is_transient(code);
  if (stage.kind == StageKind::reduce && stage.monoid.kind == ir::Monoid::Kind::tuple) {
    std::vector<ir::ExprId> roots = stage.monoid.combine;
    roots.insert(roots.end(), stage.monoid.identity.begin(), stage.monoid.identity.end());
    code.combine = std::make_unique<BoundBody>(program, roots, shapes, sizes);
  }
}

bool ErrorBound::State::is_transient(const BoundCode& code) const {
  constexpr int64_t most_operations = 8;
  const Stage& stage = *code.stage;
  if (stage.kind != StageKind::map || stage.results.size() != 1 || code.body->operations() > most_operations)
    return false;
  const TensorId result = stage.results[0];
  if (!Memo::Numbers::is_large(count_of(shapes[static_cast<size_t>(result)]))) return false;
  if (std::count(program.outputs.begin(), program.outputs.end(), result) != 0) return false;
  const std::vector<TensorId> loaded = loaded_by(stage);
  return std::all_of(loaded.begin(), loaded.end(),
                     [&](TensorId id) { return operand_of[static_cast<size_t>(id)] != nullptr; });
}

void ErrorBound::State::read(TensorId id, const int64_t* positions, int count, Lanes& lanes) {
  const auto index = static_cast<size_t>(id);
  if (operand_of[index] != nullptr) return read_operand(*operand_of[index], positions, count, lanes);
  if (const auto outer = captured.find(id); outer != captured.end())
    return around->read(outer->second, positions, count, lanes);
  if (stage_of[index] >= 0) {
    BoundCode& code = codes[static_cast<size_t>(stage_of[index])];
    if (code.transient) return map_into(code, positions, count, lanes);
    compute(id, positions, count);
  }
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

void ErrorBound::State::read_run(TensorId id, int64_t first, int64_t step, int count, Lanes& lanes) {
  const auto index = static_cast<size_t>(id);
  const ir::Tensor* operand = operand_of[index];
  const auto outer = captured.find(id);
  if (outer != captured.end()) return around->read_run(outer->second, first, step, count, lanes);
  if (operand != nullptr && operand->type() == ElementType::f32) {
    const float* __restrict data = operand->as<float>() + first;
    double* __restrict value = lanes.value.data();
    lanes.certain = true;
    if (step == 1) {
      for (int k = 0; k < count; ++k) value[k] = static_cast<double>(data[k]);
      return;
    }
    for (int k = 0; k < count; ++k) lanes.value[static_cast<size_t>(k)] = static_cast<double>(data[k * step]);
    return;
  }
  const bool transient = stage_of[index] >= 0 && codes[static_cast<size_t>(stage_of[index])].transient;
  if (operand != nullptr || transient ||
      (stage_of[index] >= 0 && !is_known(*memos[index], first, step, count))) {
    std::array<int64_t, most_lanes> positions;
    for (int k = 0; k < count; ++k) positions[static_cast<size_t>(k)] = first + k * step;
    return read(id, positions.data(), count, lanes);
  }
  Memo& memo = *memos[index];
  int64_t uncertain = 0;
  const double* values = memo.value.run(first);
  const double *lows = memo.low.run(first), *highs = memo.high.run(first);
  if (step == 1 && values != nullptr) {
    double* __restrict value = lanes.value.data();
    double* __restrict low = lanes.low.data();
    double* __restrict high = lanes.high.data();
    for (int k = 0; k < count; ++k) {
      value[k] = values[k];
      low[k] = lows[k];
      high[k] = highs[k];
      uncertain |= (lows[k] == values[k] ? 0 : 1) | (highs[k] == values[k] ? 0 : 1);
    }
    lanes.certain = uncertain == 0;
    return;
  }
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

bool ErrorBound::State::is_known(Memo& memo, int64_t first, int64_t step, int count) {
  if (const uint8_t* states = memo.known.run(first); step == 1 && states != nullptr)
    return std::all_of(states, states + count, [](uint8_t state) { return state == Memo::done; });
  for (int k = 0; k < count; ++k) {
    if (memo.known[first + k * step] != Memo::done) return false;
  }
  return true;
}

void ErrorBound::State::read_operand(const ir::Tensor& tensor, const int64_t* positions, int count,
                                     Lanes& lanes) {
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

void ErrorBound::State::compute(TensorId id, const int64_t* positions, int64_t count) {
  Memo& memo = *memos[static_cast<size_t>(id)];
  std::vector<int64_t> missing;
  for (int64_t k = 0; k < count; ++k) {
    if (positions[k] < 0 || memo.known[positions[k]] != Memo::unknown) continue;
    memo.known[positions[k]] = Memo::wanted;
    missing.push_back(positions[k]);
  }
  if (missing.empty()) return;
  BoundCode& code = codes[static_cast<size_t>(stage_of[static_cast<size_t>(id)])];
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
