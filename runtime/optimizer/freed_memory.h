#pragma once

namespace axrun::runtime {

/// Pages that the allocator keeps of what was freed go back to the system: what comparisons and plans leave
/// behind is hardly needed again by their thread. That takes the lock of every arena in turn and the pages
/// that threads in runs are about to use again, so it is done once in ten seconds at most; what is freed in
/// between stays owed.
void memory_was_freed();
/// At once where something is owed: when the work is done, or memory is short.
void give_freed_memory_back();

}  // namespace axrun::runtime
