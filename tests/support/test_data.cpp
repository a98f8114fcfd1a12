#include "support/test_data.h"

#include <cstdlib>

namespace dptrain::test {

std::string test_data(const std::string& path) {
  const char* moved = std::getenv("DPTRAIN_TEST_DATA");
  return std::string(moved != nullptr ? moved : DPTRAIN_TEST_DATA) + "/" + path;
}

}  // namespace dptrain::test
