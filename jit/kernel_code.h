#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/loop/loop_program.h"
#include "jit/target.h"

namespace axrun::jit {

/// Spreads the iterations of a parallel loop over workers. Ranges that run at the same time have different
/// worker numbers in [0, count()).
class Workers {
 public:
  virtual ~Workers() = default;
  virtual int count() const = 0;
  using Body = void (*)(void* state, int worker, int64_t begin, int64_t end);
  virtual void run(int64_t iterations, Body body, void* state) = 0;
  /// Whether loops are to be spread that one worker would have done before another one has begun.
  virtual bool spreads_little_work() const { return true; }
};
/// The calling thread alone.
Workers& inline_workers();

/// Names all code made from now on in a file for `perf` (/tmp/perf-PID.map is where it looks); empty: stops.
void write_profiler_map(const std::string& path);

struct CompileOptions {
  bool annotate = false;  ///< keep the assembly as text, with the loop program's lines as comments
};

/// Machine code as it may be kept outside of a process: no address is part of it.
struct CodeImage {
  std::string bytes;
  std::vector<uint32_t> entries;  ///< of the program's phases, in order: bytes from the beginning
  std::string signature;          ///< what calling it takes of the program: bytes
  std::string program;            ///< its text
};

/// The same where somebody else holds it: `owner` keeps all of it, and for as long as there is code of it.
struct CodeView {
  std::string_view bytes, signature, program;
  std::vector<uint32_t> entries;
  std::shared_ptr<const void> owner;
};

/// A loop program as machine code, for all sizes it claims. Immutable; its memory is never writable and
/// executable at once, and is given back with the last owner.
class KernelCode {
 public:
  /// Throws Error(unsupported) that says what the emitter cannot say in machine code, or which feature the
  /// target lacks; Error(internal) for a program that is not well-formed.
  static std::shared_ptr<const KernelCode> compile(const ir::loop::LoopProgram& program, const Target& target,
                                                   const CompileOptions& options = {});
  /// The same from an image of such code for such a target. The bytes will be executed: whoever gives them
  /// answers for them. Throws Error(user) where they cannot be of any program. Its text is left unread.
  static std::shared_ptr<const KernelCode> load(CodeImage image);
  static std::shared_ptr<const KernelCode> load(CodeView image);
  virtual ~KernelCode() = default;

  /// Of loaded code read from its text when it is asked for first. Throws Error(user) then where that is
  /// none, or of other code.
  virtual const ir::loop::LoopProgram& program() const = 0;
  /// Its input and output buffers.
  virtual size_t inputs() const = 0;
  virtual size_t outputs() const = 0;
  virtual size_t code_bytes() const = 0;
  virtual const void* code() const = 0;
  virtual const std::string& assembly() const = 0;  ///< empty unless annotated
  /// Whether there is an image of it: not where it holds addresses.
  virtual bool has_image() const = 0;
  /// Nothing where there is none.
  virtual CodeImage image() const = 0;
};

class Binder;
class CallableCode;
class PreparedStore;

/// A kernel with its sizes decided: everything that does not depend on the data is worked out.
class BoundKernel {
 public:
  /// Throws Error(user) for sizes that the program does not claim. constant: one flag per input buffer; what
  /// depends on these only is computed once, by prepare().
  BoundKernel(std::shared_ptr<const KernelCode> code, const std::map<std::string, int64_t>& sizes,
              const std::vector<bool>& constant = {});
  /// The same by what binding to such constants takes, which is the code's own.
  BoundKernel(std::shared_ptr<const CallableCode> code, const Binder& binder, const int64_t* sizes);
  ~BoundKernel();
  BoundKernel(BoundKernel&&) noexcept;

  /// Computes what depends on constant inputs only. inputs: one per input buffer; the others may be null.
  /// Must be called once, before run, where constant inputs were named. What the store has is not computed
  /// again; there equal addresses of constants must mean equal values for as long as kernels live that were
  /// made with them.
  void prepare(const void* const* inputs, Workers& workers, PreparedStore* store = nullptr);
  /// The same without a store, in memory of the caller's: so many bytes, 64-byte aligned, with any contents.
  using Allocate = std::function<std::shared_ptr<char>(size_t bytes)>;
  void prepare_in(const Allocate& allocate, const void* const* inputs, Workers& workers);
  /// Takes over what `other` has prepared, where prepare() would compute the same: a kernel of the same code,
  /// made for the same constants, that differs in sizes only which nothing prepared depends on. False
  /// otherwise. That the constants have the same values is the caller's business.
  bool share_prepared(const BoundKernel& other);
  /// The code's sizes, with their ranges.
  const std::vector<ir::loop::Size>& code_sizes() const;
  /// The same kernel at other sizes, in the order of the code's, with what this one has prepared; null where
  /// other sizes need other preparations. Throws as the constructor does.
  std::shared_ptr<const BoundKernel> resized(const int64_t* sizes) const;
  /// True when input k is not read by run any more, but through its prepared form.
  bool is_prepared(size_t input) const;
  size_t prepared_bytes() const;

  /// Bytes of scratch memory that run needs, 64-byte aligned, for this many workers.
  size_t scratch_bytes(int workers) const;
  /// Safe from many threads at once, each with its own scratch memory. Throws Error(user) where an index that
  /// is data is outside of its dimension; the outputs hold anything then.
  void run(const void* const* inputs, void* const* outputs, void* scratch, Workers& workers) const;

 private:
  struct State;
  void prepare(const Allocate& allocate, const void* const* inputs, Workers& workers, PreparedStore* store);
  std::unique_ptr<State> state_;
};

}  // namespace axrun::jit
