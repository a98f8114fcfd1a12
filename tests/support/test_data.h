#pragma once

// Location of the files that tests read. Any thread.

#include <string>

namespace dptrain::test {

/// The path of a file below tests/, such as "golden/losses.json". The environment variable DPTRAIN_TEST_DATA replaces
/// that folder, for test executables on another machine (scripts/gpu/pack.sh).
std::string test_data(const std::string& path);

}  // namespace dptrain::test
