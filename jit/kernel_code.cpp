#include "jit/kernel_code.h"

#include <asmjit/x86.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

#include "ir/error.h"
#include "ir/tensor.h"
#include "jit/executable_memory.h"
#include "jit/huge_pages.h"
#include "jit/layout.h"
#include "jit/phase_sizes.h"
#include "jit/phase_text.h"
#include "jit/phase_work.h"
#include "jit/prepared_store.h"
#include "jit/x86/emitter.h"

namespace axrun::jit {
namespace {

using ir::loop::LoopProgram;

using PhaseFunction = void (*)(const int64_t* arguments, int64_t begin, int64_t end, char* worker_scratch);

/// Keeps the first thing that asmjit has to say.
class FirstError : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error error, const char* message, asmjit::BaseEmitter*) override {
    if (error_ != asmjit::kErrorOk) return;
    error_ = error;
    message_ = message;
  }
  void require_none(const std::string& what) const {
    if (error_ != asmjit::kErrorOk) throw Error(Fault::internal, what + ": " + message_);
  }

 private:
  asmjit::Error error_ = asmjit::kErrorOk;
  std::string message_;
};

class EmittedCode : public KernelCode {
 public:
  EmittedCode(const LoopProgram& program, const Target& target, const CompileOptions& options)
      : runtime_(shared_runtime()), program_(program), layout_(layout_of(program_)) {
    require_few_arguments();
    const bool wide = target.vector_bytes >= 64;
    if (!wide && (target.vector_bytes < 32 || !target.has("avx2") || !target.has("fma")))
      throw Error(Fault::unsupported,
                  "code is made for AVX2 with FMA or for AVX-512, which " + target.name + " does not have");
    asmjit::CodeHolder holder;
    require_ok(holder.init(runtime_->environment()), "code");
    FirstError errors;
    asmjit::StringLogger logger;
    holder.setErrorHandler(&errors);
    if (options.annotate) holder.setLogger(&logger);
    asmjit::x86::Compiler compiler(&holder);
    // Places in loops are aligned: by instructions of many bytes that do nothing, not by many of one byte.
    compiler.addEncodingOptions(asmjit::EncodingOptions::kOptimizedAlign);
    std::vector<asmjit::Label> entries;
    x86::PhaseEmitter emitter(compiler, program_, layout_, target, options.annotate);
    for (const Phase& phase : layout_.phases) entries.push_back(emitter.emit(phase));
    errors.require_none(program_.name);
    compiler.finalize();
    errors.require_none(program_.name);
    const char* base = nullptr;
    require_ok(runtime_->add(&base, &holder), "executable memory");
    base_ = base;
    bytes_ = holder.codeSize();
    has_addresses_ = holder.hasRelocEntries();
    for (const asmjit::Label& entry : entries) {
      entries_.push_back(
          reinterpret_cast<PhaseFunction>(reinterpret_cast<uintptr_t>(base + holder.labelOffset(entry))));
    }
    if (options.annotate) assembly_.assign(logger.data(), logger.dataSize());
    name_for_profilers();
  }
  EmittedCode(const LoopProgram& program, const CodeImage& image)
      : runtime_(shared_runtime()), program_(program), layout_(layout_of(program_)) {
    require_few_arguments();
    if (image.bytes.empty() || image.entries.size() != layout_.phases.size())
      throw Error(Fault::user, program_.name + ": the code is of another program");
    for (const uint32_t entry : image.entries) {
      if (entry >= image.bytes.size()) throw Error(Fault::user, program_.name + ": the code is cut off");
    }
    void* executed = nullptr;
    void* written = nullptr;
    require_ok(runtime_->allocator()->alloc(&executed, &written, image.bytes.size()), "executable memory");
    std::memcpy(written, image.bytes.data(), image.bytes.size());
    base_ = static_cast<const char*>(executed);
    bytes_ = image.bytes.size();
    for (const uint32_t entry : image.entries)
      entries_.push_back(reinterpret_cast<PhaseFunction>(reinterpret_cast<uintptr_t>(base_ + entry)));
    name_for_profilers();
  }
  ~EmittedCode() override {
    if (base_ != nullptr) runtime_->release(base_);
  }
  EmittedCode(const EmittedCode&) = delete;
  EmittedCode& operator=(const EmittedCode&) = delete;

