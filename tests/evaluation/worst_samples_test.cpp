#include "evaluation/worst_samples.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "distributed/fake_transport.h"

namespace dptrain::evaluation {
namespace {

std::vector<std::int64_t> indices(const WorstSamples& worst) {
  std::vector<std::int64_t> all;
  for (const WorstSample& sample : worst.sorted()) all.push_back(sample.index);
  return all;
}

TEST(WorstSamples, KeepsTheLargestLossesInOrder) {
  WorstSamples worst(3);
  EXPECT_TRUE(worst.sorted().empty());
  for (const auto& [index, loss] : {std::pair{0, 0.5}, {1, 2.0}, {2, 0.1}, {3, 3.0}, {4, 1.0}, {5, 0.7}})
    worst.add({.index = index, .loss = loss});
  EXPECT_THAT(indices(worst), testing::ElementsAre(3, 1, 4));
}

TEST(WorstSamples, KeepsTheLowestIndexOfEqualLosses) {
  for (const bool backwards : {false, true}) {
    WorstSamples worst(2);
    for (std::int64_t i = 0; i < 5; ++i) worst.add({.index = backwards ? 4 - i : i, .loss = 1});
    EXPECT_THAT(indices(worst), testing::ElementsAre(0, 1)) << backwards;
  }
}

TEST(WorstSamples, LossOfAProbability) {
  EXPECT_DOUBLE_EQ(class_loss(1), 0);
  EXPECT_DOUBLE_EQ(class_loss(0.5F), std::log(2.0));
  EXPECT_NEAR(class_loss(0), 16.1, 0.1) << "finite";
  EXPECT_EQ(class_loss(std::numeric_limits<float>::quiet_NaN()), class_loss(0));
}

SampleMaps maps_of(std::int32_t label, std::int64_t height = 1) {
  plot::ClassMap map{.height = height, .width = 2};
  map.classes.assign(static_cast<std::size_t>(2 * height), label);
  plot::ClassMap answer = map;
  answer.classes.front() = plot::ClassMap::kIgnored;
  return {.label = map, .answer = answer};
}

TEST(WorstSamples, KeepsTheMapsOfItsSamplesOnly) {
  WorstSamples worst(2);
  for (const auto& [index, loss] : {std::pair{0, 0.5}, {1, 2.0}, {2, 0.1}, {3, 3.0}}) {
    const WorstSample sample{.index = index, .loss = loss};
    EXPECT_EQ(worst.accepts(sample), index != 2);
    worst.add(sample, maps_of(index));
  }
  EXPECT_THAT(indices(worst), testing::ElementsAre(3, 1));
  ASSERT_EQ(worst.maps().size(), 2U);
  for (const int index : {1, 3}) EXPECT_EQ(worst.maps().at(index).label.classes.front(), index);
}

TEST(WorstSamples, OfAllProcessesHaveTheirMaps) {
  constexpr int kProcesses = 3;
  test::FakeNetwork network(kProcesses);
  test::in_processes(network, [](distributed::Processes& processes) {
    WorstSamples worst(4);
    for (std::int64_t i = processes.process(); i < 11; i += kProcesses)
      worst.add({.index = i, .loss = static_cast<double>(i * 7 % 11)}, maps_of(static_cast<std::int32_t>(i), 1 + i));
    worst.add_processes(processes);
    EXPECT_THAT(indices(worst), testing::ElementsAre(3, 6, 9, 1));
    ASSERT_EQ(worst.maps().size(), 4U);
    for (const auto& [index, maps] : worst.maps()) {
      const SampleMaps expected = maps_of(static_cast<std::int32_t>(index), 1 + index);
      EXPECT_EQ(maps.label.classes, expected.label.classes);
      EXPECT_EQ(maps.answer.classes, expected.answer.classes);
      EXPECT_EQ(maps.answer.height, 1 + index);
    }
  });
}

}  // namespace
}  // namespace dptrain::evaluation
