#pragma once

// Where the files lie that tests read. Any thread.

#include <string>

namespace dptrain::test {

/// The path of "golden/losses.json", of anything below tests/. The environment's DPTRAIN_TEST_DATA names another folder
/// than the source tree's, for test executables that run on another machine (scripts/gpu/pack.sh).
std::string test_data(const std::string& path);

}  // namespace dptrain::test
