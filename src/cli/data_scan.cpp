#include "cli/data_scan.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/images/image.h"
#include "data/images/image_info.h"
#include "data/sources/file_list.h"

namespace dptrain::cli {
namespace {

/// The findings about one sample.
struct Seen {
  std::string format, color_mode;
  std::int64_t height = -1, width = -1, frames = 0;
  bool damaged = false;
  data::BadSample bad{};
};

/// Reads format and colour mode from the file's header.
void look_at_header(const std::string& path, Seen& seen) {
  thread_local std::vector<std::uint8_t> bytes;
  data::read_file(path, bytes);
  try {
    const data::ImageInfo info = data::image_info(bytes);
    seen.format = info.format;
    seen.color_mode = info.color_mode + (info.bits > 8 ? fmt::format(" {} bit", info.bits) : "");
    if (info.progressive) seen.format += " progressive";
  } catch (const data::ImageError&) {
    // decoding reports the error
  }
}

/// Reads the ids of a text or a table as integers, other inputs as floats.
void read_input(const data::Source& source, std::int64_t index, int input, data::Array& image) {
  thread_local std::vector<std::int32_t> ids;
  if (!source.gives(input, DType::kI32)) return source.read(index, input, image);
  ids.resize(static_cast<std::size_t>(source.input_shape(input).elements()));
  source.read_exact(index, input, DType::kI32, ids.data());
}

/// `pictures`: the samples are image files; `columns`: rows of a table, or texts.
Seen look(const data::Source& source, std::int64_t index, bool pictures, bool columns) {
  thread_local data::Array image;
  Seen seen;
  try {
    if (const auto clip = source.inspect(index)) {
      seen.format = clip->format;
      seen.height = clip->height;
      seen.width = clip->width;
      seen.frames = clip->frames;
      if (!columns) return seen;
    }
    if (pictures) look_at_header(source.label_place(index), seen);
    for (int input = source.inputs() - 1; input >= 0; --input) {
      image.shape = {};
      columns ? read_input(source, index, input, image) : source.read(index, input, image);
      if (image.shape.rank() == 2 || image.shape.rank() == 3) seen.height = image.shape[0], seen.width = image.shape[1];
    }
  } catch (const data::SampleError& error) {
    seen.damaged = true;
    seen.bad = error.sample();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    seen.damaged = true;
    seen.bad = {.file = source.label_place(index), .byte = -1, .words = error.what()};
  }
  return seen;
}

void count_classes(const data::Source& source, DataScan& scan) {
  if (source.label_type() != data::LabelType::kClass) return;
  const std::vector<std::string> names = source.class_names();
  std::map<std::int64_t, std::int64_t> counts;  // labels may be any integers: no array up to the largest
  for (std::size_t c = 0; c < names.size(); ++c) counts[static_cast<std::int64_t>(c)] = 0;
  for (std::int64_t i = 0; i < source.size(); ++i) ++counts[source.label_class(i)];
  for (const auto& [label, count] : counts) {
    const bool named = label >= 0 && label < static_cast<std::int64_t>(names.size());
    scan.classes.emplace_back(named ? names[static_cast<std::size_t>(label)] : std::to_string(label), count);
  }
}

std::string listed(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [what, count] : counts) parts.push_back(fmt::format("{} {}", what, with_commas(count)));
  return join(parts, ", ");
}

std::string percentile(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  return std::to_string(sorted[(sorted.size() - 1) * percent / 100]);
}

void check_name(const std::string& path, const std::string& format, DataScan& scan) {
  if (data::format_of_name(path) != split(format, ' ').front())
    scan.misnamed.push_back(fmt::format("{}: {}", path, format));
}

}  // namespace

DataScan scan(const data::Source& source) {
  DataScan result{.samples = source.size()};
  count_classes(source, result);
  result.columns = source.column_lines();
  const auto account = source.bad_samples();
  if (!result.columns.empty() && account) result.damaged = account->all();  // rows skipped on opening
  const bool columns = !result.columns.empty(), pictures = holds_files(source) && !columns;
  std::vector<Seen> all(static_cast<std::size_t>(source.size()));
  for_each_sample("scanning", source.size(), [&](std::int64_t index) {
    all[static_cast<std::size_t>(index)] = look(source, index, pictures, columns);
  });
  std::set<std::pair<std::int64_t, std::int64_t>> sizes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Seen& seen = all[i];
    if (!seen.format.empty()) {
      ++result.formats[seen.format];
      if (seen.frames > 0) {
        result.frames.push_back(seen.frames);
      } else {
        ++result.color_modes[seen.color_mode];
        check_name(source.label_place(static_cast<std::int64_t>(i)), seen.format, result);
      }
    }
    if (seen.damaged) result.damaged.push_back(seen.bad);
    if (seen.damaged || seen.height < 0) continue;
    result.heights.push_back(seen.height);
    result.widths.push_back(seen.width);
    sizes.emplace(seen.height, seen.width);
  }
  std::sort(result.heights.begin(), result.heights.end());
  std::sort(result.widths.begin(), result.widths.end());
  std::sort(result.frames.begin(), result.frames.end());
  result.sizes = static_cast<std::int64_t>(sizes.size());
  return result;
}

std::string scan_report(const std::string& name, const DataScan& scan) {
  std::string text = fmt::format("{}: {} samples", name, with_commas(scan.samples));
  if (!scan.classes.empty()) text += fmt::format(", {} classes", scan.classes.size());
  text += "\n";
  std::size_t width = 5;
  for (const auto& [label, count] : scan.classes) width = std::max(width, label.size());
  for (const auto& [label, count] : scan.classes)
    text +=
        fmt::format("  {:<{}} {:>9}  {:>5.1f} %\n", label, width, with_commas(count),
                    scan.samples == 0 ? 0.0 : 100.0 * static_cast<double>(count) / static_cast<double>(scan.samples));
  for (const std::string& column : scan.columns) text += "  " + column + "\n";
  if (!scan.formats.empty()) text += "formats  " + listed(scan.formats) + "\n";
  if (!scan.color_modes.empty()) text += "colours  " + listed(scan.color_modes) + "\n";
  if (!scan.heights.empty())
    text += fmt::format("sizes    {} different; height {} to {}, median {}; width {} to {}, median {}\n",
                        with_commas(scan.sizes), percentile(scan.heights, 0), percentile(scan.heights, 100),
                        percentile(scan.heights, 50), percentile(scan.widths, 0), percentile(scan.widths, 100),
                        percentile(scan.widths, 50));
  if (!scan.frames.empty())
    text += fmt::format("frames   {} to {}, median {}\n", percentile(scan.frames, 0), percentile(scan.frames, 100),
                        percentile(scan.frames, 50));
  constexpr std::size_t kMisnamed = 10;
  if (!scan.misnamed.empty())
    text += fmt::format("{} not what the name says (read all the same):\n",
                        scan.misnamed.size() == 1 ? "one file is" : fmt::format("{} files are", scan.misnamed.size()));
  for (std::size_t i = 0; i < std::min(kMisnamed, scan.misnamed.size()); ++i) text += "  " + scan.misnamed[i] + "\n";
  if (scan.misnamed.size() > kMisnamed) text += fmt::format("  and {} more\n", scan.misnamed.size() - kMisnamed);
  text += fmt::format("damaged  {}\n", with_commas(static_cast<std::int64_t>(scan.damaged.size())));
  for (const data::BadSample& bad : scan.damaged) text += "  " + bad.str() + "\n";
  return text;
}

}  // namespace dptrain::cli
