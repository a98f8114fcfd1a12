#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"
#include "nn/metrics.h"

namespace dptrain::test {
namespace {

TEST(SparseCategoricalCrossentropyLoss, FusedWithSoftmaxAndAllMetrics) {
  LossCase c{.loss = loss(nn::SparseCategoricalCrossentropySpec{}), .output = {kLossWidth}, .from_logits = true};
  c.fusion = Fusion::kSoftmax;
  c.classes = random_classes();
  c.metrics = {metric(nn::AccuracySpec{}), metric(nn::SparseTopKCategoricalAccuracySpec{.k = 2}),
               metric(nn::MeanSquaredErrorMetricSpec{}), metric(nn::MeanAbsoluteErrorMetricSpec{})};
  check_loss(c, random_values(kLossRows * kLossWidth, -4, 4, 1), one_hot(c.classes),
             of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0); }),
             {hit, top2, of_softmax(squared), of_softmax(absolute)});
}

TEST(SparseCategoricalCrossentropyLoss, OneClassPerPosition) {
  LossCase c{.loss = loss(nn::SparseCategoricalCrossentropySpec{}), .output = {3, 2, kLossWidth}, .from_logits = true};
  c.fusion = Fusion::kSoftmax;
  c.classes = random_classes();
  c.classes.resize(36);  // 6 samples of 3x2 positions
  c.metrics = {metric(nn::AccuracySpec{})};
  check_loss(c, random_values(36 * kLossWidth, -4, 4, 51), one_hot(c.classes),
             mean_over_rows(of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0); }), kLossWidth),
             {mean_over_rows(hit, kLossWidth)});
}

}  // namespace
}  // namespace dptrain::test
