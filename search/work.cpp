#include "search/work.h"

#include <algorithm>
#include <map>
#include <string>

namespace axrun::search {

namespace {

/// Of one core, from the nearest level that holds so much.
double bytes_per_second(double bytes, const jit::Target& target) {
  constexpr double usual[] = {100e9, 50e9, 20e9};  // where the target was not calibrated
  for (size_t level = 0; level < target.caches.size(); ++level) {
    if (static_cast<double>(target.caches[level].bytes) < bytes) continue;
    const double measured = target.caches[level].bytes_per_second;
    return measured > 0 ? measured : usual[std::min<size_t>(level, 2)];
  }
  return target.memory_bytes_per_second > 0 ? target.memory_bytes_per_second : 10e9;
}

}  // namespace

bool is_worth_spreading(double flops, const jit::Target& target, double bytes) {
  if (target.cores < 2) return false;
  constexpr double enough_seconds = 10e-6, enough_seconds_of_moving = 20e-6;
  constexpr double usual_frequency = 2.5e9;  // where the target was not calibrated
  const double per_second = target.flops_per_second > 0
                                ? target.flops_per_second
                                : usual_frequency * 2 * target.lanes(4) * std::max(1, target.fma_ports);
  return flops / per_second > enough_seconds ||
         bytes / bytes_per_second(bytes, target) > enough_seconds_of_moving;
}

double balance(int64_t count, int cores) {
  const int64_t turns = (count + cores - 1) / cores;
  return static_cast<double>(count) / static_cast<double>(turns * cores);
}

double balance_of_pieces(int64_t extent, int64_t piece, int cores) {
  const int64_t whole = extent / piece, turns = whole / cores;
  const int64_t longest = turns * piece + (whole % cores != 0 ? piece : extent % piece);
  return static_cast<double>(extent) / static_cast<double>(std::max<int64_t>(longest, 1) * cores);
}

double balance_of_axis(const SizeFacts& facts, const ir::Dim& extent, int64_t piece, int cores) {
  std::map<std::string, ir::Dim> lowest;
  for (const ir::loop::Size& size : facts.sizes()) lowest[size.name] = ir::Dim(size.low);
  const auto pieces = [piece](int64_t size) { return std::max<int64_t>(1, (size + piece - 1) / piece); };
  const int64_t typical = facts.typical(extent);
  const int64_t least = extent.substitute(lowest).constant().value_or(typical);
  return std::min(balance(pieces(typical), cores), balance(pieces(least), cores));
}

int64_t even_piece(int64_t extent, int64_t most, int cores) {
  int64_t best = most;
  for (int64_t piece = most; 2 * piece >= most && piece > 0; --piece) {
    if (balance_of_pieces(extent, piece, cores) > balance_of_pieces(extent, best, cores)) best = piece;
  }
  return best;
}

}  // namespace axrun::search
