#include "perf/kernels/library.h"

namespace axrun::perf {

std::vector<std::unique_ptr<Library>> make_libraries() {
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(make_axrun());
#ifdef AXRUN_PERF_ONEDNN
  libraries.push_back(make_onednn());
#endif
#ifdef AXRUN_PERF_OPENBLAS
  libraries.push_back(make_openblas());
#endif
  return libraries;
}

}  // namespace axrun::perf
