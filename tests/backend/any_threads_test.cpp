// RuntimeOptions::any_threads: bits are independent of the thread count also for shapes whose sums oneDNN splits among
// threads.

#include <gtest/gtest.h>

#include "backend/harness.h"
#include "nn/convolutions.h"
#include "nn/recurrent.h"

namespace dptrain::test {
namespace {

Case dense(std::int64_t rows, std::int64_t in, std::int64_t units) {
  nn::DenseSpec spec;
  spec.units = units;
  Case c;
  c.layer = layer(spec);
  c.inputs = {{in}};
  c.rows = rows;
  return c;
}

Case conv(std::int64_t rows, Shape in, std::int64_t filters, std::int64_t kernel, std::int64_t stride) {
  nn::Conv2DSpec spec;
  spec.filters = filters;
  spec.kernel_size = {kernel, kernel};
  spec.strides = {stride, stride};
  Case c;
  c.layer = layer(spec);
  c.inputs = {std::move(in)};
  c.rows = rows;
  return c;
}

Case lstm(std::int64_t rows, std::int64_t steps, std::int64_t in, std::int64_t units) {
  nn::LSTMSpec spec;
  spec.units = units;
  Case c;
  c.layer = layer(spec);
  c.inputs = {{steps, in}};
  c.rows = rows;
  return c;
}

std::vector<Case> cases() {
  return {dense(512, 784, 10),
          dense(1000, 64, 64),
          dense(3, 25088, 16),
          dense(1, 4096, 10),
          dense(64, 100, 1),
          conv(19, {32, 32, 16}, 32, 1, 2),
          conv(7, {16, 16, 32}, 64, 1, 2),
          conv(64, {14, 14, 3}, 16, 5, 2),
          conv(5, {28, 28, 1}, 8, 3, 1),
          conv(9, {17, 17, 24}, 40, 3, 2),
          conv(2, {56, 56, 64}, 64, 1, 1),
          lstm(32, 40, 12, 20)};
}

std::vector<std::vector<float>> bits(const Case& c, int threads, bool any_threads) {
  const auto device = backend::make_cpu_device(0, threads, {.any_threads = any_threads});
  device->enter();
  return train(*device, c);
}

TEST(AnyThreads, GiveTheSameBits) {
  int different_without = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.layer.name() + " of " + c.inputs[0].str());
    const auto one = bits(c, 1, true);
    for (const int threads : {2, 3, 8}) {
      const auto many = bits(c, threads, true);
      for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i], many[i]) << threads << " threads, array " << i;
    }
    different_without += bits(c, 1, false) != bits(c, 8, false) ? 1 : 0;
  }
  EXPECT_GT(different_without, 0) << "no case depends on the number of threads any more";
}

}  // namespace
}  // namespace dptrain::test
