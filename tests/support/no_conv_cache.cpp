// What was tuned on the machine (session/conv_cache.h) must not decide what tests compute.

#include <cstdlib>

namespace {

const int kNoCache = setenv("XDG_CACHE_HOME", "/nonexistent", 1);

}  // namespace