  const LoopProgram& program() const override { return program_; }
  size_t code_bytes() const override { return bytes_; }
  const void* code() const override { return base_; }
  const std::string& assembly() const override { return assembly_; }
  CodeImage image() const override {
    CodeImage image;
    if (has_addresses_) return image;
    image.bytes.assign(base_, bytes_);
    for (const PhaseFunction entry : entries_)
      image.entries.push_back(
          static_cast<uint32_t>(reinterpret_cast<uintptr_t>(entry) - reinterpret_cast<uintptr_t>(base_)));
    return image;
  }
  const Layout& layout() const { return layout_; }
  PhaseFunction entry(size_t phase) const { return entries_[phase]; }

  static constexpr int most_arguments = 64;

 private:
  void name_for_profilers() const;
  void require_few_arguments() const {
    if (layout_.arguments > most_arguments) throw Error(Fault::unsupported, "too many buffers and sizes");
  }

  std::shared_ptr<asmjit::JitRuntime> runtime_;
  const LoopProgram program_;
  const Layout layout_;  ///< points into program_
  const char* base_ = nullptr;
  size_t bytes_ = 0;
  bool has_addresses_ = false;
  std::vector<PhaseFunction> entries_;
  std::string assembly_;
};

std::mutex map_mutex;
std::string map_path;  // empty: no map

void EmittedCode::name_for_profilers() const {
  const std::lock_guard lock(map_mutex);
  if (map_path.empty()) return;
  std::FILE* file = std::fopen(map_path.c_str(), "ae");
  if (file == nullptr) return;
  std::fprintf(file, "%zx %zx axrun:%s\n", reinterpret_cast<size_t>(base_), bytes_, program_.name.c_str());
  std::fclose(file);
}

class InlineWorkers : public Workers {
 public:
  int count() const override { return 1; }
  void run(int64_t iterations, Body body, void* state) override {
    if (iterations > 0) body(state, 0, 0, iterations);
  }
};

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

Workers& inline_workers() {
  static InlineWorkers workers;
  return workers;
}

void write_profiler_map(const std::string& path) {
  const std::lock_guard lock(map_mutex);
  map_path = path;
}

std::shared_ptr<const KernelCode> KernelCode::compile(const LoopProgram& program, const Target& target,
                                                      const CompileOptions& options) {
  ir::loop::require_valid(program);
  return std::make_shared<EmittedCode>(program, target, options);
}

std::shared_ptr<const KernelCode> KernelCode::load(const LoopProgram& program, const CodeImage& image) {
  ir::loop::require_valid(program);
  return std::make_shared<EmittedCode>(program, image);
}

struct BoundKernel::State {
  std::shared_ptr<const EmittedCode> code;
  std::vector<int64_t> arguments;    ///< sizes, offsets in the worker's memory, addresses of what is prepared
  std::vector<int64_t> iterations;   ///< per phase
  std::vector<bool> alone;           ///< per phase: one worker is done before others would have begun
  std::vector<int> inputs, outputs;  ///< buffers
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
  std::vector<Part> parts;       ///< per phase that is computed once
  std::vector<int> prepared_by;  ///< per buffer: the phase that has prepared it, none where it is not
  std::vector<size_t> place;     ///< per prepared buffer: in the part's memory
  std::vector<bool> unread;      ///< per input: by phases that are not prepared
  size_t shared_bytes = 0, worker_bytes = 0;
  std::map<std::string, ir::Dim> sizes;

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

int64_t value_of(const ir::Dim& dim, const std::map<std::string, ir::Dim>& sizes) {
  return dim.substitute(sizes).value();
}

size_t bytes_of(const ir::loop::Buffer& buffer, const std::map<std::string, ir::Dim>& sizes) {
  ir::Shape shape;
  for (const ir::Dim& dim : buffer.dims) shape.push_back(std::max<int64_t>(0, value_of(dim, sizes)));
  return static_cast<size_t>(ir::element_count(shape)) * ir::size_of(buffer.type);
}

}  // namespace

