#include "formats/checkpoint/optimizer_state.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include <nlohmann/json.hpp>

#include "config/config_loader.h"
#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"
#include "formats/contents.h"
#include "formats/keras/keras_definition.h"
#include "formats/keras3/keras3_config.h"
#include "formats/pairing.h"
#include "nn/optimizer.h"

namespace dptrain::formats {
namespace {

constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 48;

/// A variable in Keras's list.
struct Variable {
  std::string name;  ///< "Adam/m/dense/kernel:0"; in a .keras its number
  Hdf5Dataset values;
};

std::vector<Variable> variables_of(const FileContents& contents) {
  std::vector<Variable> all;
  if (const auto group = contents.root.find_group("optimizer_weights")) {
    for (const std::string& name : group->list("weight_names")) all.push_back({name, group->dataset(name)});
    return all;
  }
  const auto optimizer = contents.root.find_group("optimizer");
  const auto vars = optimizer ? optimizer->find_group("vars") : std::nullopt;
  if (!vars) return all;
  const std::size_t count = vars->names().size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    if (!vars->contains(name)) contents.file().throw_damaged(fmt::format("its optimizer has no variable {}", name));
    all.push_back({name, vars->dataset(name)});
  }
  return all;
}

/// Class of the optimizer, "Adam" for {"class_name": "Custom>Adam", "config": {...}}; "" if the file has none.
std::string class_of(const FileContents& contents) {
  const nlohmann::json model = nlohmann::json::parse(contents.model_config(), nullptr, false),
                       training = nlohmann::json::parse(contents.training_config(), nullptr, false);
  const nlohmann::json* optimizer = &at(at(model, "compile_config"), "optimizer");
  if (optimizer->is_null()) optimizer = &at(training, "optimizer_config");
  if (optimizer->is_string()) return optimizer->get<std::string>();
  const std::string name = text_at(*optimizer, "class_name");
  return name.substr(name.rfind('>') + 1);
}

void check_same(const FileContents& contents, const std::string& found, const config::Typed& optimizer) {
  const auto* type = nn::optimizer_family().find(found);
  if (type == nullptr)
    contents.file().refuse(fmt::format("was trained with {}, which dptrain does not support", found));
  if (type->name != optimizer.name())
    contents.file().refuse(
        fmt::format("was trained with {}, but the config's optimizer is {}: use the former to continue with its state",
                    type->name, optimizer.name()));
}

/// Optimizer in the config of a dptrain checkpoint, or "".
std::string trained_with(const FileContents& contents) {
  config::Diagnostics ignored;
  const config::Node saved = config::load_text(contents.resolved_config(), contents.file().name(), ".", ignored);
  const config::Node* const train = saved.find("train");
  const config::Node* const optimizer = train == nullptr ? nullptr : train->find("optimizer");
  if (optimizer == nullptr) return "";
  if (optimizer->is_scalar()) return optimizer->str();
  return optimizer->is_map() && optimizer->entries().size() == 1 ? optimizer->entries().front().key : "";
}

/// Whether the file has one slot of all weights, then the next, as before Keras 2.11: names end with the slot.
bool slot_by_slot(const std::vector<Variable>& variables) {
  static constexpr std::array<const char*, 9> kSlots{"m",  "v",           "vhat",       "momentum", "rms",
                                                     "mg", "accumulator", "accum_grad", "accum_var"};
  std::size_t found = 0;
  for (const Variable& variable : variables) {
    const std::string last = variable.name.substr(variable.name.rfind('/') + 1);
    const std::string word = last.substr(0, last.find(':'));
    if (variable.name.find('/') != std::string::npos && std::ranges::find(kSlots, word) != kSlots.end()) ++found;
  }
  return found > 0 && found + 2 >= variables.size();  // all but the steps and Nadam's product
}

class OptimizerStateReader {
 public:
  OptimizerStateReader(const FileContents& contents, const config::Typed& optimizer, const graph::Model& model)
      : contents_(contents), optimizer_(optimizer), model_(model), variables_(variables_of(contents)) {}

  OptimizerState take() {
    check_optimizer();
    const std::vector<std::string> names = slot_names();
    std::size_t next = first_slot(names.size());
    OptimizerState state;
    state.iterations = iterations();
    for (const std::string& name : names) {
      const Hdf5Dataset& values = variables_[next++].values;
      const Shape& shape = shape_of_.at(name);
      if (values.shape() != shape)
        contents_.file().refuse(
            fmt::format("has an optimizer state that does not fit this model: '{}' is {} in the file, {} in this model",
                        name, values.shape().str(), shape.str()));
      state.slots.push_back({name, shape, values.floats()});
    }
    return state;
  }

