#include "session/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "session/session.h"

namespace dptrain::session {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* kPrefixCacheConfig =
    "dptrain: 1\n"
    "name: tiny\n"
    "model:\n"
    "  layers:\n"
    "    - Input: {shape: [8, 8, 3]}\n"
    "    - Conv2D: {name: low, filters: 4, kernel_size: 3, trainable: false}\n"
    "    - Flatten: {name: flat}\n"
    "    - Dense: {name: out, units: 3, activation: softmax}\n"
    "data: {train: {Synthetic: {samples: 30}}, validation: {Synthetic: {samples: 10}}}\n"
    "train: {epochs: 3, batch_size: 8, loss: categorical_crossentropy}\n";
constexpr std::uint64_t kBytes = std::uint64_t{6 * 6 * 4} * 4 * 40;  // of the features of both data sets

CacheDecision decide(const std::vector<std::string>& sets,
                     CacheInputs question = {.samples = 40, .epochs = 3, .free_memory = 1 << 30}) {
  const experiment::Experiment experiment =
      experiment::load_experiment_text(kPrefixCacheConfig, "tiny.yaml", {sets, {}});
  return decide_cache(experiment.config, graph::make_model(experiment.graph, 1), question);
}

Error refusal(const std::vector<std::string>& sets,
              const CacheInputs& question = {.samples = 40, .epochs = 3, .free_memory = 1 << 30}) {
  try {
    decide(sets, question);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::kInternal, "accepted"};
}

TEST(PrefixCache, ReportsSizeAndLocation) {
  const CacheDecision memory = decide({});
  EXPECT_TRUE(memory.on);
  EXPECT_EQ(memory.folder, "");
  EXPECT_EQ(
      memory.line,
      "frozen up to flat (2 layers, 112 weights); features of 40 samples, 144 each, are computed once and kept in "
      "memory, 22.5 KiB");
  const CacheDecision disk = decide({"runtime.cache_frozen_prefix={disk: /somewhere}"});
  EXPECT_TRUE(disk.on);
  EXPECT_EQ(disk.folder, "/somewhere");
  EXPECT_THAT(disk.line, HasSubstr("kept in /somewhere, 22.5 KiB"));
}

TEST(PrefixCache, AutoReportsTheReasonInOneLine) {
  const auto why = [](const std::vector<std::string>& sets,
                      const CacheInputs& question = {.samples = 40, .epochs = 3, .free_memory = 1 << 30}) {
    const CacheDecision decision = decide(sets, question);
    EXPECT_FALSE(decision.on);
    return decision.line;
  };
  EXPECT_EQ(why({"data.transforms={train: [RandomFlip: horizontal]}"}),
            "not cached: data.transforms.train has RandomFlip, which draws again in every epoch");
  EXPECT_EQ(why({}, {.samples = 40, .epochs = 1, .free_memory = 1 << 30}), "not cached: the run has no second epoch");
  EXPECT_EQ(
      why({}, {.samples = 40, .epochs = 3, .free_memory = 2 * kBytes - 2}),
      "not cached: features take 22.5 KiB, half of the free memory is 22.5 KiB; runtime.cache_frozen_prefix: {disk: "
      "FOLDER} keeps them in a file");
  EXPECT_TRUE(decide({}, {.samples = 40, .epochs = 3, .free_memory = 2 * kBytes}).on);
  EXPECT_THAT(why({"runtime.cache_frozen_prefix=off"}), IsEmpty());

  std::string thawed = kPrefixCacheConfig;
  thawed.replace(thawed.find(", trainable: false"), std::string(", trainable: false").size(), "");
  const experiment::Experiment experiment = experiment::load_experiment_text(thawed, "thawed.yaml", {});
  const CacheDecision nothing = decide_cache(experiment.config, graph::make_model(experiment.graph, 1),
                                             {.samples = 40, .epochs = 3, .free_memory = 1 << 30});
  EXPECT_FALSE(nothing.on);
  EXPECT_EQ(nothing.line, "") << "no frozen layers, no line";
}

TEST(PrefixCache, RejectsAnImpossibleRequest) {
  const Error random =
      refusal({"runtime.cache_frozen_prefix=memory", "data.transforms={train: [RandomFlip: horizontal]}"});
  EXPECT_EQ(random.kind(), ErrorKind::kUsage);
  EXPECT_THAT(random.what(), HasSubstr("runtime.cache_frozen_prefix: data.transforms.train has RandomFlip"));
  const Error large =
      refusal({"runtime.cache_frozen_prefix=memory"}, {.samples = 40, .epochs = 3, .free_memory = kBytes - 1});
  EXPECT_EQ(large.kind(), ErrorKind::kMemory);
  EXPECT_THAT(large.what(), HasSubstr("features take 22.5 KiB"));
  EXPECT_TRUE(decide({"runtime.cache_frozen_prefix=memory"}, {.samples = 40, .epochs = 1, .free_memory = kBytes}).on);
  const Error word = refusal({"runtime.cache_frozen_prefix=on"});
  EXPECT_EQ(word.kind(), ErrorKind::kUsage);
  EXPECT_THAT(word.what(), HasSubstr("cache_frozen_prefix must be auto, off, memory or {disk: folder}"));
}

/// The losses of three epochs and a validation, per batch.
std::vector<double> losses(const std::vector<std::string>& sets, int replicas, const char* wanted_place) {
  const experiment::Experiment experiment =
      experiment::load_experiment_text(kPrefixCacheConfig, "tiny.yaml", {sets, {}});
  DeviceRequest devices{.replicas = replicas, .threads = 1};
  Session session(experiment, {.devices = devices, .may_cache_prefix = true});
  EXPECT_THAT(session.prefix_line(), HasSubstr(wanted_place));
  if (session.caches_prefix()) {
    std::vector<std::int64_t> done;
    EXPECT_FALSE(session.compute_features([](std::int64_t) { return false; }));  // stopped, then restarted
    EXPECT_TRUE(session.compute_features([&](std::int64_t n) { return done.push_back(n), true; }));
    EXPECT_EQ(done.back(), 40);
    EXPECT_EQ(session.prefix_samples(), 40);
    EXPECT_LT(session.plan().steps.size(), 4U);
  }
  std::vector<double> all;
  std::int64_t step = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    data::Loader& loader = session.train_loader();
    for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next(), ++step)
      all.push_back(session.replicas().step(batch.view(), {step, 0.01, batch.rows()}).loss);
    loader.next_epoch();
    all.push_back(evaluate(session, *session.validation_loader()).loss);
  }
  // The template has all layers, and so has a checkpoint.
  session.replicas().pull(session.model());
  for (const graph::Weight& weight : session.model().weights)
    EXPECT_EQ(static_cast<std::int64_t>(weight.values.size()), weight.def.shape.elements());
  return all;
}

TEST(PrefixCache, DoesNotChangeTraining) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  for (const int replicas : {1, 2}) {
    const std::vector<double> whole = losses({"runtime.cache_frozen_prefix=off"}, replicas, "");
    EXPECT_EQ(losses({}, replicas, "in memory"), whole);
    EXPECT_EQ(losses({"runtime.cache_frozen_prefix={disk: " + folder + "}"}, replicas, "kept in /"), whole);
  }
}

}  // namespace
}  // namespace dptrain::session
