#include "train/model_source.h"

#include <gtest/gtest.h>

#include "formats/checkpoint/checkpoint.h"
#include "support/folder.h"

namespace dptrain::train {
namespace {

constexpr const char* kTrainedConfig =
    "dptrain: 1\n"
    "model: {layers: [{Input: {shape: [2]}}, {Dense: {units: 1}}]}\n"
    "data: {train: {Synthetic: {samples: 6}}, loader: {cache: {disk: /home/you/cache}}}\n"
    "train: {epochs: 1, batch_size: 3, loss: mse}\n"
    "runtime: {conv_cache: /home/you/conv.json, cache_frozen_prefix: {disk: /home/you/features}}\n"
    "gates: {metrics: {loss: {at_most: 100}}, junit: /home/you/anything}\n";

TEST(ModelSource, IgnoresOutputFilesOfACheckpointsConfig) {
  const test::Folder folder;
  const std::string file = folder / "given.h5";
  const experiment::Experiment trained = experiment::load_experiment_text(kTrainedConfig, "given.yaml", {});
  formats::save_checkpoint(file, graph::make_model(trained.graph, 1), {},
                           {.resolved_config = kTrainedConfig, .trainer = "{}"});

  const experiment::ConfigFile given = open_model_source(file, {}, {}, {}).experiment.config;
  EXPECT_FALSE(given.gates->junit);
  EXPECT_EQ(given.gates->metrics.limits.size(), 1U) << "the gates stay";
  EXPECT_EQ(given.data.loader.cache.kind, data::CacheOptions::Kind::kNone);
  EXPECT_EQ(given.runtime.conv_cache.kind, experiment::ConvCache::Kind::kAuto);
  EXPECT_EQ(given.runtime.cache_frozen_prefix.kind, experiment::CachePrefix::Kind::kAuto);

  experiment::Overrides named;
  named.sets = {"gates.junit=" + (folder / "mine.xml"), "data.loader.cache={disk: " + (folder / "cache") + "}"};
  const experiment::ConfigFile set = open_model_source(file, {}, named, {}).experiment.config;
  EXPECT_EQ(set.gates->junit->value, folder / "mine.xml");
  EXPECT_EQ(set.data.loader.cache.kind, data::CacheOptions::Kind::kDisk);
}

}  // namespace
}  // namespace dptrain::train
