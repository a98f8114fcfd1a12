#pragma once

// The section `gates` of a config, or the contents of a --gates file: limits for a model (docs/reference/gates.md).
// Plain values.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/typed.h"

namespace dptrain::experiment {

/// {at_least: x, at_most: y}, or only one of them.
struct Limit {
  std::optional<double> at_least{}, at_most{};
  config::Mark mark{};
};

/// By name, in the file's order.
struct NamedLimits {
  std::vector<std::pair<std::string, Limit>> limits{};
};

struct ClassLimits {
  std::optional<Limit> recall{}, precision{}, iou{};
};
struct NamedClasses {
  std::vector<std::pair<std::string, ClassLimits>> classes{};
  std::vector<config::Mark> marks{};  ///< locations of the names
};

/// The share of correct answers that may be lost against the baseline, with its location.
struct AccuracyDropLimit {
  double value = 0;
  config::Mark mark{};
};

struct SpeedLimit {
  std::optional<double> at_least{};     ///< samples per second
  std::optional<double> of_baseline{};  ///< as a fraction of the baseline's rate
  config::Mark mark{};
};
struct SizeLimit {
  std::optional<std::int64_t> parameters{};
  std::optional<config::ByteSize> file{};
  config::Mark mark{};
};

/// The side that is compared with the baseline: these weights, or the training over all seeds.
enum class ComparisonMode { kTrainings, kModels };

struct GatesSection {
  std::optional<double> confidence;  ///< none: compares the values themselves
  NamedLimits metrics;
  std::optional<Limit> class_recall, class_precision, class_iou;  ///< limits of each class that `classes` omits
  NamedClasses classes;
  std::vector<config::Path> baseline;  ///< run folders
  std::vector<config::Path> runs;      ///< further run folders of the same training as the evaluated one
  ComparisonMode compare = ComparisonMode::kTrainings;
  std::optional<AccuracyDropLimit> drop, class_drop;
  std::optional<SpeedLimit> speed;
  std::optional<SizeLimit> size;
  std::optional<config::Path> junit;

  /// Whether the gates limit the IoU of a class.
  bool limits_iou() const {
    return class_iou ||
           std::ranges::any_of(classes.classes, [](const auto& one) { return one.second.iou.has_value(); });
  }
  /// Whether the gates need a baseline's answers.
  bool pairs() const { return drop.has_value() || class_drop.has_value(); }
};

const config::Schema& gates_schema();

/// Loads a file with the keys of the section, or a config with a section `gates`. Throws Error{kUsage} with all errors.
GatesSection load_gates(const std::string& path);

}  // namespace dptrain::experiment

namespace dptrain::config {
DPTRAIN_CONFIG_VALUE(experiment::GatesSection);
}  // namespace dptrain::config
