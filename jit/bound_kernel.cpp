// Kernels with their sizes decided: which buffers lie where, what is computed once, and calls.
#include <algorithm>
#include <atomic>
#include <map>
#include <new>

#include "ir/error.h"
#include "ir/tensor.h"
#include "jit/callable_code.h"
#include "jit/huge_pages.h"
#include "jit/kernel_code.h"
#include "jit/prepared_store.h"

namespace axrun::jit {
namespace {

using ir::loop::Role;

constexpr size_t alignment = 64;
size_t aligned(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// A parallel phase under way.
struct PhaseCall {
  PhaseFunction entry;
  const int64_t* arguments;
  char* workers_scratch;
  size_t worker_bytes;
};

void run_range(void* state, int worker, int64_t begin, int64_t end) {
  const auto& call = *static_cast<const PhaseCall*>(state);
  call.entry(call.arguments, begin, end,
             call.workers_scratch + static_cast<size_t>(worker) * call.worker_bytes);
}

}  // namespace

struct BoundKernel::State {
  std::shared_ptr<const CallableCode> code;
  const Binder* binder = nullptr;  ///< of `code`
  std::vector<int64_t> arguments;  ///< sizes, offsets in the worker's memory, addresses of what is prepared
  struct Phase {
    int64_t iterations;
    bool alone;  ///< one worker is done before others would have begun
  };
  std::vector<Phase> phases;
  /// Buffers in the shared scratch memory of each run.
  struct Shared {
    size_t argument, offset;
  };
  std::vector<Shared> shared;
  /// The buffers that a phase has prepared, one after another.
  struct Part {
    size_t bytes = 0;
    std::shared_ptr<char> memory;
  };
  std::vector<Part> parts;    ///< per phase that is computed once
  std::vector<size_t> place;  ///< per prepared buffer: in the part's memory; none where there are no parts
  std::vector<size_t> bytes;  ///< per buffer; the same
  size_t shared_bytes = 0, worker_bytes = 0;

