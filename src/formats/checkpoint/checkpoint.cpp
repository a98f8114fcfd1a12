#include "formats/checkpoint/weights.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "dptrain_version.h"
#include "formats/contents.h"
#include "formats/keras/keras_file.h"
#include "formats/pairing.h"

namespace dptrain::formats {
namespace {

/// Convolutions: [out, in, height, width] in PyTorch, [height, width, in, out] in Keras; dense layers likewise.
bool is_pytorch_order(const Shape& file, const Shape& model) {
  if (file.rank() < 2 || file.rank() != model.rank()) return false;
  std::vector<std::int64_t> turned(file.dims().begin() + 2, file.dims().end());
  turned.insert(turned.end(), {file[1], file[0]});
  return Shape(std::move(turned)) == model;
}

using LoadStatus = WeightsReport::LoadStatus;

bool any_match(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return glob_match(p, name); });
}

std::string listed(const std::vector<std::string>& mismatches) {
  constexpr std::size_t kMax = 10;  // the list for another network is long
  if (mismatches.size() == 1) return mismatches.front();
  std::string text;
  for (std::size_t i = 0; i < std::min(mismatches.size(), kMax); ++i) text += "\n  " + mismatches[i];
  if (mismatches.size() > kMax) text += fmt::format("\n  and {} more", mismatches.size() - kMax);
  return text;
}

/// One load: pairs, checks, reads, fills. All mismatches are collected first.
class Load {
 public:
  Load(const StoredLayers& stored, const graph::WeightsSpec& spec, graph::Model& model, Coverage coverage)
      : stored_(stored), spec_(spec), model_(model), coverage_(coverage), sides_(stored, model, spec) {
    pairing_ = pair_layers(sides_, spec);
    if (!pairing_.failure.empty()) {
      mismatches_.push_back(pairing_.failure);
      return;
    }
    for (const Pair& pair : pairing_.pairs) {
      source_of_[pair.layer] = pair.stored;
      used_.insert(pair.stored);
    }
    for (const int layer : graph::keras_order(model.graph))
      if (!layer_of(layer).weights.empty()) plan_layer(layer);
    for (const std::size_t s : sides_.source)
      if (!used_.contains(s)) plan_unused(stored.layers[s]);
    check_expected();
  }

  const std::vector<std::string>& mismatches() const noexcept { return mismatches_; }
  /// Whether no weight can be loaded, although the file or the model has weights: the wrong file.
  bool has_no_effect() const noexcept { return reads_.empty() && !(sides_.source.empty() && sides_.target.empty()); }

  /// Reads all weights before it replaces the first, so a damaged file leaves the model unchanged.
  WeightsReport fill(const std::string& file) {
    std::vector<std::pair<int, std::vector<float>>> loaded;
    for (const auto& [weight, dataset] : reads_) loaded.emplace_back(weight, dataset->floats());
    for (auto& [weight, values] : loaded) model_.weights[static_cast<std::size_t>(weight)].values = std::move(values);
    return {file, stored_.layout, pairing_.how, stored_.notes, std::move(rows_)};
  }

 private:
  const graph::Layer& layer_of(int index) const { return model_.graph.layers[static_cast<std::size_t>(index)]; }
  const nn::WeightDef& def(int weight) const { return model_.weights[static_cast<std::size_t>(weight)].def; }

  std::string shapes(const graph::Layer& layer) const {
    std::vector<std::string> all;
    for (const int w : layer.weights) all.push_back(fmt::format("{} {}", def(w).name, def(w).shape.str()));
    return join(all, ", ");
  }

  /// Adds a mismatch, unless the spec skips them.
  void mismatch(const std::string& text) {
    if (!spec_.skip_mismatch) mismatches_.push_back(text);
  }

