#include <algorithm>

#include "checkpoint/contents.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::checkpoint {
namespace {

/// Everything that does not fit, layer by layer, in the words of the error.
class Fit {
 public:
  Fit(const std::vector<StoredLayer>& stored, const graph::Model& model) : stored_(stored), model_(model) {
    for (const graph::Layer& layer : model.graph.layers) check(layer);
    for (const StoredLayer& layer : stored)
      if (!layer.weights.empty() && !in_model(layer.name))
        misfits_.push_back(fmt::format("layer '{}' of the file is not in the model", layer.name));
  }

  const std::vector<std::string>& misfits() const noexcept { return misfits_; }
  /// Sources of the layer's weights, in its order.
  const StoredLayer& source(const graph::Layer& layer) const { return *find(layer.name); }

 private:
  const StoredLayer* find(const std::string& name) const {
    const auto found =
        std::find_if(stored_.begin(), stored_.end(), [&](const StoredLayer& l) { return l.name == name; });
    return found == stored_.end() ? nullptr : &*found;
  }

  bool in_model(const std::string& name) const {
    return std::any_of(model_.graph.layers.begin(), model_.graph.layers.end(),
                       [&](const graph::Layer& layer) { return layer.name == name && !layer.weights.empty(); });
  }

  void check(const graph::Layer& layer) {
    if (layer.weights.empty()) return;
    const StoredLayer* const source = find(layer.name);
    if (source == nullptr) return misfits_.push_back(fmt::format("layer '{}' is not in the file", layer.name));
    if (source->weights.size() != layer.weights.size())
      return misfits_.push_back(fmt::format("layer '{}' has {} weights in the file, {} in the model", layer.name,
                                            source->weights.size(), layer.weights.size()));
    for (std::size_t i = 0; i < layer.weights.size(); ++i) {
      const layers::WeightDef& def = model_.weights[static_cast<std::size_t>(layer.weights[i])].def;
      if (const Shape found = source->weights[i].shape(); found != def.shape)
        misfits_.push_back(fmt::format("layer '{}' {} is {} in the file, {} in the model", layer.name, def.name,
                                       found.str(), def.shape.str()));
    }
  }

  const std::vector<StoredLayer>& stored_;
  const graph::Model& model_;
  std::vector<std::string> misfits_;
};

std::string listed(const std::vector<std::string>& misfits) {
  constexpr std::size_t kMost = 10;  // a whole other network would fill screens
  if (misfits.size() == 1) return misfits.front();
  std::string text;
  for (std::size_t i = 0; i < std::min(misfits.size(), kMost); ++i) text += "\n  " + misfits[i];
  if (misfits.size() > kMost) text += fmt::format("\n  and {} more", misfits.size() - kMost);
  return text;
}

}  // namespace

State read_state(const std::string& path) { return Contents::open(path).state(); }

std::vector<std::string> read_class_names(const std::string& path) { return Contents::open(path).class_names(); }

bool is_checkpoint(const std::string& path) {
  try {
    const Contents contents = Contents::open(path);
    return contents.has_state() || contents.has_layers();
  } catch (const Error&) {
    return false;
  }
}

void load_weights(const std::string& path, graph::Model& model) { load_weights(Contents::open(path), model); }

void load_weights(const Contents& contents, graph::Model& model) {
  const std::vector<StoredLayer> stored = contents.layers();
  const Fit fit(stored, model);
  if (!fit.misfits().empty())
    contents.file().refuse(fmt::format("is a checkpoint of another model: {}", listed(fit.misfits())));
  // All are read before the first is replaced: a damaged file leaves the model as it was.
  std::vector<std::pair<int, std::vector<float>>> loaded;
  for (const graph::Layer& layer : model.graph.layers)
    for (std::size_t i = 0; i < layer.weights.size(); ++i)
      loaded.emplace_back(layer.weights[i], fit.source(layer).weights[i].floats());
  for (auto& [index, values] : loaded) model.weights[static_cast<std::size_t>(index)].values = std::move(values);
}

}  // namespace dptrain::checkpoint