  void use(size_t part, std::shared_ptr<char> memory);
  /// Says what a part holds. given: inputs; keys: of the parts before.
  PreparedKey key_of(size_t part, const void* const* given, const std::vector<PreparedKey>& keys) const;
  void call(size_t first, size_t last, const void* const* given, void* const* results, char* scratch,
            Workers& workers) const;
};

namespace {

std::shared_ptr<char> allocate_aligned(size_t bytes) {
  return {static_cast<char*>(::operator new(std::max<size_t>(bytes, alignment), std::align_val_t(alignment))),
          [](char* memory) { ::operator delete(memory, std::align_val_t(alignment)); }};
}

/// Large parts lie on huge pages: what streams through them waits for few page walks, and processors follow
/// a sequence by themselves to the end of a page only.
std::shared_ptr<char> allocate_prepared(size_t bytes) {
  constexpr size_t large = size_t{2} << 20;
  if (bytes < large) return allocate_aligned(bytes);
  const auto pages = std::make_shared<HugePages>(bytes);
  return {pages, static_cast<char*>(pages->data())};
}

/// Of the code, in order.
std::vector<int64_t> values_of(const Signature& signature, const std::map<std::string, int64_t>& sizes) {
  std::vector<int64_t> values;
  for (const ir::loop::Size& size : signature.sizes) {
    const auto found = sizes.find(size.name);
    if (found == sizes.end() && size.low != size.high)
      throw Error(Fault::user, signature.name + ": the size " + size.name + " is not given");
    values.push_back(found != sizes.end() ? found->second : size.low);
  }
  return values;
}

}  // namespace

BoundKernel::BoundKernel(std::shared_ptr<const KernelCode> code, const std::map<std::string, int64_t>& sizes,
                         const std::vector<bool>& constant)
    : BoundKernel(std::static_pointer_cast<const CallableCode>(code),
                  static_cast<const CallableCode&>(*code).binder(constant),
                  values_of(static_cast<const CallableCode&>(*code).signature(), sizes).data()) {}

BoundKernel::BoundKernel(std::shared_ptr<const CallableCode> code, const Binder& binder, const int64_t* sizes)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.code = std::move(code);
  const Signature& signature = s.code->signature();
  s.arguments.assign(static_cast<size_t>(signature.arguments), 0);
  // Plans are bound to other sizes all the time: what is needed on the way stays.
  static thread_local Binder::AtSizes at;
  at.values.clear();
  for (size_t k = 0; k < signature.sizes.size(); ++k) {
    const ir::loop::Size& size = signature.sizes[k];
    const int64_t value = sizes[k];
    if (value < size.low || value > size.high || value % size.divisor != 0)
      throw Error(Fault::user,
                  signature.name + " does not claim " + size.name + " = " + std::to_string(value));
    s.arguments[k] = value;
    at.values.push_back(value);
  }
  s.binder = &binder;
  s.binder->find(at);
  s.parts.resize(s.binder->parts);
  if (!s.parts.empty()) s.bytes = at.bytes;
  // Places of scratch buffers.
  const size_t buffers = signature.buffers.size();
  if (!s.parts.empty()) s.place.assign(buffers, 0);
  for (size_t id = 0; id < buffers; ++id) {
    const Signature::Buffer& buffer = signature.buffers[id];
    if (buffer.role != Role::scratch || buffer.argument == ir::none) continue;
    const size_t bytes = aligned(at.bytes[id]);
    const int part_number = s.binder->prepared_by[id];
    if (part_number != ir::none) {
      State::Part& part = s.parts[static_cast<size_t>(part_number)];
      s.place[id] = part.bytes;
      part.bytes += bytes;
    } else if (buffer.per_worker) {
      s.arguments[static_cast<size_t>(buffer.argument)] = static_cast<int64_t>(s.worker_bytes);
      s.worker_bytes += bytes;
    } else {
      s.shared.push_back({static_cast<size_t>(buffer.argument), s.shared_bytes});
      s.shared_bytes += bytes;
    }
  }
  s.phases.reserve(signature.phases.size());
  for (size_t p = 0; p < signature.phases.size(); ++p) {
    // Two microseconds at most, however slow an operation is: what handing over takes.
    constexpr double few_lanes = 4096;
    s.phases.push_back({at.iterations[p], signature.phases[p].parallel && at.lanes[p] < few_lanes});
  }
}

BoundKernel::~BoundKernel() = default;
BoundKernel::BoundKernel(BoundKernel&&) noexcept = default;

void BoundKernel::State::use(size_t part, std::shared_ptr<char> memory) {
  parts[part].memory = std::move(memory);
  for (size_t id = 0; id < binder->prepared_by.size(); ++id) {
    if (binder->prepared_by[id] != static_cast<int>(part)) continue;
    arguments[static_cast<size_t>(code->signature().buffers[id].argument)] =
        static_cast<int64_t>(reinterpret_cast<intptr_t>(parts[part].memory.get() + place[id]));
  }
}

PreparedKey BoundKernel::State::key_of(size_t part, const void* const* given,
                                       const std::vector<PreparedKey>& keys) const {
  std::map<std::string, ir::Dim> sizes;
  const Signature& signature = code->signature();
  for (size_t k = 0; k < signature.sizes.size(); ++k) sizes[signature.sizes[k].name] = arguments[k];
  PhaseText phase = code->text_of_phase(part, sizes);
  const std::vector<int>& inputs = binder->inputs;
  const std::vector<int>& prepared_by = binder->prepared_by;
  PreparedKey key{std::move(phase.text), {}};
  for (const int id : phase.buffers) {
    const auto at = static_cast<size_t>(id);
    const auto input = std::find(inputs.begin(), inputs.end(), id);
    if (input != inputs.end()) {
      key.constants.push_back({given[input - inputs.begin()], bytes[at]});
      key.text += " constant";
    } else if (prepared_by[at] != ir::none) {
      const auto by = static_cast<size_t>(prepared_by[at]);
      key.text += " at " + std::to_string(place[at]);
      if (by == part) continue;
      key.text += " of {" + keys[by].text + "}";
      key.constants.insert(key.constants.end(), keys[by].constants.begin(), keys[by].constants.end());
    }
  }
  return key;
}

void BoundKernel::State::call(size_t first, size_t last, const void* const* given, void* const* results,
                              char* scratch, Workers& workers) const {
  const Signature& signature = code->signature();
  const std::vector<int>&inputs = binder->inputs, &outputs = binder->outputs;
  int64_t filled[CallableCode::most_arguments];
  std::copy(arguments.begin(), arguments.end(), filled);
  const auto set = [&](size_t id, const void* address) {
    filled[signature.buffers[id].argument] = static_cast<int64_t>(reinterpret_cast<intptr_t>(address));
  };
  for (size_t k = 0; k < inputs.size(); ++k) set(static_cast<size_t>(inputs[k]), given[k]);
  for (size_t k = 0; results != nullptr && k < outputs.size(); ++k)
    set(static_cast<size_t>(outputs[k]), results[k]);
  int32_t outside = 0;
  if (signature.flag_argument != ir::none)
    filled[signature.flag_argument] = static_cast<int64_t>(reinterpret_cast<intptr_t>(&outside));
  for (const Shared& one : shared)
    filled[one.argument] = static_cast<int64_t>(reinterpret_cast<intptr_t>(scratch + one.offset));
  for (size_t phase = first; phase < last; ++phase) {
    if (!signature.phases[phase].parallel) {
      code->entry(phase)(filled, 0, 1, scratch + shared_bytes);
      continue;
    }
    PhaseCall one{code->entry(phase), filled, scratch + shared_bytes, worker_bytes};
    const auto [iterations, alone] = phases[phase];
    if (iterations == 1 || (iterations > 0 && alone && !workers.spreads_little_work())) {
      run_range(&one, 0, 0, iterations);
    } else {
      workers.run(iterations, run_range, &one);
    }
  }
  if (std::atomic_ref(outside).load(std::memory_order_relaxed) != 0)
    throw Error(Fault::user, "an index is out of range");
}

void BoundKernel::prepare(const void* const* inputs, Workers& workers, PreparedStore* store) {
  prepare(allocate_prepared, inputs, workers, store);
}

void BoundKernel::prepare_in(const Allocate& allocate, const void* const* inputs, Workers& workers) {
  prepare(allocate, inputs, workers, nullptr);
}

void BoundKernel::prepare(const Allocate& allocate, const void* const* inputs, Workers& workers,
                          PreparedStore* store) {
  State& s = *state_;
  std::shared_ptr<char> scratch;
  std::vector<PreparedKey> keys;
  for (size_t part = 0; part < s.parts.size(); ++part) {
    if (store != nullptr) {
      keys.push_back(s.key_of(part, inputs, keys));
      if (auto known = store->find(keys.back(), s.parts[part].bytes)) {
        s.use(part, std::move(known));
        continue;
      }
    }
    if (!scratch) scratch = allocate_aligned(scratch_bytes(workers.count()));
    s.use(part, allocate(s.parts[part].bytes));
    s.call(part, part + 1, inputs, nullptr, scratch.get(), workers);
    if (store != nullptr) s.use(part, store->keep(keys.back(), s.parts[part].memory, s.parts[part].bytes));
  }
}

bool BoundKernel::share_prepared(const BoundKernel& other) {
  State& s = *state_;
  const State& from = *other.state_;
  if (s.code != from.code || s.parts.size() != from.parts.size() || s.place != from.place) return false;
  for (size_t part = 0; part < s.parts.size(); ++part) {
    if (!from.parts[part].memory || s.parts[part].bytes != from.parts[part].bytes) return false;
    for (const int size : s.code->signature().phases[part].sizes) {
      if (s.arguments[static_cast<size_t>(size)] != from.arguments[static_cast<size_t>(size)]) return false;
    }
  }
  for (size_t part = 0; part < s.parts.size(); ++part) s.use(part, from.parts[part].memory);
  return !s.parts.empty();
}

const std::vector<ir::loop::Size>& BoundKernel::code_sizes() const { return state_->code->signature().sizes; }

std::shared_ptr<const BoundKernel> BoundKernel::resized(const int64_t* sizes) const {
  auto other = std::make_shared<BoundKernel>(state_->code, *state_->binder, sizes);
  if (!state_->parts.empty() && !other->share_prepared(*this)) return nullptr;
  return other;
}

bool BoundKernel::is_prepared(size_t input) const { return state_->binder->unread[input]; }
size_t BoundKernel::prepared_bytes() const {
  size_t bytes = 0;
  for (const State::Part& part : state_->parts) bytes += part.bytes;
  return bytes;
}

size_t BoundKernel::scratch_bytes(int workers) const {
  return state_->shared_bytes + static_cast<size_t>(workers) * state_->worker_bytes;
}

void BoundKernel::run(const void* const* inputs, void* const* outputs, void* scratch,
                      Workers& workers) const {
  state_->call(state_->parts.size(), state_->phases.size(), inputs, outputs, static_cast<char*>(scratch),
               workers);
}

}  // namespace axrun::jit
