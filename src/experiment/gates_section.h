#pragma once

// The section `gates` of a config, and the whole of a file for --gates: limits that a model must keep. docs/gates.md
// says what each key means. Plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/typed.h"

namespace dptrain::experiment {

/// {at_least: x, at_most: y}, or one of both.
struct Limit {
  std::optional<double> at_least{}, at_most{};
  config::Mark mark{};
};

/// By name, in the order of the file.
struct NamedLimits {
  std::vector<std::pair<std::string, Limit>> limits{};
};

struct ClassLimits {
  std::optional<Limit> recall{}, precision{};
};
struct NamedClasses {
  std::vector<std::pair<std::string, ClassLimits>> classes{};
  std::vector<config::Mark> marks{};  ///< of the names
};

/// A share of right answers that may be lost against the baseline, and where it is written.
struct LostShare {
  double value = 0;
  config::Mark mark{};
};

struct SpeedLimit {
  std::optional<double> at_least{};     ///< samples a second
  std::optional<double> of_baseline{};  ///< the share of the baseline's
  config::Mark mark{};
};
struct SizeLimit {
  std::optional<std::int64_t> parameters{};
  std::optional<config::ByteSize> file{};
  config::Mark mark{};
};

/// The side that is compared with the baseline: these weights, or the training over all seeds.
enum class Compared { kTrainings, kModels };

struct GatesSection {
  std::optional<double> confidence;  ///< none: the values themselves are compared
  NamedLimits metrics;
  std::optional<Limit> class_recall, class_precision;  ///< of every class that `classes` does not name
  NamedClasses classes;
  std::vector<config::Path> baseline;  ///< folders of runs
  std::vector<config::Path> runs;      ///< of the same training as the one that is judged
  Compared compare = Compared::kTrainings;
  std::optional<LostShare> drop, class_drop;
  std::optional<SpeedLimit> speed;
  std::optional<SizeLimit> size;
  std::optional<config::Path> junit;

  /// Whether answers of a baseline are needed.
  bool pairs() const { return drop.has_value() || class_drop.has_value(); }
};

const config::Schema& gates_schema();

/// A file that holds the keys of the section, or a config with the section `gates`. Throws Error{kUsage} with every
/// error.
GatesSection load_gates(const std::string& path);

}  // namespace dptrain::experiment

namespace dptrain::config {

template <>
struct Value<experiment::GatesSection> {
  static bool read(const Node& node, Reader& reader, experiment::GatesSection& out);
  static Node write(const experiment::GatesSection& value);
  static Node schema();
};

}  // namespace dptrain::config
