#pragma once

// Skips tests without a GPU; fails them if DPTRAIN_REQUIRE_DEVICES contains cuda.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "backend/gpu_facts.h"

namespace dptrain::test {

inline bool gpu_is_required() {
  const char* required = std::getenv("DPTRAIN_REQUIRE_DEVICES");
  return required != nullptr && std::string(required).find("cuda") != std::string::npos;
}

}  // namespace dptrain::test

#define DPTRAIN_NEED_GPU()                                                   \
  if (const std::string missing = backend::why_no_gpu(); !missing.empty()) { \
    if (gpu_is_required()) FAIL() << missing;                                \
    GTEST_SKIP() << missing;                                                 \
  }
