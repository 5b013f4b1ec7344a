#include "ir/ops/ml_pairwise.h"

#include "ir/ops/constant_table.h"

namespace axrun::ir {
namespace {

/// First and second class of every pair.
struct Pairs {
  std::vector<int64_t> first;
  std::vector<int64_t> second;
};

Pairs pairs_of(size_t classes) {
  Pairs pairs;
  for (size_t i = 0; i < classes; ++i) {
    for (size_t j = i + 1; j < classes; ++j) {
      pairs.first.push_back(static_cast<int64_t>(i));
      pairs.second.push_back(static_cast<int64_t>(j));
    }
  }
  return pairs;
}

/// Column of the pair (low, high), low < high: the pairs of the classes before `low` come first.
Scalar column_of(const Scalar& low, const Scalar& high, int64_t classes) {
  return low * (2 * classes - 1 - low) / 2 + high - low - 1;
}

/// One round of the coupling: every class's probability in turn is moved to its conditional optimum.
/// q: [N, C, C], p: [N, C]. The rows whose error is already below `tolerance` stay.
TensorRef coupling_round(Builder& b, const TensorRef& q, const TensorRef& p, double tolerance) {
  const Dim rows = p.dims()[0];
  const Dim classes = p.dims()[1];
  const TensorRef products = b.sum({rows, classes}, {classes}, [&](const Indices& i, const Indices& r) {
    return q({i[0], i[1], r[0]}) * p({i[0], r[0]});
  });
  const TensorRef total = b.sum({rows}, {classes}, [&](const Indices& i, const Indices& r) {
    return p({i[0], r[0]}) * products({i[0], r[0]});
  });
  const TensorRef error =
      b.reduce(Monoid::Kind::max, {rows}, {classes}, [&](const Indices& i, const Indices& r) {
        return abs(products({i[0], r[0]}) - total(i));
      });
  const auto moved =
      b.scan(classes, {q}, {p, products, total},
             [&](Builder& s, const std::vector<TensorRef>& captures, const std::vector<TensorRef>& states) {
               const TensorRef& q_in = captures[0];
               const TensorRef& p_in = states[0];
               const TensorRef& products_in = states[1];
               const TensorRef& total_in = states[2];
               const TensorRef change = s.map({rows}, [&](const Indices& i) {
                 const Scalar t = s.time();
                 return (total_in(i) - products_in({i[0], t})) / q_in({i[0], t, t});
               });
               const TensorRef p_out = s.map({rows, classes}, [&](const Indices& i) {
                 const Scalar d = change({i[0]});
                 const Scalar before = p_in(i);
                 return select(i[1] == s.time(), before + d, before) / (d + 1.0);
               });
               const TensorRef products_out = s.map({rows, classes}, [&](const Indices& i) {
                 const Scalar d = change({i[0]});
                 return (products_in(i) + d * q_in({i[0], s.time(), i[1]})) / (d + 1.0);
               });
               const TensorRef total_out = s.map({rows}, [&](const Indices& i) {
                 const Scalar t = s.time();
                 const Scalar d = change(i);
                 const Scalar sum = total_in(i) + d * (d * q_in({i[0], t, t}) + products_in({i[0], t}) * 2.0);
                 return sum / ((d + 1.0) * (d + 1.0));
               });
               return Builder::StepResult{{p_out, products_out, total_out}, {}};
             });
  return b.map({rows, classes},
               [&](const Indices& i) { return select(error({i[0]}) < tolerance, p(i), moved[0](i)); });
}

}  // namespace

TensorRef pairwise_votes(Builder& b, const TensorRef& decisions, size_t classes) {
  const Pairs pairs = pairs_of(classes);
  const ConstantTable first(b, ElementType::i64, pairs.first);
  const ConstantTable second(b, ElementType::i64, pairs.second);
  const Dims dims = {decisions.dims()[0], Dim(static_cast<int64_t>(classes))};
  return b.sum(dims, {decisions.dims()[1]}, [&](const Indices& i, const Indices& r) {
    const Scalar winner = select(decisions({i[0], r[0]}) > 0.0, first.at(r[0]), second.at(r[0]));
    return cast(ElementType::i64, winner == i[1]);
  });
}

TensorRef pairwise_probabilities(Builder& b, const TensorRef& decisions, size_t classes,
                                 const std::vector<double>& scale, const std::vector<double>& offset) {
  constexpr double smallest = 1e-7;
  constexpr int64_t rounds = 100;
  const auto count = static_cast<int64_t>(classes);
  const Dim rows = decisions.dims()[0];
  const ElementType type = decisions.type();
  const ConstantTable a(b, type, scale);
  const ConstantTable c(b, type, offset);
  // of_pair[n, p]: probability of the pair's first class.
  const TensorRef of_pair = b.map(decisions.dims(), [&](const Indices& i) {
    const Scalar value = 1.0 / (exp(decisions(i) * a.at(i[1]) + c.at(i[1])) + 1.0);
    return min(max(value, smallest), 1 - smallest);
  });
  // against[n, i, j]: probability of class i when it is i or j; 0 for i = j.
  const TensorRef against = b.map({rows, Dim(count), Dim(count)}, [&](const Indices& i) {
    const Scalar low = min(i[1], i[2]);
    const Scalar high = max(i[1], i[2]);
    const Scalar same = i[1] == i[2];
    const Scalar column = select(same, b.integer(0), column_of(low, high, count));
    const Scalar value = of_pair({i[0], column});
    return select(same, b.literal(type, 0), select(i[1] < i[2], value, 1.0 - value));
  });
  const TensorRef squares = b.sum({rows, Dim(count)}, {Dim(count)}, [&](const Indices& i, const Indices& r) {
    const Scalar value = against({i[0], r[0], i[1]});
    return value * value;
  });
  const TensorRef q = b.map({rows, Dim(count), Dim(count)}, [&](const Indices& i) {
    return select(i[1] == i[2], squares({i[0], i[1]}), -(against(i) * against({i[0], i[2], i[1]})));
  });
  const TensorRef start = b.map(
      {rows, Dim(count)}, [&](const Indices&) { return b.literal(type, 1.0 / static_cast<double>(count)); });
  return b.scan(
      Dim(rounds), {q}, {start},
      [&](Builder& s, const std::vector<TensorRef>& captures, const std::vector<TensorRef>& states) {
        const double tolerance = 0.005 / static_cast<double>(count);
        return Builder::StepResult{{coupling_round(s, captures[0], states[0], tolerance)}, {}};
      })[0];
}

}  // namespace axrun::ir
