#include "jit/kernel_code.h"

#include <asmjit/x86.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "ir/error.h"
#include "jit/callable_code.h"
#include "jit/executable_memory.h"
#include "jit/layout.h"
#include "jit/signature.h"
#include "jit/x86/emitter.h"

namespace axrun::jit {
namespace {

using ir::loop::LoopProgram;

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

/// A program with what the emitter makes of it.
struct LaidOut {
  explicit LaidOut(LoopProgram given) : program(std::move(given)), layout(layout_of(program)) {}
  LaidOut(const LaidOut&) = delete;
  LaidOut& operator=(const LaidOut&) = delete;

  const LoopProgram program;
  const Layout layout;  ///< points into it
};

void require_few_arguments(int arguments) {
  if (arguments > CallableCode::most_arguments) throw Error(Fault::unsupported, "too many buffers and sizes");
}

std::string bytes_of(const Signature& signature) {
  ByteWriter out;
  write(out, signature);
  return std::move(out).text();
}

class EmittedCode : public CallableCode {
 public:
  EmittedCode(const LoopProgram& program, const Target& target, const CompileOptions& options)
      : memory_(shared_memory()), laid_out_(new LaidOut(program)) {
    const Layout& layout = laid_out().layout;
    signature_ = signature_of(program, layout);
    require_few_arguments(layout.arguments);
    const bool wide = target.vector_bytes >= 64;
    if (!wide && (target.vector_bytes < 32 || !target.has("avx2") || !target.has("fma")))
      throw Error(Fault::unsupported,
                  "code is made for AVX2 with FMA or for AVX-512, which " + target.name + " does not have");
    asmjit::CodeHolder holder;
    require_ok(holder.init(ExecutableMemory::environment()), "code");
    FirstError errors;
    asmjit::StringLogger logger;
    holder.setErrorHandler(&errors);
    if (options.annotate) holder.setLogger(&logger);
    asmjit::x86::Compiler compiler(&holder);
    // Places in loops are aligned: by instructions of many bytes that do nothing, not by many of one byte.
    compiler.addEncodingOptions(asmjit::EncodingOptions::kOptimizedAlign);
    std::vector<asmjit::Label> entries;
    x86::PhaseEmitter emitter(compiler, laid_out().program, layout, target, options.annotate);
    for (const Phase& phase : layout.phases) entries.push_back(emitter.emit(phase));
    errors.require_none(program.name);
    compiler.finalize();
    errors.require_none(program.name);
    const char* base = nullptr;
    require_ok(memory_->add(&base, &holder), "executable memory");
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
  explicit EmittedCode(CodeView image)
      : memory_(shared_memory()), owner_(std::move(image.owner)), text_(image.program) {
    const auto refuse = [&](const std::string& why) {
      throw Error(Fault::user, signature_.name + ": " + why);
    };
    ByteReader in(image.signature);
    signature_ = read_signature(in);
    if (!in.finished()) refuse("the code's signature is cut off");
    if (const std::string wrong = wrong_with(signature_, most_arguments); !wrong.empty()) refuse(wrong);
    if (image.bytes.empty() || image.entries.size() != signature_.phases.size())
      refuse("the code is of another program");
    for (const uint32_t entry : image.entries) {
      if (entry >= image.bytes.size()) refuse("the code is cut off");
    }
    void* executed = nullptr;
    void* written = nullptr;
    require_ok(memory_->alloc(&executed, &written, image.bytes.size()), "executable memory");
    std::memcpy(written, image.bytes.data(), image.bytes.size());
    base_ = static_cast<const char*>(executed);
    bytes_ = image.bytes.size();
    for (const uint32_t entry : image.entries)
      entries_.push_back(reinterpret_cast<PhaseFunction>(reinterpret_cast<uintptr_t>(base_ + entry)));
    name_for_profilers();
  }
  ~EmittedCode() override {
    if (base_ != nullptr) memory_->release(base_);
    delete laid_out_.load();
  }
  EmittedCode(const EmittedCode&) = delete;
  EmittedCode& operator=(const EmittedCode&) = delete;

  const LoopProgram& program() const override { return laid_out().program; }
  size_t code_bytes() const override { return bytes_; }
  const void* code() const override { return base_; }
  const std::string& assembly() const override { return assembly_; }
  size_t inputs() const override { return buffers_of(ir::loop::Role::input); }
  size_t outputs() const override { return buffers_of(ir::loop::Role::output); }
  bool has_image() const override { return !has_addresses_; }
  CodeImage image() const override {
    CodeImage image;
    if (has_addresses_) return image;
    image.bytes.assign(base_, bytes_);
    for (const PhaseFunction entry : entries_)
      image.entries.push_back(
          static_cast<uint32_t>(reinterpret_cast<uintptr_t>(entry) - reinterpret_cast<uintptr_t>(base_)));
    image.program = text_.empty() ? ir::loop::print(program()) : std::string(text_);
    image.signature = bytes_of(text_.empty() ? whole_signature(laid_out()) : signature_);
    return image;
  }
  PhaseText text_of_phase(size_t phase, const std::map<std::string, ir::Dim>& sizes) const override {
    const std::optional<PhaseText>& known = signature_.phases[phase].text;
    return known ? *known : text_of(program(), laid_out().layout.phases[phase], sizes);
  }

 private:
  void name_for_profilers() const;
  size_t buffers_of(ir::loop::Role role) const {
    return static_cast<size_t>(std::count_if(signature_.buffers.begin(), signature_.buffers.end(),
                                             [&](const auto& buffer) { return buffer.role == role; }));
  }
  static Signature whole_signature(const LaidOut& laid_out) {
    Signature signature = signature_of(laid_out.program, laid_out.layout);
    add_texts(signature, laid_out.program, laid_out.layout);
    return signature;
  }
  /// Read from the text when somebody asks for it first; threads that ask at once may each read it. Without a
  /// lock, which a forked child might find held.
  const LaidOut& laid_out() const {
    if (const LaidOut* known = laid_out_) return *known;
    auto read = std::make_unique<const LaidOut>(ir::loop::parse(text_));
    if (bytes_of(whole_signature(*read)) != bytes_of(signature_))
      throw Error(Fault::user, signature_.name + ": the code is of another program than its text");
    const LaidOut* known = nullptr;
    return laid_out_.compare_exchange_strong(known, read.get()) ? *read.release() : *known;
  }

  std::shared_ptr<ExecutableMemory> memory_;
  const std::shared_ptr<const void> owner_;  ///< of the text
  const std::string_view text_;              ///< of the program; empty where that was given
  mutable std::atomic<const LaidOut*> laid_out_{nullptr};
  const char* base_ = nullptr;
  size_t bytes_ = 0;
  bool has_addresses_ = false;
  std::string assembly_;
};

std::mutex map_mutex;
std::string& map_path = *new std::string;  // empty: no map; never destroyed, like what follows

void EmittedCode::name_for_profilers() const {
  const std::lock_guard lock(map_mutex);
  if (map_path.empty()) return;
  std::FILE* file = std::fopen(map_path.c_str(), "ae");
  if (file == nullptr) return;
  std::fprintf(file, "%zx %zx axrun:%s\n", reinterpret_cast<size_t>(base_), bytes_, signature_.name.c_str());
  std::fclose(file);
}

class InlineWorkers : public Workers {
 public:
  int count() const override { return 1; }
  void run(int64_t iterations, Body body, void* state) override {
    if (iterations > 0) body(state, 0, 0, iterations);
  }
};

}  // namespace

Workers& inline_workers() {
  static auto& workers = *new InlineWorkers;
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

std::shared_ptr<const KernelCode> KernelCode::load(CodeImage image) {
  const auto owned = std::make_shared<const CodeImage>(std::move(image));
  return load(CodeView{owned->bytes, owned->signature, owned->program, owned->entries, owned});
}

std::shared_ptr<const KernelCode> KernelCode::load(CodeView image) {
  return std::make_shared<EmittedCode>(std::move(image));
}

}  // namespace axrun::jit
