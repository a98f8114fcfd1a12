#pragma once

// Where the files lie that tests read. Any thread.

#include <cstdlib>
#include <string>

namespace dptrain::testing {

/// The path of "golden/losses.json", of anything below tests/. The environment's DPTRAIN_TEST_DATA names another folder
/// than the source tree's, for test executables that run on another machine (scripts/gpu/pack.sh).
inline std::string test_data(const std::string& path) {
  const char* moved = std::getenv("DPTRAIN_TEST_DATA");
  return std::string(moved != nullptr ? moved : DPTRAIN_TEST_DATA) + "/" + path;
}

}  // namespace dptrain::testing
