#include "jit/single_instruction.h"

#include <asmjit/x86.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ir/error.h"
#include "jit/executable_memory.h"

namespace axrun::jit {
namespace {

using namespace asmjit;  // the names of registers and operands
using ir::isa::Bytes;
using ir::isa::Operand;
using ir::isa::Place;
using ir::isa::Row;
using ir::isa::Width;

constexpr size_t slot_bytes = sizeof(Bytes);
constexpr size_t most_operands = 6;

/// What the function gets: a slot for each operand, in the row's order, the destination's taking the result.
struct alignas(64) Block {
  std::array<Bytes, most_operands> slots;
  void* memory;
};

const x86::Gp block = x86::rdi;
const x86::Gp memory = x86::rax;
const x86::Gp general_registers[most_operands] = {x86::rcx, x86::rdx, x86::rsi, x86::r8, x86::r9, x86::r10};

bool host_has(CpuFeatures::X86::Id feature) { return CpuInfo::host().features().has(feature); }

/// Vector registers in full: what the instruction does above its destination must show.
int full_register_bits() {
  if (host_has(CpuFeatures::X86::kAVX512_F)) return 512;
  return host_has(CpuFeatures::X86::kAVX) ? 256 : 128;
}

x86::Vec vector_register(int index, int bits) {
  const auto id = static_cast<uint32_t>(index);
  if (bits == 512) return x86::Zmm(id);
  if (bits == 256) return x86::Ymm(id);
  return x86::Xmm(id);
}

void move_vector(x86::Assembler& assembler, bool load, int index, const x86::Mem& slot) {
  const int bits = full_register_bits();
  const InstId id = bits == 512   ? x86::Inst::kIdVmovdqu64
                    : bits == 256 ? x86::Inst::kIdVmovdqu
                                  : x86::Inst::kIdMovdqu;
  if (load)
    assembler.emit(id, vector_register(index, bits), slot);
  else
    assembler.emit(id, slot, vector_register(index, bits));
}

x86::Mem::Broadcast repeated_times(int count) {
  switch (count) {
    case 2:
      return x86::Mem::Broadcast::k1To2;
    case 4:
      return x86::Mem::Broadcast::k1To4;
    case 8:
      return x86::Mem::Broadcast::k1To8;
    case 16:
      return x86::Mem::Broadcast::k1To16;
  }
  AXRUN_ASSERT(false);
}

/// Emits the function. Registers: operand k is in vector register k, k(k+1), or general_registers[k].
class Emitter {
 public:
  Emitter(const InstructionChoice& choice, CodeHolder& code)
      : choice_(choice), row_(*choice.row), assembler_(&code) {}

  /// The place of the instruction itself in the code.
  std::pair<size_t, size_t> emit() {
    for (size_t k = 0; k < row_.operands.size(); ++k) move(k, true);
    assembler_.mov(memory, x86::ptr(block, offsetof(Block, memory)));
    const size_t start = assembler_.offset();
    instruction();
    const size_t end = assembler_.offset();
    move(row_.destination, false);
    if (host_has(CpuFeatures::X86::kAVX)) assembler_.vzeroupper();
    assembler_.ret();
    return {start, end};
  }

 private:
  bool in_memory(size_t operand) const { return static_cast<int>(operand) == choice_.memory_operand; }

  void move(size_t index, bool load) {
    if (in_memory(index)) return;
    const Operand& operand = row_.operands[index];
    const int k = static_cast<int>(index);
    const x86::Mem slot = x86::ptr(block, static_cast<int32_t>(offsetof(Block, slots) + index * slot_bytes));
    switch (operand.place) {
      case Place::vector:
      case Place::low:
        return move_vector(assembler_, load, k, slot);
      case Place::general:
        load ? assembler_.mov(general_registers[k], slot) : assembler_.mov(slot, general_registers[k]);
        return;
      case Place::mask:
      case Place::write_mask: {
        const x86::KReg mask(static_cast<uint32_t>(k + 1));
        const bool wide = host_has(CpuFeatures::X86::kAVX512_BW);
        if (load)
          wide ? assembler_.kmovq(mask, slot) : assembler_.kmovw(mask, slot);
        else
          wide ? assembler_.kmovq(slot, mask) : assembler_.kmovw(slot, mask);
        return;
      }
      case Place::immediate:
        return;
    }
  }

