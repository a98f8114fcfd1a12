#pragma once

// A folder with tiny.yaml, a network that trains in milliseconds on generated data, and dptrain run in this folder.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/process.h"

namespace dptrain::test {

inline constexpr const char* kTiny =
    "dptrain: 1\n"
    "name: tiny\n"
    "model:\n"
    "  layers:\n"
    "    - Input: {shape: [6, 6, 1]}\n"
    "    - Conv2D: {filters: 5, kernel_size: 3, activation: relu}\n"
    "    - Flatten\n"
    "    - Dense: {units: 3, activation: softmax}\n"
    "data:\n"
    "  train: {Synthetic: {samples: 50, class_names: [cat, dog, owl]}}\n"
    "  validation: {Synthetic: {samples: 13, class_names: [cat, dog, owl]}}\n"
    "train:\n"
    "  epochs: 2\n"
    "  batch_size: 16\n"
    "  optimizer: {SGD: {learning_rate: 0.1}}\n"
    "  loss: categorical_crossentropy\n"
    "  metrics: [accuracy]\n";

class TinyNetwork : public ::testing::Test {
 protected:
  TinyNetwork() : here_(std::string("tiny-") + ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    here_.write("tiny.yaml", kTiny);
  }

  Outcome dptrain(const std::vector<std::string>& words) const { return here_.run(words); }
  /// Expects the exit code, and `message` in stderr.
  void expect(int code, const std::string& message, const std::vector<std::string>& words) const {
    const Outcome outcome = dptrain(words);
    EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }

  Workplace here_;
};

}  // namespace dptrain::test
