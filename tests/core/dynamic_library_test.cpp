#include "core/dynamic_library.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace dptrain::test {
namespace {

std::string error_of(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(DynamicLibrary, FindsFunctionsOfTheFirstFileThatOpens) {
  const DynamicLibrary library({"math", {"libabsent-for-sure.so.7", "libm.so.6"}, "libc6"});
  EXPECT_DOUBLE_EQ(library.function<double (*)(double)>("cbrt")(27.0), 3.0);
  EXPECT_NE(library.path().find("libm.so.6"), std::string::npos) << library.path();
}

TEST(DynamicLibrary, NamesAMissingLibraryAndItsPackage) {
  const std::string text = error_of([] { DynamicLibrary({"cuABC", {"libcuabc.so.9"}, "cuABC 9 (package cuabc9)"}); });
  EXPECT_EQ(
      text,
      "cuABC cannot be opened (libcuabc.so.9: cannot open shared object file: No such file or directory); install "
      "cuABC 9 (package cuabc9) or put the folder of libcuabc.so.9 on LD_LIBRARY_PATH, or use --cpus N");
}

TEST(DynamicLibrary, NamesAMissingFunction) {
  const DynamicLibrary library({"math", {"libm.so.6"}, "libc6"});
  const std::string text = error_of([&] { library.function<void (*)()>("no_such_function"); });
  EXPECT_NE(text.find("has no function no_such_function; install libc6"), std::string::npos) << text;
}

}  // namespace
}  // namespace dptrain::test
