// Error, Shape, DType and the clock.

#include <gtest/gtest.h>

#include <exception>
#include <thread>

#include "core/clock.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/shape.h"

namespace dptrain {
namespace {

TEST(Error, KindIsTheExitCode) {
  EXPECT_EQ(Error(ErrorKind::kUsage, "x").exit_code(), 2);
  EXPECT_EQ(Error(ErrorKind::kCheckpoint, "x").exit_code(), 8);
  EXPECT_EQ(Error(ErrorKind::kWrite, "x").exit_code(), 10);
}

TEST(Error, IsCopiedBetweenThreadsAndGetsALocation) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      throw Error(ErrorKind::kDevice, "no such device");
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  try {
    std::rethrow_exception(failure);
  } catch (const Error& e) {
    const Error placed = e.within("replica 1 (cpu:1), step 412");
    EXPECT_STREQ(placed.what(), "replica 1 (cpu:1), step 412: no such device");
    EXPECT_EQ(placed.kind(), ErrorKind::kDevice);
  }
}

TEST(Shape, CountsAndPrints) {
  const Shape image{28, 27, 3};
  EXPECT_EQ(image.rank(), 3);
  EXPECT_EQ(image[1], 27);
  EXPECT_EQ(image.back(), 3);
  EXPECT_EQ(image.elements(), 28 * 27 * 3);
  EXPECT_EQ(image.str(), "28x27x3");
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape().str(), "scalar");
  EXPECT_EQ((Shape{5, 0}).elements(), 0);
  EXPECT_NE(image, (Shape{28, 27}));
  EXPECT_EQ((Shape{std::int64_t{1} << 20, std::int64_t{1} << 20}).elements(), std::int64_t{1} << 40);
  const std::int64_t many = std::int64_t{1} << 40;
  EXPECT_EQ((Shape{many, many}).elements(), Shape::kMaxElements);
  EXPECT_EQ((Shape{many, std::int64_t{1} << 20}).elements(), Shape::kMaxElements);
}

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::kF32), 4u);
  EXPECT_EQ(size_of(DType::kBf16), 2u);
  EXPECT_EQ(size_of(DType::kF64), 8u);
  EXPECT_EQ(size_of(DType::kI8), 1u);
  EXPECT_EQ(name_of(DType::kBf16), "bfloat16");
  EXPECT_EQ(name_of(DType::kI16), "int16");
}

TEST(Stopwatch, RestartsAtTheTimeOfReading) {
  Stopwatch watch;
  const double begin = now_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  const double first = watch.restart();
  EXPECT_GE(first, 0.003);
  EXPECT_LE(first + watch.seconds(), now_seconds() - begin + 0.001);  // no interval is counted twice
}

}  // namespace
}  // namespace dptrain
