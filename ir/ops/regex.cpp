#include "ir/ops/regex.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"
#include "ir/ops/regex_parser.h"

namespace axrun::ir {
namespace {

using Kind = Regex::Step::Kind;

class Compiler {
 public:
  explicit Compiler(std::vector<Regex::Step>& steps) : steps_(steps) {}

  /// Steps of the node that go on at `next`; answers where they begin.
  int32_t compile(const RegexNode& node, int32_t next) {
    if (++visits_ > most_visits) refuse();
    switch (node.kind) {
      case RegexNode::Kind::empty:
        return next;
      case RegexNode::Kind::consume: {
        const int32_t step = add(Kind::consume, next, 0);
        steps_.back().ranges = node.ranges;
        return step;
      }
      case RegexNode::Kind::assertion:
        return add(node.assertion, next, 0);
      case RegexNode::Kind::sequence:
        for (size_t k = node.children.size(); k-- > 0;) next = compile(*node.children[k], next);
        return next;
      case RegexNode::Kind::choice: {
        int32_t begin = compile(*node.children.back(), next);
        for (size_t k = node.children.size() - 1; k-- > 0;) {
          begin = add(Kind::split, compile(*node.children[k], next), begin);
        }
        return begin;
      }
      case RegexNode::Kind::repeat:
        return compile_repeat(node, next);
    }
    return next;
  }

 private:
  /// Of memory, and of time: empty groups make no steps, but repeated ones multiply.
  static constexpr size_t most_steps = 200000;
  static constexpr size_t most_visits = 1000000;

  [[noreturn]] static void refuse() { throw Error(Fault::unsupported, "a pattern is too large"); }

  int32_t add(Kind kind, int32_t first, int32_t second) {
    if (steps_.size() >= most_steps) refuse();
    steps_.push_back({kind, first, second, {}});
    return static_cast<int32_t>(steps_.size()) - 1;
  }

  int32_t compile_repeat(const RegexNode& node, int32_t next) {
    const RegexNode& child = *node.children[0];
    if (node.most < 0) {
      const int32_t loop = add(Kind::split, 0, next);
      const int32_t body = compile(child, loop);
      steps_[static_cast<size_t>(loop)].next = body;
      next = loop;
    }
    const int32_t after = next;
    for (int32_t k = node.least; k < node.most; ++k) next = add(Kind::split, compile(child, next), after);
    for (int32_t k = 0; k < node.least; ++k) next = compile(child, next);
    return next;
  }

