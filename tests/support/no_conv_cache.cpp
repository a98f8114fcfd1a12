// Tests must not depend on choices that were tuned on the machine (session/conv_cache.h).

#include <cstdlib>

namespace {

const int kNoCache = setenv("XDG_CACHE_HOME", "/nonexistent", 1);

}  // namespace
