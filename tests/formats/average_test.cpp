#include "formats/checkpoint/weights.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "formats/checkpoint_sample.h"

namespace dptrain::formats {
namespace {

using sample::Folder;

TEST(Average, AveragesWeightsAndStatistics) {
  const Folder folder;
  graph::Model first = sample::branched(), second = first, third = first;
  for (graph::Weight& weight : second.weights)
    for (float& value : weight.values) value += 3;
  for (graph::Weight& weight : third.weights)
    for (float& value : weight.values) value = 4 * value + 3;
  save_checkpoint(folder / "a.h5", first, {}, {});
  save_checkpoint(folder / "b.h5", second, {}, {});
  save_checkpoint(folder / "c.h5", third, {}, {});

  graph::Model mean = sample::branched();
  load_average({folder / "a.h5", folder / "b.h5", folder / "c.h5"}, mean);
  for (std::size_t w = 0; w < mean.weights.size(); ++w)
    for (std::size_t i = 0; i < mean.weights[w].values.size(); ++i)
      EXPECT_NEAR(mean.weights[w].values[i], 2 * first.weights[w].values[i] + 2, 1e-6) << mean.weights[w].def.name;
}

TEST(Average, RequiresTheSameModel) {
  const Folder folder;
  save_checkpoint(folder / "a.h5", sample::tiny_cnn(5), {}, {});
  save_checkpoint(folder / "b.h5", sample::tiny_cnn(6), {}, {});
  graph::Model mean = sample::tiny_cnn(5);
  EXPECT_THROW(load_average({folder / "a.h5", folder / "b.h5"}, mean), Error);
}

}  // namespace
}  // namespace dptrain::formats
