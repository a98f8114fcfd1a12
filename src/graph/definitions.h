#pragma once

// The `blocks:` and `shared:` of a model, read but not expanded.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.h"

namespace dptrain::graph {

// One entry of a `layers:` list: the type, its arguments, and the six arguments that every step may have.

struct ListedStep {
  std::string type;
  config::Mark mark;       ///< location of the type's name
  config::Node arguments;  ///< as written, including reserved ones

  const config::Node* reserved(const char* key) const { return arguments.is_map() ? arguments.find(key) : nullptr; }
};

/// name, inputs, device, repeat, trainable, if. Only `name` is also a constructor argument of Keras layers.
const std::vector<std::string>& reserved_arguments();
const std::vector<std::string>& reserved_layer_arguments();

/// Reads `Type`, `Type: value` or `Type: {arguments}`. Returns nothing after reporting an error.
std::optional<ListedStep> read_step(const config::Node& node, config::Reader& reader);

// Names of layers and steps: Keras's rules for valid and automatic names.

/// "MaxPooling2D" -> "max_pooling2d", "ReLU" -> "re_lu" (Keras to_snake_case).
std::string snake_case(std::string_view class_name);
/// Keras's name for an unnamed layer of this type, without the number: snake_case, "input_layer" for Input.
std::string automatic_base(std::string_view type);
/// The rule that the name breaks, or "". Keras and HDF5 paths require [A-Za-z0-9.][A-Za-z0-9_.-]*.
std::string name_error(const std::string& name);
/// Name of the n-th copy (from 1) of a repeated step: conv1, conv2; stage1_1 when the name already ends in a digit.
std::string repeated_name(const std::string& name, std::int64_t n);
/// "block1" + "conv1" = "block1_conv1"; either may be empty.
std::string join_names(const std::string& base, const std::string& local);

/// Numbers names as Keras does (conv2d, conv2d_1, ...) and skips those that are taken.
class AutoNames {
 public:
  std::string next(const std::string& base) {
    std::string name;
    do {
      const int n = count_[base]++;
      name = n == 0 ? base : base + "_" + std::to_string(n);
    } while (taken_.contains(name));
    return name;
  }
  void take(const std::string& name) { taken_.insert(name); }

 private:
  std::map<std::string, int> count_;
  std::set<std::string> taken_;
};

/// One of a block's `params:`.
struct Parameter {
  std::string name;
  std::optional<config::Node> fallback;  ///< absent: required
};

/// A layer type composed of layers. Every use has its own weights.
struct Block {
  std::vector<std::string> inputs;  ///< names of its inputs; empty: one, called input
  std::vector<Parameter> parameters;
  config::Node layers;
};

/// A layer, or a list of layers, with one set of weights that all uses share.
struct Shared {
  config::Mark mark;
  config::Node definition;          ///< one step, or a list of them
  std::vector<std::string> inputs;  ///< as in Block; only for a list
};

struct Definitions {
  std::map<std::string, Block> blocks;
  std::map<std::string, Shared> shared;

  /// Every type name that a step can have: built-in layers, networks, blocks, shared layers.
  std::vector<std::string> type_names() const;
};

/// Reads `params` and `layers` of a block; `others` are the caller's keys. Returns nullopt after reporting an error.
std::optional<Block> read_block(const config::Node& node, const config::Mark& mark, std::vector<std::string> others,
                                config::Reader& reader);
/// Reports and omits invalid entries. `model` is the map of the section.
Definitions read_definitions(const config::Node& model, config::Reader& reader);

}  // namespace dptrain::graph
