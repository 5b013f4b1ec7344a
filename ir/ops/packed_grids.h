#pragma once

#include <array>
#include <cstdint>

namespace axrun::ir {

extern const std::array<uint16_t, 256> iq2_xxs_grid;
extern const std::array<uint16_t, 512> iq2_xs_grid;
extern const std::array<uint16_t, 1024> iq2_s_grid;
extern const std::array<uint16_t, 256> iq3_xxs_grid;

}  // namespace axrun::ir
