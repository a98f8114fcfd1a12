// Ops lay out their memory so that kernels with 16-byte accesses run; checked by the names of kernels launched on the
// emulator.

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>

#include "backend/one_op.h"
#include "kernels/cuda/simt.h"
#include "nn/merging.h"
#include "nn/normalization.h"

namespace dptrain::test {
namespace {

/// The kernels launched during its lifetime, by their names in the source.
class Launches {
 public:
  Launches() {
    simt::watch_launches([this](const simt::Shape& shape) {
      const std::lock_guard lock(mutex_);
      names_.insert(shape.name);
    });
  }
  ~Launches() { simt::watch_launches({}); }
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  std::set<std::string> with(const std::string& word) const {
    std::set<std::string> found;
    for (const std::string& name : names_)
      if (name.find(word) != std::string::npos) found.insert(name);
    return found;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

using Names = std::set<std::string>;

void expect_wide_batch_normalization(const Case& c) {
  for (const DType type : {DType::kF32, DType::kBf16}) {
    const auto device = backend::make_emu_device(0, {.compute = type});
    for (const bool training : {true, false}) {
      const Launches launches;
      run(*device, c, rounded(type, make_data(c)), training, Wanted::kAll);
      EXPECT_EQ(launches.with("positions_kernel"), Names{"(positions_kernel<T, kWide, Pass>)"});
      EXPECT_EQ(launches.with("sums_kernel"), training ? Names{"(batch_norm_sums_kernel<T, kWide, Pass>)"} : Names{});
    }
  }
}

TEST(WideKernels, BatchNormalization) {
  Case c;
  c.layer = layer(nn::BatchNormalizationSpec{});
  c.inputs = {{4, 3, 8}};
  c.weights = [](std::vector<Tensor>& weights) { weights.back() = Tensor(weights.back().dims, 1.25); };
  expect_wide_batch_normalization(c);
  c.tail = tail_of(nn::Activation::kRelu);
  expect_wide_batch_normalization(c);
  c.inputs.push_back(c.inputs[0]);
  c.tail.insert(c.tail.begin(), layer(nn::AddSpec{}));
  expect_wide_batch_normalization(c);
}

/// Four channels of a group are 8 or 16 bytes of a 32-byte memory sector, which adjacent groups share.
TEST(WideKernels, GroupNormalizationOfFewChannels) {
  Case c;
  nn::GroupNormalizationSpec spec;
  spec.groups = 8;
  c.layer = layer(spec);
  c.inputs = {{4, 3, 32}};
  for (const DType type : {DType::kF32, DType::kBf16}) {
    const auto device = backend::make_emu_device(0, {.compute = type});
    const Launches launches;
    run(*device, c, rounded(type, make_data(c)), true, Wanted::kAll);
    EXPECT_EQ(launches.with("group_tile"),
              (Names{"(group_tile_backward_kernel<T, kVector<T>>)", "(group_tile_forward_kernel<T, kVector<T>>)"}));
  }
}

}  // namespace
}  // namespace dptrain::test