 private:
  void check_optimizer() const {
    if (variables_.empty())
      contents_.file().refuse(
          "contains no optimizer state: its model was never trained, or saved without it (include_optimizer=False, "
          "weights alone)");
    const std::string found = class_of(contents_);
    if (found.empty()) contents_.file().refuse("does not name the optimizer of its state");
    check_same(contents_, found, optimizer_);
  }

  /// The model's trained weights in the order of the file's layers.
  std::vector<int> trained() const {
    const StoredLayers stored = contents_.stored();
    const graph::WeightsSpec spec;
    const Sides sides(stored, model_, spec);
    Pairing pairing = pair_layers(sides, spec);
    if (!pairing.failure.empty()) contents_.file().refuse("is not of this model: " + pairing.failure);
    std::ranges::sort(pairing.pairs, {}, &Pair::stored);
    std::vector<int> trained;
    for (const Pair& pair : pairing.pairs)
      for (const int weight : model_.graph.layers[static_cast<std::size_t>(pair.layer)].weights)
        if (model_.weights[static_cast<std::size_t>(weight)].trainable) trained.push_back(weight);
    const auto all = std::ranges::count_if(model_.weights, [](const graph::Weight& w) { return w.trainable; });
    if (static_cast<std::ptrdiff_t>(trained.size()) != all)
      contents_.file().refuse(
          "does not contain every trained layer of this model, so its optimizer state cannot be used");
    return trained;
  }

  std::string name_of(const std::string& slot, int index) {
    const graph::Weight& weight = model_.weights[static_cast<std::size_t>(index)];
    std::string name = slot + "/" + weight.path(model_.graph);
    shape_of_.emplace(name, weight.def.shape);
    return name;
  }

  /// In the order of the file.
  std::vector<std::string> slot_names() {
    std::vector<std::string> names;
    const std::vector<int> weights = trained();
    const auto add = [&](std::span<const std::string> group) {
      for (const int weight : weights)
        for (const std::string& slot : group) names.push_back(name_of(slot, weight));
    };
    const bool apart = slot_by_slot(variables_);
    for (const std::vector<std::string>& group : keras::slot_groups(optimizer_))
      for (std::size_t i = 0; i < group.size(); i += apart ? 1 : group.size())
        add(std::span(group).subspan(i, apart ? 1 : group.size()));
    return names;
  }

  /// The order is: steps done, learning rate (optional), slots, Nadam's product (optional).
  std::size_t first_slot(std::size_t slots) const {
    const bool product = keras::momentum_product(optimizer_, 0).has_value();
    const std::size_t others = variables_.size() - 1, most = product ? 2 : 1;
    const bool scalar = others > slots && variables_[1].values.shape().rank() == 0;
    if (others < slots || others - slots > most || (others > slots && !scalar && !product))
      contents_.file().refuse(
          fmt::format("has an optimizer state that does not fit: it has {} variables, but the trained weights and "
                      "optimizer settings of the config need {}",
                      others, slots));
    return scalar ? 2 : 1;
  }

  std::int64_t iterations() const {
    const std::int64_t steps = variables_.front().values.whole_number();
    if (steps < 0 || steps > static_cast<std::int64_t>(kMaxSteps))
      contents_.file().throw_damaged(fmt::format("its optimizer has done {} steps", steps));
    return steps;
  }

  const FileContents& contents_;
  const config::Typed& optimizer_;
  const graph::Model& model_;
  const std::vector<Variable> variables_;
  std::map<std::string, Shape> shape_of_;
};

OptimizerState own_state(const FileContents& contents, const config::Typed& optimizer) {
  if (const std::string found = trained_with(contents); !found.empty()) check_same(contents, found, optimizer);
  const nlohmann::json trainer = nlohmann::json::parse(contents.trainer(), nullptr, false);
  const auto count = [&](const char* key) {
    const nlohmann::json& steps = at(trainer, key);
    return steps.is_number_unsigned() ? std::min(steps.get<std::uint64_t>(), kMaxSteps) : 0;
  };
  OptimizerState state{.iterations = static_cast<std::int64_t>(count("step") + count("earlier_steps"))};
  for (const auto& [name, dataset] : contents.arrays())
    if (!name.starts_with("callback")) state.slots.push_back({name, dataset.shape(), dataset.floats()});
  return state;
}

}  // namespace

OptimizerState read_optimizer_state(const FileContents& contents, const config::Typed& optimizer,
                                    const graph::Model& model) {
  return contents.has_state() ? own_state(contents, optimizer)
                              : OptimizerStateReader(contents, optimizer, model).take();
}

OptimizerState read_optimizer_state(const std::string& path, const config::Typed& optimizer,
                                    const graph::Model& model) {
  return read_optimizer_state(FileContents::open(path), optimizer, model);
}

}  // namespace dptrain::formats
