// A sequence holds a reference to each of its tensors, whose memory is released with the last one. The
// interface does not promise it, and has no other function that makes a second reference: so one is made of a
// tensor whose release can be seen, once in a process.
#include "runtime/onnxruntime_ep/shared_tensor.h"

#include <cstdlib>

#include "runtime/onnxruntime_ep/host_value.h"

namespace axrun::ort {
namespace {

class WatchedAllocator final : public CallerAllocator {
 public:
  explicit WatchedAllocator(const MemoryInfo* where) : where_(where) {
    allocate = [](CallerAllocator*, std::size_t size) {
      return std::aligned_alloc(64, (size + 64) / 64 * 64);
    };
    release = [](CallerAllocator* self, void* memory) {
      ++static_cast<WatchedAllocator*>(self)->released_;
      std::free(memory);
    };
    info = [](const CallerAllocator* self) { return static_cast<const WatchedAllocator*>(self)->where_; };
  }
  int released() const { return released_; }

 private:
  const MemoryInfo* where_;
  int released_ = 0;
};

Value* sequence_of(const Host& host, const Value* tensor) {
  const Value* const one[] = {tensor};
  Value* sequence = nullptr;
  host.call(create_value, one, std::size_t{1}, static_cast<int>(onnx_sequence), &sequence);
  return sequence;
}

}  // namespace

bool sequences_share(const Host& host) {
  try {
    MemoryInfo* where = nullptr;
    host.call(create_cpu_memory_info, static_cast<int>(arena_allocator), static_cast<int>(default_memory),
              &where);
    const HostObject<MemoryInfo> owned(host, release_memory_info, where);
    WatchedAllocator allocator(where);
    const std::int64_t dims[] = {16};
    constexpr int f32 = 1;
    Value* tensor = nullptr;
    host.call(create_tensor, reinterpret_cast<Allocator*>(static_cast<CallerAllocator*>(&allocator)), dims,
              std::size_t{1}, f32, &tensor);
    Value* sequence = nullptr;
    {
      const HostObject<Value> first(host, release_value, tensor);
      sequence = sequence_of(host, tensor);
    }
    const bool held = allocator.released() == 0;
    host.get(release_value, sequence);
    return held && allocator.released() == 1;
  } catch (const HostError&) {
    return false;
  }
}

std::shared_ptr<const void> shared_owner(const Host& host, const Value* tensor) {
  static const bool share = sequences_share(host);
  if (!share) return nullptr;
  try {
    return {sequence_of(host, tensor), [host](Value* sequence) { host.get(release_value, sequence); }};
  } catch (const HostError&) {
    return nullptr;
  }
}

}  // namespace axrun::ort
