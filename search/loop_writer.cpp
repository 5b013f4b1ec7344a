#include "search/loop_writer.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "ir/error.h"
#include "ir/types.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::ScalarOp;
using namespace ir::loop;

LoopWriter::LoopWriter(std::string name, std::vector<Size> sizes) {
  program_.name = std::move(name);
  program_.sizes = std::move(sizes);
  for (const Size& size : program_.sizes) names_.insert(size.name);
  blocks_.push_back(&program_.body);
}

std::string LoopWriter::unused(const std::string& name) const {
  const auto taken = [&](const std::string& word) {
    const auto same = [&](const Around& loop) { return loop.variable == word; };
    return names_.count(word) != 0 || std::any_of(around_.begin(), around_.end(), same);
  };
  std::string word = name;
  for (int k = 2; taken(word); ++k) word = name + "_" + std::to_string(k);
  return word;
}

int LoopWriter::declare(const std::string& name, Role role, ElementType type, const Dims& dims) {
  Buffer buffer;
  buffer.name = unused(name);
  buffer.type = type;
  buffer.dims = dims;
  buffer.role = role;
  names_.insert(buffer.name);
  program_.buffers.push_back(std::move(buffer));
  return static_cast<int>(program_.buffers.size()) - 1;
}

int LoopWriter::allocate(const std::string& name, ElementType type, const Dims& dims, Level level) {
  const int id = declare(name, Role::scratch, type, dims);
  program_.buffers.back().level = level;
  blocks_.back()->emplace_back(std::in_place_type<Allocate>, id);
  return id;
}

int LoopWriter::view(Buffer as, Place place) {
  views_.push_back({std::move(as), std::move(place)});
  return first_view + static_cast<int>(views_.size()) - 1;
}

/// Looked up indices stand behind those that the view adds.
Access LoopWriter::resolved(const Access& access) const {
  if (access.buffer < first_view) return access;
  Access real = views_[static_cast<size_t>(access.buffer - first_view)].place(access.indices);
  const auto added = static_cast<int>(real.indices.size()) - static_cast<int>(access.indices.size());
  real.lookups = access.lookups;
  for (ir::loop::Lookup& lookup : real.lookups) lookup.dimension += added;
  return resolved(real);
}

void LoopWriter::loop(LoopKind kind, const std::string& name, const Dim& extent, const Body& body) {
  if (extent == Dim(1)) return body(Dim(0));
  const std::string variable = unused(name);
  Loop made;
  made.kind = kind;
  made.variable = variable;
  made.extent = extent;
  around_.push_back({variable, extent});
  blocks_.push_back(&made.body);
  body(Dim::symbol(variable));
  blocks_.pop_back();
  around_.pop_back();
  blocks_.back()->emplace_back(std::in_place_type<Loop>, std::move(made));
}

void LoopWriter::at_beginning(const std::function<void()>& body) {
  std::vector<Around> around;
  std::vector<Block*> blocks = {&beginning_};
  Dims time;
  std::swap(around, around_);
  std::swap(blocks, blocks_);
  std::swap(time, time_);
  body();
  std::swap(around, around_);
  std::swap(blocks, blocks_);
  std::swap(time, time_);
}

void LoopWriter::at_time(const Dim& time, const std::function<void()>& body) {
  time_ = {time};
  body();
  time_.clear();
}

