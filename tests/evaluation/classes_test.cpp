#include "evaluation/classes.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/text.h"
#include "evaluation/class_scores.h"
#include "nn/loss.h"
#include "nn/losses.h"

namespace dptrain::evaluation {
namespace {

config::Typed softmax_loss(bool from_logits) {
  nn::CategoricalCrossentropySpec spec;
  spec.from_logits = from_logits;
  return nn::loss_family().make(spec);
}

TEST(Classes, ProbabilitiesAreTheSoftmaxOfLogits) {
  const Classes classes(softmax_loss(true), {3}, {});
  const float row[] = {1.0F, 3.0F, 1000.0F};
  const std::vector<float> p = classes.probabilities(row);
  EXPECT_FLOAT_EQ(p[2], 1.0F);
  EXPECT_FLOAT_EQ(p[0], 0.0F);
  const float small[] = {0.0F, 0.0F, 0.6931472F};  // e^0.693 = 2
  EXPECT_NEAR(classes.probabilities(small)[2], 0.5F, 1e-6F);
}

TEST(Classes, KeepsProbabilities) {
  const Classes classes(softmax_loss(false), {3}, {"cat", "dog", "owl"});
  const float row[] = {0.2F, 0.7F, 0.1F};
  EXPECT_EQ(classes.probabilities(row), (std::vector<float>{0.2F, 0.7F, 0.1F}));
  EXPECT_EQ(classes.name(1), "dog");
  EXPECT_EQ(Classes(softmax_loss(false), {3}, {}).name(1), "1");
}

TEST(Classes, UseNumbersWithoutNames) {
  EXPECT_EQ(Classes(softmax_loss(false), {3}, {"cat", "dog"}).name(2), "2");
  EXPECT_THROW(Classes(softmax_loss(false), {3}, {"a", "b", "c", "d"}), Error);
}

TEST(Classes, OneSigmoidDistinguishesTwoClasses) {
  nn::BinaryCrossentropySpec spec;
  spec.from_logits = true;
  const Classes classes(nn::loss_family().make(spec), {1}, {"no", "yes"});
  EXPECT_TRUE(classes.known());
  EXPECT_EQ(classes.count(), 2);
  const float logit = -1.0986123F;  // sigmoid 0.25
  EXPECT_NEAR(classes.probabilities(&logit)[1], 0.25F, 1e-6F);
  EXPECT_NEAR(classes.probabilities(&logit)[0], 0.75F, 1e-6F);
}

TEST(Classes, ValuesAreNotClasses) {
  EXPECT_FALSE(Classes(nn::loss_family().make(nn::losses::MeanSquaredError{}), {4}, {}).known());
  EXPECT_FALSE(Classes(nn::loss_family().make(nn::BinaryCrossentropySpec{}), {4}, {}).known());
}

TEST(Classes, AMapHasAClassAtEachPosition) {
  const Classes classes(softmax_loss(true), {2, 3, 4}, {"a", "b", "c", "d"});
  EXPECT_TRUE(classes.known());
  EXPECT_FALSE(classes.one_per_sample());
  EXPECT_EQ(classes.count(), 4);
  EXPECT_EQ(classes.width(), 24);
  EXPECT_EQ(classes.row_width(), 4);
  EXPECT_EQ(classes.positions(), 6);
  const float row[] = {0.0F, 0.0F, 1000.0F, 0.0F};
  EXPECT_EQ(classes.probabilities(row), (std::vector<float>{0, 0, 1, 0}));
  const Classes masks(nn::loss_family().make(nn::BinaryFocalCrossentropySpec{}), {2, 3, 1}, {});
  EXPECT_EQ(masks.count(), 2);
  EXPECT_EQ(masks.positions(), 6);
}

TEST(Confusion, RowsAreTrueColumnsPredicted) {
  Confusion matrix(3);
  matrix.add(0, 0);
  matrix.add(0, 2);
  matrix.add(1, 1);
  matrix.add(2, 0);
  matrix.add(2, 0);
  EXPECT_EQ(matrix.csv(Classes(softmax_loss(false), {3}, {"cat", "big, dog", "owl"})),
            "label,cat,\"big, dog\",owl\ncat,1,0,1\n\"big, dog\",0,1,0\nowl,2,0,0\n");
}

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv_field("Ankle boot"), "Ankle boot");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
}

TEST(Classes, HaveAMapForEachPixel) {
  EXPECT_EQ(Classes(softmax_loss(false), {4, 5, 3}, {}).map(), (Shape{4, 5}));
  EXPECT_EQ(Classes(nn::loss_family().make(nn::BinaryCrossentropySpec{}), {4, 5, 1}, {}).map(), (Shape{4, 5}));
  EXPECT_EQ(Classes(softmax_loss(false), {20, 3}, {}).map().rank(), 0) << "a sequence";
  EXPECT_EQ(Classes(softmax_loss(false), {1, 1, 3}, {}).map().rank(), 0) << "one class per sample";
  EXPECT_EQ(Classes({}, {4, 5, 3}, {}).map().rank(), 0) << "values";
}

}  // namespace
}  // namespace dptrain::evaluation
