// Debian's libasmjit.a is not compiled for shared libraries. All that keeps it out of libaxrun is one direct
// reference to the C library's stderr (in the report of failed assertions, which are compiled out): the linker
// option --wrap=stderr sends it to a pointer of our own. Part of libaxrun only.
#include <stdio.h>

__attribute__((visibility("hidden"))) FILE* __wrap_stderr;
extern FILE* __real_stderr;

__attribute__((constructor)) static void set_stderr(void) { __wrap_stderr = __real_stderr; }