/// A variable with coefficient c, in a coordinate where the next larger coefficient is d, is x mod d / c: the
/// smaller terms add up to less than c, and it and the smaller ones to less than d. Variables that earlier
/// coordinates tell are what these say.
Dims LoopWriter::inverse_of(const Dims& point) const {
  std::map<std::string, Dim> known;
  for (const Around& loop : around_) known[loop.variable] = Dim(0);
  struct Term {
    size_t loop;
    int64_t coefficient;
  };
  std::vector<std::optional<Dim>> inverse(around_.size());
  for (size_t c = 0; c < point.size(); ++c) {
    const Dim base = point[c].substitute(known);
    std::vector<Term> terms;
    for (size_t k = 0; k < around_.size(); ++k) {
      if (inverse[k]) continue;
      std::map<std::string, Dim> there = known;
      there[around_[k].variable] = Dim(1);
      const Dim coefficient = point[c].substitute(there) - base;
      if (coefficient == Dim(0)) continue;
      AXRUN_ASSERT(coefficient.is_constant());
      terms.push_back({k, coefficient.value()});
    }
    std::stable_sort(terms.begin(), terms.end(),
                     [](const Term& a, const Term& b) { return a.coefficient > b.coefficient; });
    const Dim coordinate = Dim::symbol("x" + std::to_string(c)) - base;
    for (size_t t = 0; t < terms.size(); ++t) {
      const Dim rest = t == 0 ? coordinate : floor_mod(coordinate, Dim(terms[t - 1].coefficient));
      inverse[terms[t].loop] = floor_div(rest, Dim(terms[t].coefficient));
    }
    for (const Term& term : terms) known[around_[term.loop].variable] = *inverse[term.loop];
  }
  Dims result;
  for (const auto& variable : inverse) result.push_back(variable.value_or(Dim(0)));
  return result;
}

void LoopWriter::store(const Access& target, Combine combine, int value, const std::string& stage,
                       const Dims& point) {
  Compute compute;
  compute.target = resolved(target);
  compute.combine = combine;
  compute.value = value;
  Dims place = time_;
  place.insert(place.end(), point.begin(), point.end());
  if (!stage.empty()) compute.mapping = {stage, place, inverse_of(place)};
  blocks_.back()->emplace_back(std::in_place_type<Compute>, std::move(compute));
}

int LoopWriter::intern(Value value) {
  const auto same = [&](const Value& other) {
    return other.op == value.op && other.type == value.type && other.args == value.args &&
           other.integer == value.integer &&
           std::bit_cast<uint64_t>(other.real) == std::bit_cast<uint64_t>(value.real) &&
           other.index == value.index && other.access.buffer == value.access.buffer &&
           other.access.indices == value.access.indices && other.access.lookups == value.access.lookups;
  };
  const auto found = std::find_if(program_.values.begin(), program_.values.end(), same);
  if (found != program_.values.end()) return static_cast<int>(found - program_.values.begin());
  program_.values.push_back(std::move(value));
  return static_cast<int>(program_.values.size()) - 1;
}

int LoopWriter::real(double value, ElementType type) {
  Value v;
  v.op = ScalarOp::real;
  v.type = type;
  v.real = ir::round_to(type, value);
  return intern(v);
}

int LoopWriter::integer(int64_t value, ElementType type) {
  Value v;
  v.op = ScalarOp::integer;
  v.type = type;
  v.integer = value;
  return intern(v);
}

int LoopWriter::index(const Dim& dim) {
  if (dim.is_constant()) return integer(dim.value(), ElementType::i64);
  Value v;
  v.op = ScalarOp::extent;
  v.index = dim;
  return intern(v);
}

int LoopWriter::load(const Access& access) {
  Value v;
  v.op = ScalarOp::load;
  v.type = buffer(access.buffer).type;
  v.access = resolved(access);
  return intern(v);
}

int LoopWriter::guarded(const Access& access, int guard, int otherwise) {
  Value v;
  v.op = ScalarOp::load;
  v.type = buffer(access.buffer).type;
  v.args = {guard, otherwise, ir::none};
  v.access = resolved(access);
  return intern(v);
}

int LoopWriter::operation(ScalarOp op, ElementType type, std::initializer_list<int> args) {
  // Through f64 and back: a rounding of what is rounded already.
  if (op == ScalarOp::cast && type == ElementType::f32) {
    const Value& through = value(*args.begin());
    const bool back = through.op == ScalarOp::cast && through.type == ElementType::f64;
    if (back && value(through.args[0]).type == type) return through.args[0];
  }
  Value v;
  v.op = op;
  v.type = type;
  std::copy(args.begin(), args.end(), v.args.begin());
  return intern(v);
}

LoopProgram LoopWriter::finish() {
  Block body = std::move(beginning_);
  for (Statement& statement : program_.body) body.push_back(std::move(statement));
  program_.body = std::move(body);
  require_valid(program_);
  return std::move(program_);
}

}  // namespace axrun::search
