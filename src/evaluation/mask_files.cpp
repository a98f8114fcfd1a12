#include "evaluation/mask_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"

namespace dptrain::evaluation {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kOutside = -1;

/// For each pixel of an axis the position that contains its center, or kOutside. `begin`, `extent`: part of the axis
/// that the positions cover, as fractions.
std::vector<std::int64_t> positions_of_pixels(std::int64_t pixels, std::int64_t positions, double begin,
                                              double extent) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < pixels; ++i) {
    const double center = (static_cast<double>(i) + 0.5) / static_cast<double>(pixels);
    const auto position =
        static_cast<std::int64_t>(std::floor((center - begin) / extent * static_cast<double>(positions)));
    found.push_back(position >= 0 && position < positions ? position : kOutside);
  }
  return found;
}

/// An absolute path without links, as far as it exists.
std::string canonical_path(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(path, error);
  return error ? path.string() : found.string();
}

}  // namespace

std::vector<std::uint8_t> classes_of_pixels(std::span<const std::uint8_t> positions, Size2 map,
                                            const std::array<double, 4>& covered, Size2 image, std::uint8_t outside) {
  const std::vector<std::int64_t> rows = positions_of_pixels(image.h, map.h, covered[0], covered[2]);
  const std::vector<std::int64_t> columns = positions_of_pixels(image.w, map.w, covered[1], covered[3]);
  std::vector<std::uint8_t> classes;
  classes.reserve(static_cast<std::size_t>(image.h * image.w));
  for (const std::int64_t row : rows)
    for (const std::int64_t column : columns)
      classes.push_back(
          row == kOutside || column == kOutside ? outside : positions[static_cast<std::size_t>(row * map.w + column)]);
  return classes;
}

std::string mask_name(const std::string& file, const std::vector<std::string>& inputs) {
  const fs::path path(file);
  fs::path name = path.filename();
  for (const std::string& input : inputs) {
    const std::string folder = input.ends_with('/') ? input : input + "/";
    if (!file.starts_with(folder)) continue;
    name = fs::path(file.substr(folder.size())).relative_path();
    break;
  }
  return name.replace_extension(".png").string();
}

MaskFiles::MaskFiles(std::string folder, const std::vector<std::string>& inputs, const std::vector<std::string>& images,
                     Options options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  for (const std::string& image : images) names_.push_back(mask_name(image, inputs));
  require_distinct(images);
  require_free(images);
}

std::string MaskFiles::path(std::size_t image, std::size_t output) const {
  return (fs::path(folder_) / options_.outputs[output] / names_[image]).string();
}

void MaskFiles::require_distinct(const std::vector<std::string>& images) const {
  std::map<std::string, std::vector<std::string>> all;
  for (std::size_t i = 0; i < images.size(); ++i) all[names_[i]].push_back(images[i]);
  std::vector<std::string> shared;
  for (const auto& [name, files] : all)
    if (files.size() > 1) shared.push_back(fmt::format("{} ({})", name, join(files, ", ")));
  if (!shared.empty())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--output {}: several images have the same mask: {}; rename them, or predict them one after "
                    "another into different folders",
                    folder_, join(shared, "; ")));
}

void MaskFiles::require_free(const std::vector<std::string>& images) const {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown;
  std::int64_t existing = 0;
  std::set<std::string> originals;
  std::error_code ignored;
  for (std::size_t i = 0; i < names_.size(); ++i)
    for (std::size_t output = 0; output < options_.outputs.size(); ++output) {
      const std::string file = path(i, output);
      if (!fs::exists(file, ignored)) continue;
      if (originals.empty())
        for (const std::string& image : images) originals.insert(canonical_path(image));
      if (originals.contains(canonical_path(file)))
        throw Error(ErrorKind::kUsage,
                    fmt::format("--output {}: the mask {} would replace an image of --input; give another folder",
                                folder_, file));
      ++existing;
      if (shown.size() < kShown) shown.push_back(file);
    }
  if (existing > 0 && !options_.overwrite)
    throw Error(ErrorKind::kUsage,
                fmt::format("--output {}: {} of {} exist already ({}{}); add --overwrite to replace them, or give "
                            "another folder",
                            folder_, with_commas(existing), counted(names_.size() * options_.outputs.size(), "mask"),
                            join(shown, ", "), existing > static_cast<std::int64_t>(kShown) ? ", ..." : ""));
}

void MaskFiles::write(std::size_t image, std::size_t output, std::span<const std::uint8_t> classes, Size2 size) const {
  const std::string file = path(image, output);
  const std::string folder = fs::path(file).parent_path().string();
  if (const std::error_code error = create_folders(folder.empty() ? "." : folder))
    throw Error(ErrorKind::kWrite, fmt::format("cannot make the folder '{}': {}", folder, error.message()));
  data::write_mask(file, classes, size.h, size.w, options_.palette);
}

}  // namespace dptrain::evaluation