  void plan_layer(int index) {
    const graph::Layer& layer = layer_of(index);
    const auto found = source_of_.find(index);
    if (any_match(spec_.ignore, layer.name)) return row(LoadStatus::kInitialised, layer, "", "by 'ignore'");
    if (found == source_of_.end()) {
      if (coverage_ == Coverage::kAll) mismatches_.push_back(fmt::format("layer '{}' is not in the file", layer.name));
      const bool outside = std::find(sides_.target.begin(), sides_.target.end(), index) == sides_.target.end();
      return row(LoadStatus::kInitialised, layer, "", outside ? "beyond 'up_to'" : "not in the file");
    }
    const StoredLayer& source = stored_.layers[found->second];
    const std::string called = source.name == layer.name ? "" : fmt::format(" ('{}' there)", source.full_name());
    const bool quantized = std::ranges::any_of(source.weights, &StoredArray::is_int8);
    if (quantized || source.weights.size() != layer.weights.size()) {
      const std::string reason =
          quantized
              ? "quantized weights in the file (int8 or int4), which are not supported: save the model before "
                "quantize()"
              : fmt::format("{} weights in the file, {} in the model", source.weights.size(), layer.weights.size());
      mismatch(fmt::format("layer '{}'{} has {}", layer.name, called, reason));
      return row(LoadStatus::kInitialised, layer, source.full_name(), reason);
    }
    plan_weights(layer, source, called);
  }

  void plan_weights(const graph::Layer& layer, const StoredLayer& source, const std::string& called) {
    std::vector<std::string> reasons;
    for (std::size_t i = 0; i < layer.weights.size(); ++i) {
      const nn::WeightDef& weight = def(layer.weights[i]);
      if (const Shape shape = source.weights[i].shape(); shape != weight.shape) {
        reasons.push_back(fmt::format(
            "{} is {} in the file, {} in the model{}", weight.name, shape.str(), weight.shape.str(),
            is_pytorch_order(shape, weight.shape) ? "; PyTorch has this order, [out, in, ...]: transpose it "
                                                    "to Keras's [..., in, out]"
                                                  : ""));
        mismatch(fmt::format("layer '{}'{} {}", layer.name, called, reasons.back()));
      } else {
        reads_.emplace_back(layer.weights[i], &source.weights[i]);
      }
    }
    const LoadStatus status = reasons.empty()                          ? LoadStatus::kLoaded
                              : reasons.size() == layer.weights.size() ? LoadStatus::kInitialised
                                                                       : LoadStatus::kPartly;
    row(status, layer, source.full_name(), join(reasons, "; "));
  }

  void plan_unused(const StoredLayer& source) {
    const std::string name = source.full_name();
    if (coverage_ == Coverage::kAll)
      mismatches_.push_back(fmt::format("layer '{}' of the file is not in the model", name));
    std::vector<std::string> shapes;
    for (std::size_t i = 0; i < source.weights.size(); ++i)
      shapes.push_back(fmt::format("{} {}", source.short_name(i), source.weights[i].shape().str()));
    rows_.push_back({LoadStatus::kUnused, name, name, join(shapes, ", "), "no layer of the model matches it"});
  }

  void row(LoadStatus status, const graph::Layer& layer, const std::string& source, const std::string& reason) {
    rows_.push_back({status, layer.name, source, shapes(layer), reason});
  }

  void check_expected() {
    for (const WeightsReport::Row& row : rows_)
      if (row.status != LoadStatus::kLoaded && row.status != LoadStatus::kUnused && any_match(spec_.expect, row.layer))
        mismatches_.push_back(fmt::format("layer '{}' is expected from the file: {}", row.layer, row.reason));
  }

  const StoredLayers& stored_;
  const graph::WeightsSpec& spec_;
  graph::Model& model_;
  const Coverage coverage_;
  const Sides sides_;
  Pairing pairing_;
  std::map<int, std::size_t> source_of_;
  std::set<std::size_t> used_;
  std::vector<std::pair<int, const StoredArray*>> reads_;  ///< weight of the model, its values
  std::vector<WeightsReport::Row> rows_;
  std::vector<std::string> mismatches_;
};

/// Names of layers on both sides, for the message that no layer is paired.
std::string both_names(const Sides& sides) {
  constexpr std::size_t kMax = 3;
  std::vector<std::string> file, model;
  for (const std::size_t s : sides.source)
    if (file.size() < kMax) file.push_back(sides.stored.layers[s].full_name());
  for (const int layer : sides.target)
    if (model.size() < kMax) model.push_back(sides.model.graph.layers[static_cast<std::size_t>(layer)].name);
  return fmt::format("the file has {} with weights ({}{}), the model {} ({}{})", counted(sides.source.size(), "layer"),
                     join(file, ", "), sides.source.size() > kMax ? ", ..." : "", sides.target.size(),
                     join(model, ", "), sides.target.size() > kMax ? ", ..." : "");
}

