#include "evaluation/class_scores.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nn/loss.h"
#include "nn/losses.h"

namespace dptrain::evaluation {
namespace {

Classes named(std::vector<std::string> names) {
  const auto width = static_cast<std::int64_t>(names.size());
  return {nn::loss_family().make(nn::CategoricalCrossentropySpec{}), {width}, std::move(names)};
}

/// Rows are labels: 3 cats (2 right, 1 predicted as a dog), 2 dogs (both predicted as cats), no bird, and one cow, a
/// class that is never predicted.
struct Animals {
  Classes classes = named({"cat", "dog", "bird", "cow"});
  Confusion confusion{4};

  Animals() {
    for (const auto& [label, predicted] : {std::pair{0, 0}, {0, 0}, {0, 1}, {1, 0}, {1, 0}, {3, 0}})
      confusion.add(label, predicted);
  }
};

TEST(ClassScores, OfEachClass) {
  const Animals animals;
  const std::vector<ClassScore> scores = class_scores(animals.confusion, animals.classes);
  ASSERT_EQ(scores.size(), 4U);
  EXPECT_EQ(scores[0].name, "cat");
  EXPECT_EQ(scores[0].support, 3);
  EXPECT_DOUBLE_EQ(scores[0].precision.value(), 2.0 / 5);
  EXPECT_DOUBLE_EQ(scores[0].recall.value(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(scores[0].f1.value(), 2 * 2.0 / (5 + 3));
  EXPECT_DOUBLE_EQ(scores[1].precision.value(), 0);
  EXPECT_DOUBLE_EQ(scores[1].recall.value(), 0);
  EXPECT_DOUBLE_EQ(scores[1].f1.value(), 0);
  EXPECT_FALSE(scores[2].precision || scores[2].recall || scores[2].f1) << "neither there nor predicted";
  EXPECT_FALSE(scores[3].precision.has_value()) << "never predicted";
  EXPECT_DOUBLE_EQ(scores[3].recall.value(), 0);
}

TEST(ClassScores, MeanOverClassesWithSamples) {
  const Animals animals;
  const ClassScore mean = macro_average(class_scores(animals.confusion, animals.classes));
  EXPECT_EQ(mean.support, 6);
  EXPECT_DOUBLE_EQ(mean.precision.value(), (2.0 / 5) / 3);
  EXPECT_DOUBLE_EQ(mean.recall.value(), (2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(mean.f1.value(), 0.5 / 3);
  EXPECT_FALSE(macro_average({}).f1.has_value());
}

TEST(ClassScores, TableAndJson) {
  const Animals animals;
  const std::vector<ClassScore> scores = class_scores(animals.confusion, animals.classes);
  EXPECT_EQ(scores_table(scores),
            "class  precision  recall      f1  support\n"
            "cat       0.4000  0.6667  0.5000        3\n"
            "dog       0.0000  0.0000  0.0000        2\n"
            "bird           -       -       -        0\n"
            "cow            -  0.0000  0.0000        1\n"
            "mean      0.1333  0.2222  0.1667        6\n");
  EXPECT_EQ(scores_table(scores, 3),
            "class  precision  recall      f1  support\n"
            "mean      0.1333  0.2222  0.1667        6\n");
  const auto json = scores_json(scores);
  EXPECT_EQ(json["classes"][0]["name"], "cat");
  EXPECT_EQ(json["classes"][0]["support"], 3);
  EXPECT_TRUE(json["classes"][3]["precision"].is_null());
  EXPECT_EQ(json["classes"][3]["recall"], 0.0);
  EXPECT_DOUBLE_EQ(json["macro"]["f1"], 0.5 / 3);
}

/// Positions of maps. No wall occurs, and one was predicted.
struct Streets {
  Classes classes{
      nn::loss_family().make(nn::CategoricalCrossentropySpec{}), {2, 2, 4}, {"road", "tree", "wall", "sky"}};
  Confusion confusion{4};

  Streets() {
    for (const auto& [label, predicted] : {std::pair{0, 0}, {0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 0}, {1, 2}})
      confusion.add(label, predicted);
  }
};

TEST(ClassScores, IntersectionOverUnionOfMaps) {
  const Streets streets;
  const std::vector<ClassScore> scores = class_scores(streets.confusion, streets.classes);
  EXPECT_DOUBLE_EQ(scores[0].iou.value(), 3.0 / (4 + 4 - 3));
  EXPECT_DOUBLE_EQ(scores[1].iou.value(), 1.0 / (3 + 2 - 1));
  EXPECT_DOUBLE_EQ(scores[2].iou.value(), 0) << "predicted, but it does not occur";
  EXPECT_FALSE(scores[3].iou.has_value()) << "neither there nor predicted";
  EXPECT_DOUBLE_EQ(macro_average(scores).iou.value(), (0.6 + 0.25) / 2) << "of the classes that occur";
  EXPECT_EQ(scores_table(scores),
            "class  precision  recall      f1     iou  support\n"
            "road      0.7500  0.7500  0.7500  0.6000        4\n"
            "tree      0.5000  0.3333  0.4000  0.2500        3\n"
            "wall      0.0000       -  0.0000  0.0000        0\n"
            "sky            -       -       -       -        0\n"
            "mean      0.6250  0.5417  0.5750  0.4250        7\n");
  const auto json = scores_json(scores);
  EXPECT_EQ(json["classes"][1]["iou"], 0.25);
  EXPECT_TRUE(json["classes"][3]["iou"].is_null());
  EXPECT_DOUBLE_EQ(json["macro"]["iou"], 0.425);
  EXPECT_EQ(named_scores(scores[1], streets.classes).back(),
            (std::pair<std::string, std::optional<double>>("iou", 0.25)));
  const Animals animals;
  EXPECT_EQ(named_scores({}, animals.classes).size(), 3U) << "one class per sample: no IoU";
  EXPECT_FALSE(scores_json(class_scores(animals.confusion, animals.classes))["macro"].contains("iou"));
}

}  // namespace
}  // namespace dptrain::evaluation
