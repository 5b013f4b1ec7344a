#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/bytes.h"
#include "ir/loop/loop_program.h"
#include "jit/layout.h"
#include "jit/phase_text.h"
#include "jit/phase_work.h"

namespace axrun::jit {

/// What calling machine code takes of its loop program: little, so that code that was kept can be called long
/// before anybody reads the program itself.
struct Signature {
  struct Buffer {
    ir::loop::Role role = ir::loop::Role::scratch;
    ir::ElementType type = ir::ElementType::f32;
    ir::Dims dims;            ///< none of buffers in registers
    int argument = ir::none;  ///< as in Layout
    bool per_worker = false;  ///< the same
  };
  struct Phase {
    bool parallel = false;
    ir::Dim extent;  ///< of the parallel loop, with its step
    int64_t step = 1;
    std::vector<LaneTerm> lanes;
    std::vector<int> reads, writes;  ///< buffers
    std::vector<int> sizes;          ///< that it depends on
    /// Of a phase that may be computed once, where it is the same at all sizes; filled in by add_texts.
    std::optional<PhaseText> text;
  };
  std::string name;
  std::vector<ir::loop::Size> sizes;
  std::vector<Buffer> buffers;
  std::vector<Phase> phases;
  int arguments = 0, flag_argument = ir::none;

  /// The phase may depend on nothing but constants: it fills scratch memory that all workers share.
  bool only_fills_scratch(const Phase& phase) const;
};

/// Without texts, which calling does not always take.
Signature signature_of(const ir::loop::LoopProgram& program, const Layout& layout);
void add_texts(Signature& signature, const ir::loop::LoopProgram& program, const Layout& layout);

/// Empty, or why this is no signature of any program: whatever passes can be called without harm to anything
/// but what the code itself does. most_arguments: there is no room for more.
std::string wrong_with(const Signature& signature, int most_arguments);

void write(ByteWriter& out, const Signature& signature);
/// Anything may come out of bytes that write() has not written: ask wrong_with.
Signature read_signature(ByteReader& in);

}  // namespace axrun::jit
