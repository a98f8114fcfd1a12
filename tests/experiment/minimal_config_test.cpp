// `config --minimal`: only values other than the defaults.

#include <gtest/gtest.h>

#include "config/node.h"
#include "experiment/experiment.h"

namespace dptrain::experiment {
namespace {

TEST(Minimal, TransformsOmitTheirDefaults) {
  const Experiment experiment = load_experiment_text(
      "dptrain: 1\n"
      "name: small\n"
      "model: {layers: [{Input: {shape: [8, 8, 1]}}, Flatten, {Dense: 2}]}\n"
      "data:\n"
      "  transforms:\n"
      "    train: [RandomFlip, {Rescaling: {scale: 0.5, offset: 0}}]\n"
      "    eval: [{Rescaling: {scale: 0.5, offset: -1}}]\n",
      "small.yaml", {});
  const std::string text = config::to_yaml(resolved(experiment, true));
  EXPECT_NE(text.find("    train:\n      - RandomFlip\n      - Rescaling: {scale: 0.5}\n"
                      "    eval:\n      - Rescaling: {scale: 0.5, offset: -1}\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace dptrain::experiment
