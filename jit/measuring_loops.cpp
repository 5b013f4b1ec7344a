#include "jit/measuring_loops.h"

#include <asmjit/x86.h>

#include <functional>

#include "ir/error.h"
#include "jit/executable_memory.h"

namespace axrun::jit {

namespace x86 = asmjit::x86;

/// A function void(const void* data, size_t bytes, int64_t count); loops use the arguments that they need.
class EmittedLoop {
 public:
  explicit EmittedLoop(const std::function<void(x86::Assembler&)>& emit) : memory_(shared_memory()) {
    asmjit::CodeHolder code;
    require_ok(code.init(ExecutableMemory::environment()), "code for a measurement");
    x86::Assembler assembler(&code);
    emit(assembler);
    require_ok(memory_->add(&function_, &code), "code for a measurement");
  }
  EmittedLoop(const EmittedLoop&) = delete;
  EmittedLoop& operator=(const EmittedLoop&) = delete;
  ~EmittedLoop() { memory_->release(function_); }

  void operator()(const void* data, size_t bytes, int64_t count) const { function_(data, bytes, count); }

 private:
  std::shared_ptr<ExecutableMemory> memory_;
  void (*function_)(const void*, size_t, int64_t) = nullptr;
};

namespace {

// The function's arguments.
const x86::Gp data = x86::rdi;
const x86::Gp bytes = x86::rsi;
const x86::Gp count = x86::rdx;

x86::Vec vector_register(const Target& target, int index) {
  const auto id = static_cast<uint32_t>(index);
  if (target.vector_bytes == 64) return x86::Zmm(id);
  if (target.vector_bytes == 32) return x86::Ymm(id);
  return x86::Xmm(id);
}

bool has_avx(const Target& target) { return target.has("avx"); }

/// Calls must not leave upper halves behind that slow down code without AVX.
void leave(x86::Assembler& assembler, const Target& target) {
  if (has_avx(target)) assembler.vzeroupper();
  assembler.ret();
}

/// Before the instructions that close a loop. Processors derived from Skylake decode anew, in every
/// iteration, a conditional jump (with the subtraction fused to it) that crosses or touches a 32-byte
/// boundary: Intel, "Mitigations for Jump Conditional Code Erratum". A loop of eight loads loses a quarter of
/// its speed.
void align_loop_end(x86::Assembler& assembler) { assembler.align(asmjit::AlignMode::kCode, 32); }

constexpr int rounds_at_a_time = 4;  // counting and branching cost nothing then

/// Sums grow until the product no longer changes them, factors are 1: neither denormals nor infinities, with
/// which some processors are slower.
void emit_multiply_adds(x86::Assembler& assembler, const Target& target, int chains) {
  const auto fill = [&](int index, uint32_t bits) {
    const x86::Xmm low(static_cast<uint32_t>(index));
    assembler.mov(x86::eax, bits);
    if (target.has("avx2")) {
      assembler.vmovd(low, x86::eax);
      assembler.emit(x86::Inst::kIdVbroadcastss, vector_register(target, index), low);
    } else {
      assembler.movd(low, x86::eax);
      assembler.shufps(low, low, 0);
    }
  };
  constexpr int half_register = 14;
  constexpr int one_register = 15;
  fill(half_register, 0x3F000000);
  fill(one_register, 0x3F800000);
  for (int chain = 0; chain < chains; ++chain) fill(chain, 0x3F000000);
  const x86::Vec half = vector_register(target, half_register);
  const x86::Vec one = vector_register(target, one_register);
  const asmjit::Label again = assembler.newLabel();
  assembler.align(asmjit::AlignMode::kCode, 64);
  assembler.bind(again);
  for (int round = 0; round < rounds_at_a_time; ++round) {
    for (int chain = 0; chain < chains; ++chain) {
      const x86::Vec sum = vector_register(target, chain);
      if (target.has("fma"))
        assembler.emit(x86::Inst::kIdVfmadd231ps, sum, half, half);
      else if (chain % 2 == 0)
        assembler.addps(sum.xmm(), half.xmm());
      else
        assembler.mulps(sum.xmm(), one.xmm());
    }
  }
  align_loop_end(assembler);
  assembler.sub(count, rounds_at_a_time);
  assembler.jg(again);
  leave(assembler, target);
}

/// Many loads an iteration, so that what else it does is lost between them.
void emit_reads(x86::Assembler& assembler, const Target& target, ReadOrder order) {
  const int loads = static_cast<int>(ReadLoop::unit) / target.vector_bytes;
  const int streams = order == ReadOrder::one_stream ? 1 : 4;
  const int each = loads / streams;
  constexpr int registers = 8;
  const x86::Gp begins[] = {x86::rcx, x86::r8, x86::r9, x86::r10};
  const asmjit::InstId load = has_avx(target) ? x86::Inst::kIdVmovups : x86::Inst::kIdMovups;
  const asmjit::Label pass = assembler.newLabel();
  const asmjit::Label again = assembler.newLabel();
  if (streams == 4) assembler.shr(bytes, 2);
  assembler.bind(pass);
  assembler.mov(begins[0], data);
  for (int stream = 1; stream < streams; ++stream)
    assembler.lea(begins[stream], x86::ptr(begins[stream - 1], bytes));
  assembler.mov(x86::rax, bytes);
  assembler.align(asmjit::AlignMode::kCode, 64);
  assembler.bind(again);
  for (int k = 0; k < loads; ++k) {
    const int offset = k % each * target.vector_bytes;
    assembler.emit(load, vector_register(target, k % registers), x86::ptr(begins[k / each], offset));
  }
  for (int stream = 0; stream < streams; ++stream) assembler.add(begins[stream], each * target.vector_bytes);
  align_loop_end(assembler);
  assembler.sub(x86::rax, each * target.vector_bytes);
  assembler.jg(again);
  assembler.dec(count);
  assembler.jg(pass);
  leave(assembler, target);
}

void emit_flush(x86::Assembler& assembler) {
  constexpr int line = 64;  // of all x86-64 processors
  const bool weakly_ordered = asmjit::CpuInfo::host().features().x86().hasCLFLUSHOPT();
  const asmjit::Label again = assembler.newLabel();
  assembler.bind(again);
  for (int k = 0; k < static_cast<int>(ReadLoop::unit) / line; ++k) {
    const x86::Mem at = x86::ptr(data, k * line);
    weakly_ordered ? assembler.clflushopt(at) : assembler.clflush(at);
  }
  assembler.add(data, ReadLoop::unit);
  assembler.sub(bytes, ReadLoop::unit);
  assembler.jg(again);
  assembler.mfence();
  assembler.ret();
}

}  // namespace

MultiplyAddLoop::MultiplyAddLoop(const Target& target, int chains)
    : flops_(static_cast<double>(chains) * target.lanes(4) * (target.has("fma") ? 2 : 1)) {
  AXRUN_ASSERT(chains >= 1 && chains <= most_chains && (target.has("fma") || chains % 2 == 0));
  loop_ = std::make_shared<EmittedLoop>(
      [&](x86::Assembler& assembler) { emit_multiply_adds(assembler, target, chains); });
}

void MultiplyAddLoop::run(int64_t rounds) const {
  AXRUN_ASSERT(rounds > 0 && rounds % rounds_at_a_time == 0);
  (*loop_)(nullptr, 0, rounds);
}

ReadLoop::ReadLoop(const Target& target, ReadOrder order)
    : loop_(std::make_shared<EmittedLoop>(
          [&](x86::Assembler& assembler) { emit_reads(assembler, target, order); })) {}

void ReadLoop::run(const void* data, size_t bytes, int64_t passes) const {
  AXRUN_ASSERT(bytes > 0 && bytes % unit == 0 && passes > 0);
  (*loop_)(data, bytes, passes);
}

FlushLoop::FlushLoop() : loop_(std::make_shared<EmittedLoop>(emit_flush)) {}

void FlushLoop::run(const void* data, size_t bytes) const {
  AXRUN_ASSERT(bytes > 0 && bytes % ReadLoop::unit == 0);
  (*loop_)(data, bytes, 1);
}

}  // namespace axrun::jit