BoundKernel::BoundKernel(std::shared_ptr<const KernelCode> code, const std::map<std::string, int64_t>& sizes,
                         const std::vector<bool>& constant)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.code = std::static_pointer_cast<const EmittedCode>(code);
  const LoopProgram& program = s.code->program();
  const Layout& layout = s.code->layout();
  s.arguments.assign(static_cast<size_t>(layout.arguments), 0);
  std::map<std::string, ir::Dim>& known = s.sizes;
  for (size_t k = 0; k < program.sizes.size(); ++k) {
    const ir::loop::Size& size = program.sizes[k];
    const auto found = sizes.find(size.name);
    int64_t value = size.low;
    if (found != sizes.end()) {
      value = found->second;
    } else if (size.low != size.high) {
      throw Error(Fault::user, program.name + ": the size " + size.name + " is not given");
    }
    if (value < size.low || value > size.high || value % size.divisor != 0)
      throw Error(Fault::user, program.name + " does not claim " + size.name + " = " + std::to_string(value));
    s.arguments[k] = value;
    known[size.name] = value;
  }
  const size_t buffers = program.buffers.size();
  std::vector<bool> available(buffers, false);
  for (size_t id = 0; id < buffers; ++id) {
    if (program.buffers[id].role == ir::loop::Role::input) {
      available[id] = s.inputs.size() < constant.size() && constant[s.inputs.size()];
      s.inputs.push_back(static_cast<int>(id));
    } else if (program.buffers[id].role == ir::loop::Role::output) {
      s.outputs.push_back(static_cast<int>(id));
    }
  }
  // The phases at the beginning that read constants only and write scratch memory that nothing else writes.
  // Without constants nobody calls prepare.
  s.prepared_by.assign(buffers, ir::none);
  const bool prepares = std::find(constant.begin(), constant.end(), true) != constant.end();
  while (prepares && s.parts.size() < layout.phases.size()) {
    const Phase& phase = layout.phases[s.parts.size()];
    bool fits = !phase.writes.empty();
    for (const int id : phase.reads) {
      const auto at = static_cast<size_t>(id);
      fits = fits &&
             (available[at] || std::find(phase.writes.begin(), phase.writes.end(), id) != phase.writes.end());
    }
    for (const int id : phase.writes) {
      fits = fits && program.buffers[static_cast<size_t>(id)].role == ir::loop::Role::scratch &&
             !layout.per_worker[static_cast<size_t>(id)];
      for (size_t other = 0; other < layout.phases.size(); ++other) {
        const auto& writes = layout.phases[other].writes;
        if (other != s.parts.size() && std::find(writes.begin(), writes.end(), id) != writes.end())
          fits = false;
      }
    }
    if (!fits) break;
    for (const int id : phase.writes) {
      available[static_cast<size_t>(id)] = true;
      s.prepared_by[static_cast<size_t>(id)] = static_cast<int>(s.parts.size());
    }
    s.parts.emplace_back();
  }
  s.unread.assign(s.inputs.size(), true);
  for (size_t p = s.parts.size(); p < layout.phases.size(); ++p) {
    for (size_t k = 0; k < s.inputs.size(); ++k) {
      const auto& reads = layout.phases[p].reads;
      if (std::find(reads.begin(), reads.end(), s.inputs[k]) != reads.end()) s.unread[k] = false;
    }
  }
  // Places of scratch buffers.
  s.place.assign(buffers, 0);
  for (size_t id = 0; id < buffers; ++id) {
    const ir::loop::Buffer& buffer = program.buffers[id];
    if (buffer.role != ir::loop::Role::scratch || layout.argument[id] == ir::none) continue;
    const size_t bytes = aligned(bytes_of(buffer, known));
    if (s.prepared_by[id] != ir::none) {
      State::Part& part = s.parts[static_cast<size_t>(s.prepared_by[id])];
      s.place[id] = part.bytes;
      part.bytes += bytes;
    } else if (layout.per_worker[id]) {
      s.arguments[static_cast<size_t>(layout.argument[id])] = static_cast<int64_t>(s.worker_bytes);
      s.worker_bytes += bytes;
    } else {
      s.shared.push_back({static_cast<size_t>(layout.argument[id]), s.shared_bytes});
      s.shared_bytes += bytes;
    }
  }
  for (const Phase& phase : layout.phases) {
    int64_t iterations = 1;
    if (phase.parallel != nullptr) {
      const int64_t extent = std::max<int64_t>(0, value_of(phase.parallel->extent, known));
      iterations = (extent + phase.parallel->step - 1) / phase.parallel->step;
    }
    s.iterations.push_back(iterations);
    // Two microseconds at most, however slow an operation is: what handing over takes.
    constexpr double few_lanes = 4096;
    s.alone.push_back(phase.parallel != nullptr && lanes_computed(*phase.parallel, known) < few_lanes);
  }
}

