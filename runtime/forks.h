#pragma once

namespace axrun::runtime {

/// Whether oneTBB may be used: not in the child of a process in which axrun has used it, where it would wait
/// for threads that are not there.
bool tbb_is_whole();

}  // namespace axrun::runtime