  void instruction() {
    const std::string mnemonic(row_.mnemonic());
    const InstId id = InstAPI::stringToInstId(Arch::kX64, mnemonic.data(), mnemonic.size());
    std::array<Operand_, most_operands> operands;
    size_t count = 0;
    InstOptions options = row_.encoding == ir::isa::Encoding::vex    ? InstOptions::kX86_Vex
                          : row_.encoding == ir::isa::Encoding::evex ? InstOptions::kX86_Evex
                                                                     : InstOptions::kNone;
    for (size_t k = 0; k < row_.operands.size(); ++k) {
      const Operand& operand = row_.operands[k];
      if (operand.place == Place::write_mask) {
        assembler_.k(x86::KReg(static_cast<uint32_t>(k + 1)));
        if (operand.zeroing) options |= InstOptions::kX86_ZMask;
      } else {
        operands[count++] = encoded(k);
      }
    }
    assembler_.addInstOptions(options);
    if (const asmjit::Error error = assembler_.emitOpArray(id, operands.data(), count); error != kErrorOk)
      throw axrun::Error(Fault::internal, print_row(row_) + ": " + DebugUtils::errorAsString(error));
  }

  Operand_ encoded(size_t index) const {
    const Operand& operand = row_.operands[index];
    const int k = static_cast<int>(index);
    const int used = used_bits(row_, operand, choice_.width);
    if (in_memory(index) && operand.repeated) {
      x86::Mem lane = x86::ptr(memory);
      lane.setBroadcast(repeated_times(static_cast<int>(choice_.width) / used));
      return lane;
    }
    if (in_memory(index)) return x86::ptr(memory, 0, static_cast<uint32_t>(used / 8));
    switch (operand.place) {
      case Place::vector:
      case Place::low:
        return vector_register(k, used <= 128 ? 128 : used);
      case Place::general:
        return operand.bits == 64 ? general_registers[k] : general_registers[k].r32();
      case Place::mask:
        return x86::KReg(static_cast<uint32_t>(k + 1));
      case Place::immediate:
        return imm(choice_.immediate);
      case Place::write_mask:
        break;
    }
    AXRUN_ASSERT(false);
  }

  const InstructionChoice& choice_;
  const Row& row_;
  x86::Assembler assembler_;
};

}  // namespace

struct SingleInstruction::Code {
  std::shared_ptr<ExecutableMemory> memory;
  InstructionChoice choice;
  Row row;  ///< the choice's row may be a temporary
  void (*function)(Block*) = nullptr;
  std::string encoding;
};

SingleInstruction::SingleInstruction(const InstructionChoice& choice) : code_(std::make_unique<Code>()) {
  AXRUN_ASSERT(choice.row->operands.size() <= most_operands);
  code_->memory = shared_memory();
  code_->row = *choice.row;
  code_->choice = choice;
  code_->choice.row = &code_->row;
  CodeHolder holder;
  holder.init(ExecutableMemory::environment());
  const auto [start, end] = Emitter(code_->choice, holder).emit();
  const auto& bytes = holder.textSection()->buffer();
  code_->encoding.assign(reinterpret_cast<const char*>(bytes.data()) + start, end - start);
  if (const asmjit::Error error = code_->memory->add(&code_->function, &holder); error != kErrorOk)
    throw axrun::Error(Fault::unsupported,
                       std::string("executable memory: ") + DebugUtils::errorAsString(error));
}

SingleInstruction::~SingleInstruction() {
  if (code_->function) code_->memory->release(code_->function);
}

std::string_view SingleInstruction::encoding() const { return code_->encoding; }

Bytes SingleInstruction::run(const ir::isa::Inputs& inputs, void* memory) const {
  const Row& row = code_->row;
  Block block;
  alignas(64) Bytes buffer{};
  block.memory = memory ? memory : buffer.data();
  for (size_t k = 0; k < row.operands.size(); ++k) {
    if (static_cast<int>(k) == code_->choice.memory_operand)
      buffer = inputs.bytes[k];
    else
      block.slots[k] = inputs.bytes[k];
  }
  code_->function(&block);
  if (static_cast<int>(row.destination) != code_->choice.memory_operand) {
    // The slot beyond what was stored: nothing of masks and general registers, zeros of vectors too narrow to
    // hold it.
    Bytes result = block.slots[row.destination];
    const Place place = row.operands[row.destination].place;
    const bool is_vector = place == Place::vector || place == Place::low;
    if (!is_vector || row.encoding != ir::isa::Encoding::legacy)
      std::fill(result.begin() + (is_vector ? full_register_bits() / 8 : 8), result.end(), 0);
    return result;
  }
  return buffer;
}

}  // namespace axrun::jit
