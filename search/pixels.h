#pragma once

#include "search/pixels_plan.h"

namespace axrun::search {

void write_pixels(PieceContext& context, const PixelsForm& form, const PixelsPlan& plan);

}  // namespace axrun::search
