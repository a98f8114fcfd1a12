#pragma once

// Keys of data sets with masks: the color of each class.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/schema.h"
#include "data/images/mask.h"

namespace dptrain::data {

/// {road: "#804080", sky: "#4682B4"}: names and colors of class 0, 1, ...
struct MaskClasses {
  std::vector<std::pair<std::string, Rgb>> entries;
  bool operator==(const MaskClasses&) const = default;

  std::vector<std::string> names() const;
};

struct MaskColors {
  MaskClasses classes;             ///< empty: masks contain class numbers
  std::vector<Rgb> ignore_colors;  ///< become `ignore_class` of the data set
};

/// Adds the keys of MaskColors to the schema of a Spec that derives from it.
template <class Spec>
config::Schema with_mask_keys(config::Schema schema) {
  const auto add = [&](const auto& k) { schema.add(k.template field<Spec>()); };
  add(config::key("classes", &MaskColors::classes)
          .doc("color of each class in masks of colors, as in `{road: \"#804080\", sky: \"#4682B4\"}`, in the order of "
               "the class numbers; default: the values of indexed and gray PNG files are class numbers"));
  add(config::key("ignore_colors", &MaskColors::ignore_colors)
          .doc("colors of pixels that get the label `ignore_class` of the data set"));
  return schema;
}

/// Returns an error message for the keys, or "".
std::string check_mask_colors(const MaskColors& colors, const std::optional<std::int64_t>& ignore_class);
/// Options of reading for keys without errors.
MaskReading mask_reading(const MaskColors& colors, const std::optional<std::int64_t>& ignore_class);

}  // namespace dptrain::data

namespace dptrain::config {
DPTRAIN_CONFIG_VALUE(data::Rgb);
DPTRAIN_CONFIG_VALUE(data::MaskClasses);
}  // namespace dptrain::config
