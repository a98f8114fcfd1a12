#include "layers/dropout.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "device/harness.h"
#include "kernels/philox.h"

namespace dptrain::test {
namespace {

/// The factor of one element, from the definition: key (seed, stream), counter (row, element / 4, step).
double factor(double rate, std::int64_t row, std::int64_t element) {
  const auto seed = static_cast<std::uint32_t>(kSeed ^ kSeed >> 32);
  const auto stream = static_cast<std::uint32_t>(Purpose::kDropout) + kStreamId;
  const auto counter = static_cast<std::uint32_t>(kFirstRow + row);
  const kernels::PhiloxBlock words = kernels::philox4x32(
      {{counter, static_cast<std::uint32_t>(element / 4), static_cast<std::uint32_t>(kStep), 0}}, {{seed, stream}});
  return static_cast<double>(kernels::philox_uniform(words.word[element % 4])) >= rate ? 1 / (1 - rate) : 0.0;
}

void check(float rate, const Shape& in) {
  Case c;
  c.layer = layer(layers::DropoutSpec{.rate = rate});
  c.inputs = {in};
  c.inference = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) { return inputs[0]; };
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    const std::int64_t width = in.elements();
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      y.values[i] *= factor(static_cast<double>(rate), at / width, at % width);
    }
    return y;
  });
}

TEST(DropoutOp, Rates) {
  check(0.5F, {3, 5, 7});
  check(0.2F, {129});
}
TEST(DropoutOp, NothingToDrop) { check(0.0F, {5}); }

}  // namespace
}  // namespace dptrain::test
