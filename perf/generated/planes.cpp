#include "perf/generated/planes.h"

#include <cstdio>
#include <limits>

#include "ir/builder.h"

namespace axrun::perf {
namespace {

using ir::Builder;
using ir::ElementType;
using ir::Indices;
using ir::Monoid;
using ir::Scalar;
using ir::TensorRef;

struct Planes {
  std::string kind;
  int64_t height = 1, width = 1, channels = 1, filters = 1, kernel = 1, stride = 1;
  bool residual = false, last_in = false, last_out = false;

  int64_t pad() const { return kernel == 2 ? 0 : (kernel - 1) / 2; }
  int64_t out(int64_t size) const { return (size + 2 * pad() - kernel) / stride + 1; }
};

bool take(std::string& name, const std::string& ending) {
  if (name.size() < ending.size() || name.compare(name.size() - ending.size(), ending.size(), ending) != 0)
    return false;
  name.resize(name.size() - ending.size());
  return true;
}

std::optional<Planes> parse(std::string name) {
  Planes p;
  if (take(name, "_last"))
    p.last_in = p.last_out = true;
  else if (take(name, "_in"))
    p.last_in = true;
  else if (take(name, "_out"))
    p.last_out = true;
  p.residual = take(name, "_add");
  if (take(name, "s2")) p.stride = 2;
  const size_t first = name.find('_');
  if (first == std::string::npos) return std::nullopt;
  p.kind = name.substr(0, first);
  long h = 0, w = 0, c = 0, f = 0, k = 1, again = 1;
  char rest = 0;
  const char* sizes = name.c_str() + first;
  const bool conv = p.kind == "conv" || p.kind == "chain";
  const int found = conv ? std::sscanf(sizes, "_%ldx%ldx%ld_%ld_%ldx%ld%c", &h, &w, &c, &f, &k, &again, &rest)
                         : std::sscanf(sizes, "_%ldx%ldx%ld_%ldx%ld%c", &h, &w, &c, &k, &again, &rest);
  const bool mean = p.kind == "mean";
  if (!conv && !mean && p.kind != "depthwise" && p.kind != "maxpool") return std::nullopt;
  if (found != (conv ? 6 : mean ? 3 : 5) || h < 1 || w < 1 || c < 1 || k < 1 || again != k)
    return std::nullopt;
  p.height = h;
  p.width = w;
  p.channels = c;
  p.filters = conv ? f : c;
  p.kernel = k;
  return p.filters < 1 ? std::nullopt : std::optional(p);
}

/// An operand of f32[channels, height, width], as the expression reads it.
TensorRef planes(Builder& b, int position, int64_t channels, int64_t height, int64_t width, bool last,
                 const std::string& name) {
  const auto here =
      b.operand(position, ElementType::f32,
                last ? ir::Dims{height, width, channels} : ir::Dims{channels, height, width}, name);
  if (!last) return here;
  return b.map({channels, height, width}, [&](const Indices& i) { return here({i[1], i[2], i[0]}); });
}

/// min(max(sum + bias, 0), 6) of sums over channels of x * w, or of windows over each channel of it.
TensorRef layer(Builder& b, int position, const TensorRef& x, int64_t channels, int64_t filters,
                const Planes& p, bool windows, bool clips, const std::string& name) {
  const auto w = windows ? b.operand(position, ElementType::f32, {channels, p.kernel, p.kernel}, "w" + name)
                         : b.operand(position, ElementType::f32, {filters, channels}, "w" + name);
  const auto bias = b.operand(position + 1, ElementType::f32, {filters}, "bias" + name);
  const ir::Dims dims =
      name == "0" ? ir::Dims{filters, p.height, p.width} : ir::Dims{filters, p.out(p.height), p.out(p.width)};
  const TensorRef sum = windows ? b.sum(dims, {p.kernel, p.kernel},
                                        [&](const Indices& i, const Indices& r) {
                                          return x.padded({i[0], i[1] * p.stride + r[0] - p.pad(),
                                                           i[2] * p.stride + r[1] - p.pad()},
                                                          0.0) *
                                                 w({i[0], r[0], r[1]});
                                        })
                                : b.sum(dims, {channels}, [&](const Indices& i, const Indices& r) {
                                    return x({r[0], i[1], i[2]}) * w({i[0], r[0]});
                                  });
  return b.map(dims, [&](const Indices& i) {
    const Scalar value = sum(i) + bias({i[0]});
    return clips ? min(max(value, 0.0), 6.0) : value;
  });
}

/// A product to 6 times the channels, windows over each, and a sum over all of them: MobileNet's.
TensorRef chain(Builder& b, const Planes& p, const TensorRef& x) {
  const int64_t wide = 6 * p.channels;
  const TensorRef first = layer(b, 1, x, p.channels, wide, p, false, true, "0");
  const TensorRef second = layer(b, 3, first, wide, wide, p, true, true, "1");
  return layer(b, 5, second, wide, p.filters, p, false, false, "2");
}

ir::Program program_of(const Planes& p) {
  Builder b("planes");
  const TensorRef x = planes(b, 0, p.channels, p.height, p.width, p.last_in, "x");
  const int64_t height = p.out(p.height), width = p.out(p.width);
  const auto finish = [&](const TensorRef& y, const ir::Dims& dims) {
    if (!p.last_out) {
      b.output(y);
    } else {
      b.output(b.map({dims[1], dims[2], dims[0]}, [&](const Indices& i) { return y({i[2], i[0], i[1]}); }));
    }
    return b.finish();
  };
  if (p.kind == "chain") return finish(chain(b, p, x), {p.filters, height, width});
  if (p.kind == "mean") {
    const TensorRef sum =
        b.sum({p.channels, 1, 1}, {p.height, p.width}, [&](const Indices& i, const Indices& r) {
          return x({i[0], r[0], r[1]});
        });
    const auto count = static_cast<double>(p.height * p.width);
    const ir::Dims dims = {p.channels, 1, 1};
    return finish(b.map(dims, [&](const Indices& i) { return sum(i) * (1 / count); }), dims);
  }
  const ir::Dims dims = {p.filters, height, width};
  const auto place = [&](const Scalar& channel, const Indices& i, const Scalar& down, const Scalar& right) {
    return Indices{channel, i[1] * p.stride + down - p.pad(), i[2] * p.stride + right - p.pad()};
  };
  if (p.kind == "maxpool") {
    constexpr double lowest = -std::numeric_limits<double>::infinity();
    return finish(b.reduce(Monoid::Kind::max, dims, {p.kernel, p.kernel},
                           [&](const Indices& i, const Indices& r) {
                             return x.padded(place(i[0], i, r[0], r[1]), lowest);
                           }),
                  dims);
  }
  TensorRef sum;
  if (p.kind == "depthwise") {
    const auto w = b.operand(1, ElementType::f32, {p.channels, p.kernel, p.kernel}, "w");
    sum = b.reduce(
        Monoid::Kind::sum, dims, {p.kernel, p.kernel},
        [&](const Indices& i, const Indices& r) {
          return x.padded(place(i[0], i, r[0], r[1]), 0.0) * w({i[0], r[0], r[1]});
        },
        "sum");
  } else {
    const auto w = b.operand(1, ElementType::f32, {p.filters, p.channels, p.kernel, p.kernel}, "w");
    sum = b.reduce(
        Monoid::Kind::sum, dims, {p.channels, p.kernel, p.kernel},
        [&](const Indices& i, const Indices& r) {
          return x.padded(place(r[0], i, r[1], r[2]), 0.0) * w({i[0], r[0], r[1], r[2]});
        },
        "sum");
  }
  const auto bias = b.operand(2, ElementType::f32, {p.filters}, "bias");
  TensorRef residual;
  if (p.residual) residual = planes(b, 3, p.filters, height, width, p.last_in, "z");
  return finish(b.map(
                    dims,
                    [&](const Indices& i) {
                      const Scalar value = sum(i) + bias({i[0]});
                      return max(p.residual ? value + residual(i) : value, 0.0);
                    },
                    "y"),
                dims);
}

}  // namespace

std::optional<GeneratedCase> planes_case(const std::string& name) {
  const auto p = parse(name);
  if (!p) return std::nullopt;
  GeneratedCase one;
  one.name = name;
  const int64_t terms = p->kernel * p->kernel * (p->kind == "conv" ? p->channels : 1);
  one.flops = p->kind == "mean"
                  ? static_cast<double>(p->height * p->width * p->channels)
                  : 2.0 * static_cast<double>(p->filters * p->out(p->height) * p->out(p->width) * terms);
  one.constant = {false, true, true, false};
  if (p->kind == "chain") {
    one.constant = {false, true, true, true, true, true, true};
    const auto out = static_cast<double>(p->out(p->height) * p->out(p->width));
    const auto all = static_cast<double>(p->height * p->width), wide = static_cast<double>(6 * p->channels);
    one.flops = 2 * wide *
                (all * static_cast<double>(p->channels) +
                 out * static_cast<double>(p->kernel * p->kernel + p->filters));
  }
  one.make = [planes = *p] { return program_of(planes); };
  return one;
}

}  // namespace axrun::perf
