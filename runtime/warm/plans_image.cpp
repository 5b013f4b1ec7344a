#include "runtime/warm/plans_image.h"

#include <utility>

#include "runtime/warm/lists.h"
#include "runtime/warm/warm_keys.h"

namespace axrun::runtime {
namespace {

constexpr size_t longest_weight_name = 4096;

}  // namespace

std::string write_head(const PlansHead& head) {
  cache::Writer out;
  out.put(form_of_entries).put(head.weights.has_value());
  if (head.weights) {
    out.put(head.weights->in_time);
    put_count(out, head.weights->names.size());
    for (const std::string& name : head.weights->names) out.put(name);
  }
  for (const uint8_t byte : head.plans) out.put(byte);
  return std::move(out).text();
}

PlansHead read_head(cache::Reader& in) {
  PlansHead head;
  if (in.get<uint32_t>() != form_of_entries) in.fail();
  if (in.get<bool>()) {
    KeptWeights::Kept& weights = head.weights.emplace();
    weights.in_time = in.get<bool>();
    weights.names.resize(in.count(4));
    for (std::string& name : weights.names) name = in.text(longest_weight_name);
  }
  for (uint8_t& byte : head.plans) byte = in.get<uint8_t>();
  return head;
}

}  // namespace axrun::runtime
