#include "data/images/mask_colors.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "config/json_fragment.h"
#include "core/format.h"

namespace dptrain::config {

bool Value<data::Rgb>::read(const Node& node, Reader& reader, data::Rgb& out) {
  const Node found = reader.substituted(node);
  const std::string text = found.is_scalar() ? found.str() : "";
  const bool is_color =
      text.size() == 7 && text[0] == '#' &&
      std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!is_color) {
    reader.expected(found, "a color in quotes, as in \"#804080\" (without quotes, # begins a comment)");
    return false;
  }
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = static_cast<std::uint8_t>(std::stoul(text.substr(1 + 2 * c, 2), nullptr, 16));
  return true;
}

Node Value<data::Rgb>::write(const data::Rgb& value) { return Node::text(data::color_text(value)); }

Node Value<data::Rgb>::schema() { return fragment::types({"string"}); }

bool Value<data::MaskClasses>::read(const Node& node, Reader& reader, data::MaskClasses& out) {
  out.entries.clear();
  const Node found = reader.substituted(node);
  if (!found.is_map()) {
    reader.expected(found, "the color of each class, as in {road: \"#804080\", sky: \"#4682B4\"}");
    return false;
  }
  bool good = true;
  for (const Node::Entry& entry : found.entries()) {
    const Reader::Key element(reader, reader.key() + "." + entry.key);
    data::Rgb color{};
    good = Value<data::Rgb>::read(entry.value, reader, color) && good;
    out.entries.emplace_back(entry.key, color);
  }
  return good;
}

Node Value<data::MaskClasses>::write(const data::MaskClasses& value) {
  Node map = Node::map();
  for (const auto& [name, color] : value.entries) map.set(name, Value<data::Rgb>::write(color));
  return map;
}

Node Value<data::MaskClasses>::schema() { return detail::map_schema(Value<data::Rgb>::schema()); }

}  // namespace dptrain::config

namespace dptrain::data {

std::vector<std::string> MaskClasses::names() const {
  std::vector<std::string> names;
  for (const auto& [name, color] : entries) names.push_back(name);
  return names;
}

std::string check_mask_colors(const MaskColors& colors, const std::optional<std::int64_t>& ignore_class) {
  constexpr std::size_t kMaxClasses = 256;
  const auto& entries = colors.classes.entries;
  if (entries.size() > kMaxClasses)
    return fmt::format("classes lists {} colors; at most {} are supported", entries.size(), kMaxClasses);
  if (!colors.ignore_colors.empty() && entries.empty())
    return "ignore_colors applies to masks of colors; list the color of each class in classes, too";
  if (!colors.ignore_colors.empty() && !(ignore_class && *ignore_class >= 0 && *ignore_class <= 255))
    return "ignore_colors needs the data set's ignore_class, from 0 to 255; write ignore_class: 255";
  std::map<Rgb, std::string> known;
  const auto add = [&](const Rgb& color, const std::string& name) -> std::string {
    const auto [place, is_new] = known.emplace(color, name);
    return is_new ? ""
                  : fmt::format("{} has the color {} of {}; each color must be listed once", name, color_text(color),
                                place->second);
  };
  for (const auto& [name, color] : entries)
    if (std::string error = add(color, fmt::format("the class '{}'", name)); !error.empty()) return error;
  for (const Rgb& color : colors.ignore_colors)
    if (std::string error = add(color, "ignore_colors"); !error.empty()) return error;
  return "";
}

MaskReading mask_reading(const MaskColors& colors, const std::optional<std::int64_t>& ignore_class) {
  MaskReading reading{.ignored = colors.ignore_colors};
  for (const auto& [name, color] : colors.classes.entries) reading.colors.push_back(color);
  if (!colors.ignore_colors.empty()) reading.ignore_class = static_cast<std::uint8_t>(ignore_class.value());
  return reading;
}

}  // namespace dptrain::data
