#pragma once

/// The tables' texts, one row a line, each in the file of its name.
namespace axrun::ir::isa {

extern const char x86_sse2_rows[];
extern const char x86_avx2_rows[];      ///< AVX, AVX2, FMA, F16C
extern const char x86_avx512_rows[];    ///< F, BW, DQ, VL
extern const char x86_mask_rows[];      ///< mask registers of F
extern const char x86_vnni_rows[];      ///< AVX512-VNNI and AVX512-BF16
extern const char x86_avx_vnni_rows[];  ///< the VEX forms of VNNI

}  // namespace axrun::ir::isa
