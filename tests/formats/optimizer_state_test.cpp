// Slots and steps from files that Keras wrote: scripts/interop/keras_formats.py --golden made them.

#include "formats/checkpoint/optimizer_state.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "formats/keras/keras_import.h"
#include "graph/example.h"
#include "nn/optimizer.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

using test::test_data;

graph::Model model_of_file(const std::string& path) {
  return graph::make_model(graph::graph_of(config::to_yaml(import_model(path, {}).model)), 0);
}

nn::Optimizer optimizer_called(const std::string& name) {
  const config::TypeDef* type = nn::optimizer_family().find(name);
  return config::Typed(*type, type->schema.make());
}

TEST(OptimizerState, WhatKerasHoldsIsRead) {
  const auto held = nlohmann::json::parse(std::ifstream(test_data("golden/keras_optimizers.json")));
  EXPECT_EQ(held.size(), 3U);
  for (const auto& [file, expected] : held.items()) {
    SCOPED_TRACE(file);
    const std::string path = test_data("golden/" + file);
    const OptimizerState state =
        read_optimizer_state(path, optimizer_called(expected["optimizer"]), model_of_file(path));
    EXPECT_EQ(state.iterations, expected["iterations"].get<std::int64_t>());
    EXPECT_EQ(state.slots.size(), expected["slots"].size());
    for (const NamedArray& slot : state.slots)
      EXPECT_EQ(slot.values, expected["slots"].at(slot.name).get<std::vector<float>>()) << slot.name;
  }
}

}  // namespace
}  // namespace dptrain::formats
