#pragma once

/// Marks what programs outside of libaxrun may use: the library exports nothing else.
#define AXRUN_API __attribute__((visibility("default")))