BoundKernel::~BoundKernel() = default;
BoundKernel::BoundKernel(BoundKernel&&) noexcept = default;

void BoundKernel::State::use(size_t part, std::shared_ptr<char> memory) {
  parts[part].memory = std::move(memory);
  for (size_t id = 0; id < prepared_by.size(); ++id) {
    if (prepared_by[id] != static_cast<int>(part)) continue;
    arguments[static_cast<size_t>(code->layout().argument[id])] =
        static_cast<int64_t>(reinterpret_cast<intptr_t>(parts[part].memory.get() + place[id]));
  }
}

PreparedKey BoundKernel::State::key_of(size_t part, const void* const* given,
                                       const std::vector<PreparedKey>& keys) const {
  PhaseText phase = text_of(code->program(), code->layout().phases[part], sizes);
  PreparedKey key{std::move(phase.text), {}};
  for (const int id : phase.buffers) {
    const auto at = static_cast<size_t>(id);
    const auto input = std::find(inputs.begin(), inputs.end(), id);
    if (input != inputs.end()) {
      key.constants.push_back({given[input - inputs.begin()], bytes_of(code->program().buffers[at], sizes)});
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
  const Layout& layout = code->layout();
  int64_t filled[EmittedCode::most_arguments];
  std::copy(arguments.begin(), arguments.end(), filled);
  const auto set = [&](size_t id, const void* address) {
    filled[layout.argument[id]] = static_cast<int64_t>(reinterpret_cast<intptr_t>(address));
  };
  for (size_t k = 0; k < inputs.size(); ++k) set(static_cast<size_t>(inputs[k]), given[k]);
  for (size_t k = 0; results != nullptr && k < outputs.size(); ++k)
    set(static_cast<size_t>(outputs[k]), results[k]);
  int32_t outside = 0;
  if (layout.flag_argument != ir::none)
    filled[layout.flag_argument] = static_cast<int64_t>(reinterpret_cast<intptr_t>(&outside));
  for (const Shared& one : shared)
    filled[one.argument] = static_cast<int64_t>(reinterpret_cast<intptr_t>(scratch + one.offset));
  for (size_t phase = first; phase < last; ++phase) {
    if (layout.phases[phase].parallel == nullptr) {
      code->entry(phase)(filled, 0, 1, scratch + shared_bytes);
      continue;
    }
    PhaseCall one{code->entry(phase), filled, scratch + shared_bytes, worker_bytes};
    if (iterations[phase] == 1 || (iterations[phase] > 0 && alone[phase] && !workers.spreads_little_work())) {
      run_range(&one, 0, 0, iterations[phase]);
    } else {
      workers.run(iterations[phase], run_range, &one);
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
  const LoopProgram& program = s.code->program();
  for (size_t part = 0; part < s.parts.size(); ++part) {
    if (!from.parts[part].memory || s.parts[part].bytes != from.parts[part].bytes) return false;
    const std::set<std::string> names = names_in(program, s.code->layout().phases[part]);
    for (size_t k = 0; k < program.sizes.size(); ++k) {
      if (s.arguments[k] != from.arguments[k] && names.count(program.sizes[k].name) != 0) return false;
    }
  }
  for (size_t part = 0; part < s.parts.size(); ++part) s.use(part, from.parts[part].memory);
  return !s.parts.empty();
}

bool BoundKernel::is_prepared(size_t input) const { return state_->unread[input]; }
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
  state_->call(state_->parts.size(), state_->iterations.size(), inputs, outputs, static_cast<char*>(scratch),
               workers);
}

}  // namespace axrun::jit
