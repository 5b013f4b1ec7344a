#include "runtime/kernels/trees.h"

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime {

TreeBlocks tree_blocks() { return {kernel_table().tree_block_rows, kernel_table().tree_exits}; }

}  // namespace axrun::runtime
