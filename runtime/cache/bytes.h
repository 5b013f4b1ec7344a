#pragma once

#include "ir/bytes.h"

namespace axrun::cache {

/// What payloads are written and read with.
using Writer = ByteWriter;
using Reader = ByteReader;

}  // namespace axrun::cache
