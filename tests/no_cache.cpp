// Part of every test program: no test finds what another one stored, or writes where its user's cache is,
// however it is started. Tests of the cache name folders of their own.
#include <cstdlib>

namespace {

[[maybe_unused]] const int no_cache = setenv("AXRUN_CACHE", "off", 0);

}  // namespace