  std::vector<Regex::Step>& steps_;
  size_t visits_ = 0;
};

bool is_word(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/// The code points around a position; none at the ends.
struct Surroundings {
  bool has_before;
  bool has_after;
  uint32_t before;
  uint32_t after;

  bool holds(Kind assertion) const {
    const bool word_before = has_before && is_word(before);
    const bool word_after = has_after && is_word(after);
    switch (assertion) {
      case Kind::text_begin:
        return !has_before;
      case Kind::text_end:
        return !has_after;
      case Kind::line_begin:
        return !has_before || before == '\n';
      case Kind::line_end:
        return !has_after || after == '\n';
      case Kind::boundary:
        return word_before != word_after;
      case Kind::no_boundary:
        return word_before == word_after;
      default:
        return false;
    }
  }
};

bool accepts(const Regex::Step& step, uint32_t c) {
  const auto above = std::upper_bound(step.ranges.begin(), step.ranges.end(), c,
                                      [](uint32_t value, const Regex::Range& r) { return value < r.first; });
  return above != step.ranges.begin() && c <= std::prev(above)->last;
}

constexpr int32_t match_step = 0;

}  // namespace

Regex::Regex(const std::string& pattern) {
  const auto tree = parse_regex(pattern);
  steps_.push_back({Kind::match, 0, 0, {}});
  start_ = Compiler(steps_).compile(*tree, match_step);
}

bool Regex::matches(const std::string& text) const {
  const std::vector<uint32_t> points = code_points(text);
  std::vector<int32_t> following = {start_};
  std::vector<size_t> seen(steps_.size(), 0);  // 1 + the last position a step was reached at
  std::vector<int32_t> pending;
  for (size_t at = 0; at <= points.size(); ++at) {
    const Surroundings here = {at > 0, at<points.size(), at> 0 ? points[at - 1] : 0,
                               at < points.size() ? points[at] : 0};
    pending.swap(following);
    following.clear();
    while (!pending.empty()) {
      const int32_t number = pending.back();
      pending.pop_back();
      size_t& mark = seen[static_cast<size_t>(number)];
      if (mark == at + 1) continue;
      mark = at + 1;
      const Step& step = steps_[static_cast<size_t>(number)];
      if (step.kind == Kind::match) {
        if (at == points.size()) return true;
      } else if (step.kind == Kind::consume) {
        if (at < points.size() && accepts(step, points[at])) following.push_back(step.next);
      } else if (step.kind == Kind::split) {
        pending.push_back(step.other);
        pending.push_back(step.next);
      } else if (here.holds(step.kind)) {
        pending.push_back(step.next);
      }
    }
    if (following.empty()) return false;
  }
  return false;
}

RegexSearch::RegexSearch(const Regex& regex)
    : regex_(regex),
      readers_(regex.steps_.size()),
      arrivals_(regex.steps_.size()),
      reached_(regex.steps_.size(), 0) {
  for (size_t k = 0; k < regex.steps_.size(); ++k) {
    const Regex::Step& step = regex.steps_[k];
    if (step.kind == Kind::match) continue;
    const auto number = static_cast<int32_t>(k);
    auto& before = step.kind == Kind::consume ? readers_ : arrivals_;
    before[static_cast<size_t>(step.next)].push_back(number);
    if (step.kind == Kind::split) before[static_cast<size_t>(step.other)].push_back(number);
  }
}

/// From the end of the text to its beginning: the steps from which a match is reached, with the last place
/// where it is.
const std::vector<size_t>& RegexSearch::longest_ends(std::span<const uint32_t> text) {
  ends_.assign(text.size() + 1, nowhere);
  live_.clear();
  for (size_t at = text.size() + 1; at-- > 0;) {
    ++round_;
    before_.clear();
    for (const Live& next : live_) {
      for (const int32_t reader : readers_[static_cast<size_t>(next.step)]) {
        if (accepts(regex_.steps_[static_cast<size_t>(reader)], text[at]))
          reach({reader, next.end}, text, at);
      }
    }
    reach({match_step, at}, text, at);
    live_.swap(before_);
  }
  return ends_;
}

/// Everything from which the step is reached without reading on; what several ends are reached from keeps the
/// farthest, which comes first.
void RegexSearch::reach(const Live& last, std::span<const uint32_t> text, size_t at) {
  const Surroundings here = {at > 0, at<text.size(), at> 0 ? text[at - 1] : 0,
                             at < text.size() ? text[at] : 0};
  pending_.assign(1, last.step);
  while (!pending_.empty()) {
    const int32_t number = pending_.back();
    pending_.pop_back();
    size_t& mark = reached_[static_cast<size_t>(number)];
    if (mark == round_) continue;
    mark = round_;
    before_.push_back({number, last.end});
    if (number == regex_.start_) ends_[at] = last.end;
    for (const int32_t arrival : arrivals_[static_cast<size_t>(number)]) {
      const Kind kind = regex_.steps_[static_cast<size_t>(arrival)].kind;
      if (kind == Kind::split || here.holds(kind)) pending_.push_back(arrival);
    }
  }
}

Tensors match_strings_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& regex = payload_of<Regex>(stage);
  Tensor result = Tensor::allocate(ElementType::boolean, x.shape());
  for (int64_t k = 0; k < x.size(); ++k) result.set_int(k, regex.matches(x.strings()[k]) ? 1 : 0);
  return {result};
}

}  // namespace axrun::ir
