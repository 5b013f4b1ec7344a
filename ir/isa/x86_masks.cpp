#include "ir/isa/tables.h"

/// Mask registers (AVX-512 F): moves and logic of 16 lanes, VEX encoded. What is above the 16 lanes of a
/// written mask becomes zero.
namespace axrun::ir::isa {

// clang-format off
const char x86_mask_rows[] = R"(
kmovw x:avx512f (d:bit k w, a:bit k r) { d[i] = a[i] }
kmovw.load x:avx512f (d:bit k w, a:bit m16 r) { d[i] = a[i] }
kmovw.store x:avx512f (d:bit m16 w, a:bit k r) { d[i] = a[i] }
kmovw.from_general x:avx512f (d:bit k w, a:bit r32 r) { d[i] = a[i] }
kmovw.to_general x:avx512f (d:bit r32 w, a:bit k r) { d[i] = i < 16 ? a[i] : false }
knotw x:avx512f (d:bit k w, a:bit k r) { d[i] = not(a[i]) }
kandw x:avx512f (d:bit k w, a:bit k r, b:bit k r) { d[i] = a[i] and b[i] }
kandnw x:avx512f (d:bit k w, a:bit k r, b:bit k r) { d[i] = not(a[i]) and b[i] }
korw x:avx512f (d:bit k w, a:bit k r, b:bit k r) { d[i] = a[i] or b[i] }
kxorw x:avx512f (d:bit k w, a:bit k r, b:bit k r) { d[i] = a[i] ? not(b[i]) : b[i] }
kxnorw x:avx512f (d:bit k w, a:bit k r, b:bit k r) { d[i] = a[i] ? b[i] : not(b[i]) }
kshiftlw x:avx512f (d:bit k w, a:bit k r, imm:0..255) { d[i] = i < imm ? false : a[i - imm] }
kshiftrw x:avx512f (d:bit k w, a:bit k r, imm:0..255) { d[i] = i + imm < 16 ? a[i + imm] : false }
kunpckbw x:avx512f (d:bit k w, a:bit k r, b:bit k r) { d[i] = i < 8 ? b[i] : a[i - 8] }
)";
// clang-format on

}  // namespace axrun::ir::isa