std::uint64_t expected_bytes(const CheckpointState& state) {
  std::uint64_t floats = 0;
  for (const NamedArray& array : state.arrays) floats += array.values.size();
  return keras::expected_bytes(floats, state.arrays.size()) + state.resolved_config.size() + state.trainer.size() +
         state.fitted_state.size();
}

void put_state(Hdf5Writer& file, const CheckpointState& state) {
  const std::string group = kStateGroup;
  file.group(group);
  file.number_attribute(group, "format", kStateFormat);
  file.text_attribute(group, "dptrain_version", std::string(kVersion));
  if (!state.resolved_config.empty()) file.text(group + "/resolved_config", state.resolved_config);
  if (!state.trainer.empty()) file.text(group + "/trainer", state.trainer);
  if (state.arrays.empty()) return;
  file.group(group + "/arrays");
  std::vector<std::string> names;
  for (const NamedArray& array : state.arrays) {
    file.floats(group + "/arrays/" + array.name, array.shape, array.values);
    names.push_back(array.name);
  }
  file.list_attribute(group + "/arrays", "names", names);
}

graph::WeightsSpec own_names(const std::string& path) {
  graph::WeightsSpec spec;
  spec.file.value = path;
  spec.match = graph::WeightsMatch::kName;
  return spec;
}

}  // namespace

std::uint64_t save_checkpoint(const std::string& path, const graph::Model& model, const CompileConfig& compiled,
                              const CheckpointState& state) {
  Hdf5Writer file(keras::expected_bytes(model) + expected_bytes(state));
  keras::put_model(
      file,
      {.model = model, .compiled = compiled, .class_names = state.class_names, .fitted_state = state.fitted_state});
  put_state(file, state);
  return keras::write_sealed(path, file);
}

CheckpointState read_state(const std::string& path) { return FileContents::open(path).state(); }

ClassNames read_class_names(const std::string& path) { return FileContents::open(path).class_names(); }

std::string read_fitted_state(const std::string& path) {
  try {
    return FileContents::open(path).fitted_state();
  } catch (const Error& error) {
    log::debug(error.what());
    return "";
  }
}

bool is_checkpoint(const std::string& path) {
  try {
    const FileContents contents = FileContents::open(path);
    return contents.has_state() || contents.has_layers();
  } catch (const Error&) {
    return false;
  }
}

bool is_weights_only(const std::string& path) {
  try {
    const FileContents contents = FileContents::open(path);
    return !contents.has_state() && contents.has_layers();
  } catch (const Error&) {
    return false;
  }
}

bool has_model(const std::string& path) { return !FileContents::open(path).model_config().empty(); }

void load_weights(const std::string& path, graph::Model& model) { load_weights(FileContents::open(path), model); }

void load_weights(const FileContents& contents, graph::Model& model) {
  load_weights(contents, own_names(contents.file().name()), model, Coverage::kAll);
}

WeightsReport load_weights(const graph::WeightsSpec& spec, graph::Model& model, Coverage coverage) {
  return load_weights(FileContents::open(spec.file.value), spec, model, coverage);
}

WeightsReport load_weights(const FileContents& contents, const graph::WeightsSpec& spec, graph::Model& model,
                           Coverage coverage) {
  const StoredLayers stored = contents.stored();
  Load load(stored, spec, model, coverage);
  if (!load.mismatches().empty())
    contents.file().refuse(
        fmt::format("is {}: {}", coverage == Coverage::kAll ? "a checkpoint of another model" : "not of this model",
                    listed(load.mismatches())));
  if (load.has_no_effect())
    contents.file().refuse(fmt::format("has no weights for this model: {}; try match: topology, or rename",
                                       both_names(Sides(stored, model, spec))));
  return load.fill(contents.file().name());
}

void load_average(const std::vector<std::string>& files, graph::Model& model) {
  std::vector<std::vector<double>> sums(model.weights.size());
  for (const std::string& file : files) {
    graph::WeightsSpec spec;
    spec.file.value = file;
    load_weights(spec, model, Coverage::kAll);
    for (std::size_t w = 0; w < sums.size(); ++w) {
      const std::vector<float>& values = model.weights[w].values;
      sums[w].resize(values.size());
      std::ranges::transform(sums[w], values, sums[w].begin(), std::plus<>());
    }
  }
  for (std::size_t w = 0; w < sums.size(); ++w)
    std::ranges::transform(sums[w], model.weights[w].values.begin(),
                           [&](double sum) { return static_cast<float>(sum / static_cast<double>(files.size())); });
}

}  // namespace dptrain::formats
