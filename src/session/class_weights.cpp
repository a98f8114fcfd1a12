#include "session/class_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/inspection.h"

namespace dptrain::session {
namespace {

[[noreturn]] void fail(const experiment::ClassWeight& setting, const std::string& message) {
  throw config::error_at(ErrorKind::kUsage, setting.mark, "train.class_weight: " + message);
}

/// Index of a class, given by name or by number.
std::optional<std::size_t> find_class(const std::string& key, const std::vector<std::string>& names,
                                      std::size_t classes) {
  const auto found = std::find(names.begin(), names.end(), key);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const auto number = parse_number<std::size_t>(key);
  return number && *number < classes ? number : std::nullopt;
}

std::string expected(const std::vector<std::string>& names, std::size_t classes, const std::string& key) {
  constexpr std::size_t kMaxListed = 20;
  const std::string numbers = fmt::format("0..{}", classes - 1);
  if (names.empty()) return "expected " + numbers + "; the data set has no class names";
  if (names.size() > kMaxListed) return "expected a class name or " + numbers + did_you_mean(key, names);
  return "expected " + join(names, ", ") + " or " + numbers + did_you_mean(key, names);
}

/// Calls `add` with the class of each position of sample `index`; -1 for a value that is not a class, which the loader
/// reports. `row`: memory for the label's values.
template <class Add>
void for_each_class(const ClassWeightContext& context, std::int64_t index, std::vector<float>& row, const Add& add) {
  const data::Source& source = context.labels;
  if (source.label_type(context.which) == data::LabelType::kClass) return add(source.label_class(index, context.which));
  source.label_values(index, row.data(), context.which);
  const std::size_t width = row.size() / static_cast<std::size_t>(context.positions);
  for (auto value = row.begin(); width > 0 && value != row.end(); value += static_cast<std::ptrdiff_t>(width))
    if (width == 1)
      add(std::isfinite(*value) ? std::lrint(*value) : -1);
    else
      add(std::max_element(value, value + static_cast<std::ptrdiff_t>(width)) - value);
}

/// Calls `add` with each class of the training set and its number of positions.
template <class Add>
void for_each_count(const ClassWeightContext& context, const Add& add) {
  const data::Source& source = context.labels;
  if (source.label_type(context.which) == data::LabelType::kMap) {
    for (const auto& [label, count] : data::count_pixel_classes(source, context.which).counts) add(label, count);
    return;
  }
  std::vector<float> row(static_cast<std::size_t>(std::max<std::int64_t>(1, source.label_width(context.which))));
  for (std::int64_t i = 0; i < source.size(); ++i)
    for_each_class(context, i, row, [&](std::int64_t label) { add(label, 1); });
}

std::vector<float> balanced(const experiment::ClassWeight& setting, const ClassWeightContext& context,
                            std::size_t classes) {
  const data::Source& source = context.labels;
  if (source.label_type(context.which) == data::LabelType::kNone) fail(setting, "the data set has no labels");
  std::vector<std::int64_t> counts(classes, 0);
  std::int64_t positions = 0;
  for_each_count(context, [&](std::int64_t label, std::int64_t count) {
    if (label < 0 || label >= static_cast<std::int64_t>(classes) || context.ignored == label) return;
    counts[static_cast<std::size_t>(label)] += count;
    positions += count;
  });
  const auto occurring = classes - static_cast<std::size_t>(std::ranges::count(counts, 0));
  std::vector<float> weights(classes, 1.0F);
  for (std::size_t c = 0; c < classes; ++c)
    if (counts[c] > 0)
      weights[c] = static_cast<float>(static_cast<double>(positions) / static_cast<double>(occurring) /
                                      static_cast<double>(counts[c]));
  return weights;
}

}  // namespace

std::vector<float> class_weights(const experiment::ClassWeight& setting, const ClassWeightContext& context) {
  const auto classes = static_cast<std::size_t>(std::max<std::int64_t>(2, context.outputs));
  if (setting.balanced) return balanced(setting, context, classes);
  const std::vector<std::string> names = context.labels.class_names(context.which);
  std::vector<float> weights(classes, 1.0F);
  std::vector<bool> given(classes, false);
  for (const auto& [key, weight] : setting.weights) {
    const std::optional<std::size_t> which = find_class(key, names, classes);
    if (!which && context.synthetic && names.empty()) continue;
    if (!which) fail(setting, fmt::format("unknown class '{}'; {}", key, expected(names, classes, key)));
    if (given[*which]) fail(setting, fmt::format("class '{}' has two weights, one by name and one by number", key));
    given[*which] = true;
    weights[*which] = static_cast<float>(weight);
  }
  return weights;
}

std::string describe_class_weights(const experiment::ClassWeight& setting, const std::vector<float>& weights,
                                   const std::vector<std::string>& names) {
  constexpr std::size_t kMaxListed = 20;
  std::vector<std::string> parts;
  for (std::size_t c = 0; c < std::min(weights.size(), kMaxListed); ++c)
    parts.push_back(fmt::format("{} {:.4g}", c < names.size() ? names[c] : std::to_string(c), weights[c]));
  if (weights.size() > kMaxListed) parts.emplace_back("...");
  return (setting.balanced ? "balanced: " : "of classes: ") + join(parts, ", ");
}

}  // namespace dptrain::session
