#pragma once

// The layers of a Keras `model_config`, as far as one needs to find their weights in a file: names, classes, models
// inside of models. Pure functions; the text may come from anybody.

#include <string>
#include <vector>

namespace dptrain::checkpoint {

struct ConfigLayer {
  std::string name, class_name;
  bool is_model = false;
  std::vector<ConfigLayer> inner;  ///< of a model, in its order
};

/// Of the outermost model, in its order; empty where the text is no model's config.
std::vector<ConfigLayer> config_layers(const std::string& model_config);

/// Whether a model only hands slices of the batch to one inner model and puts the results together again, which is what
/// multi_gpu_model of Keras 2 made; then that inner model's layer.
const ConfigLayer* multi_gpu_core(const std::vector<ConfigLayer>& layers);

}  // namespace dptrain::checkpoint
