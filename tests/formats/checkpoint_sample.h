#pragma once

// States and files shared by the tests of this folder; models are in tests/formats/export_sample.h.

#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "formats/checkpoint/checkpoint.h"
#include "formats/export_sample.h"
#include "support/folder.h"

namespace dptrain::formats::sample {

using test::Folder;

inline std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

inline void put_bytes(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline CheckpointState state_of(const graph::Model& model, std::uint32_t seed = 1) {
  CheckpointState state;
  state.resolved_config = "experiment: {name: tiny}\nmodel: {layers: []}\n# caf\xC3\xA9\n";
  state.trainer =
      R"({"epoch":5,"step":2345,"callbacks":{"ModelCheckpoint":{"best":0.8812,"best_epoch":5}},"sums":{"loss":1.5}})";
  state.class_names = {"T-shirt", "Trouser", "caf\xC3\xA9", "", "Bag"};
  for (const char* slot : {"momentum", "velocity"})
    for (const graph::Weight& weight : model.weights)
      state.arrays.push_back({std::string(slot) + "/" + weight.path(model.graph), weight.def.shape,
                              numbers(weight.values.size(), seed += 77)});
  state.arrays.push_back({"scalar", Shape{}, {3.25F}});
  return state;
}

}  // namespace dptrain::formats::sample
