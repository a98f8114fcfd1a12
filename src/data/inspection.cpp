#include "data/inspection.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/activity.h"
#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"
#include "core/text.h"
#include "data/images/image.h"
#include "data/images/image_info.h"
#include "data/sources/file_list.h"

namespace dptrain::data {

void for_each_sample(const std::string& what, std::int64_t samples, const std::function<void(std::int64_t)>& f) {
  Activity activity(what, samples);
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  std::int64_t error_at = samples;
  const auto work = [&] {
    for (std::int64_t index = next++; index < samples; index = next++) {
      try {
        f(index);
        activity.advance();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (index < error_at) error = std::current_exception(), error_at = index;
      }
    }
  };
  const std::int64_t count = std::clamp<std::int64_t>(machine::cpus(), 1, std::max<std::int64_t>(1, samples));
  {
    std::vector<std::jthread> threads;
    for (std::int64_t t = 1; t < count; ++t) threads.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

namespace {

/// The findings about one sample.
struct SampleInfo {
  std::string format, color_mode;
  std::int64_t height = -1, width = -1, frames = 0;
  bool damaged = false;
  BadSample bad{};
};

/// Reads format and colour mode from the file's header.
void read_image_header(const std::string& path, SampleInfo& seen) {
  thread_local std::vector<std::uint8_t> bytes;
  read_file(path, bytes);
  try {
    const ImageInfo info = image_info(bytes);
    seen.format = info.format;
    seen.color_mode = info.color_mode + (info.bits > 8 ? fmt::format(" {} bit", info.bits) : "");
    if (info.progressive) seen.format += " progressive";
  } catch (const ImageError&) {
    // decoding reports the error
  }
}

/// Reads the ids of a text or a table as integers, other inputs as floats.
void read_input(const Source& source, std::int64_t index, int input, Array& image) {
  thread_local std::vector<std::int32_t> ids;
  if (!source.can_read_exact(input, DType::kI32)) return source.read(index, input, image);
  ids.resize(static_cast<std::size_t>(source.input_shape(input).elements()));
  source.read_exact(index, input, DType::kI32, ids.data());
}

/// Reads the masks. Throws SampleError if the size of one differs from that of the picture.
void inspect_masks(const Source& source, std::int64_t index, const SampleInfo& seen) {
  thread_local Array mask;
  for (int which = 0; which < source.labels(); ++which) {
    if (source.label_type(which) != LabelType::kMap) continue;
    source.read_label_map(index, mask, which);
    if (seen.height >= 0 && (mask.shape[0] != seen.height || mask.shape[1] != seen.width))
      throw SampleError({.file = source.label_map_place(index, which),
                         .byte = -1,
                         .reason = fmt::format("the mask has {} x {} pixels, its picture {} x {}; expected equal sizes",
                                               mask.shape[1], mask.shape[0], seen.width, seen.height)});
  }
}

/// `pictures`: the samples are image files; `columns`: rows of a table, or texts.
SampleInfo inspect_sample(const Source& source, std::int64_t index, bool pictures, bool columns) {
  thread_local Array image;
  SampleInfo seen;
  try {
    if (const auto clip = source.inspect(index)) {
      seen.format = clip->format;
      seen.height = clip->height;
      seen.width = clip->width;
      seen.frames = clip->frames;
      if (!columns) return seen;
    }
    if (pictures) read_image_header(source.label_place(index), seen);
    for (int input = source.inputs() - 1; input >= 0; --input) {
      image.shape = {};
      columns ? read_input(source, index, input, image) : source.read(index, input, image);
      if (image.shape.rank() == 2 || image.shape.rank() == 3) seen.height = image.shape[0], seen.width = image.shape[1];
    }
    inspect_masks(source, index, seen);
  } catch (const SampleError& error) {
    seen.damaged = true;
    seen.bad = error.sample();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    seen.damaged = true;
    seen.bad = {.file = source.label_place(index), .byte = -1, .reason = error.what()};
  }
  return seen;
}

void count_classes(const Source& source, DataScan& scan) {
  if (source.label_type() != LabelType::kClass) return;
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
  if (format_of_name(path) != split(format, ' ').front()) scan.misnamed.push_back(fmt::format("{}: {}", path, format));
}

}  // namespace

DataScan scan(const Source& source) {
  DataScan result{.samples = source.size()};
  count_classes(source, result);
  result.columns = source.column_lines();
  const auto account = source.bad_samples();
  if (!result.columns.empty() && account) result.damaged = account->all();  // rows skipped on opening
  const bool columns = !result.columns.empty(), pictures = holds_files(source) && !columns;
  std::vector<SampleInfo> all(static_cast<std::size_t>(source.size()));
  for_each_sample("scanning", source.size(), [&](std::int64_t index) {
    all[static_cast<std::size_t>(index)] = inspect_sample(source, index, pictures, columns);
  });
  std::set<std::pair<std::int64_t, std::int64_t>> sizes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const SampleInfo& seen = all[i];
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
    text += scan.misnamed.size() == 1
                ? "one file has a format other than its suffix indicates (read anyway):\n"
                : fmt::format("{} files have formats other than their suffixes indicate (read anyway):\n",
                              scan.misnamed.size());
  for (std::size_t i = 0; i < std::min(kMisnamed, scan.misnamed.size()); ++i) text += "  " + scan.misnamed[i] + "\n";
  if (scan.misnamed.size() > kMisnamed) text += fmt::format("  and {} more\n", scan.misnamed.size() - kMisnamed);
  text += fmt::format("damaged  {}\n", with_commas(static_cast<std::int64_t>(scan.damaged.size())));
  for (const BadSample& bad : scan.damaged) text += "  " + bad.str() + "\n";
  return text;
}

namespace {

/// Bound of class numbers in masks of floats, which hold integers up to it.
constexpr float kMaxClassNumber = 0x1p24F;

struct Channel {
  double mean = 0, squares = 0;  // squares: sum of squared deviations from the mean
  double low = std::numeric_limits<double>::infinity(), high = -low;
};

/// Statistics of one sample.
struct Sums {
  std::int64_t pixels = 0, height = -1, width = -1;
  std::vector<Channel> channels;
};

Sums sums_of(const Array& image, bool columns) {
  Sums sums;
  const auto channels = static_cast<std::size_t>(image.shape.rank() >= (columns ? 2 : 3) ? image.shape.back() : 1);
  sums.channels.resize(channels);
  sums.pixels = static_cast<std::int64_t>(image.f32.size() / channels);
  for (std::size_t i = 0; i < image.f32.size(); ++i) {
    Channel& c = sums.channels[i % channels];
    const auto value = static_cast<double>(image.f32[i]);
    c.mean += value;
    c.low = std::min(c.low, value);
    c.high = std::max(c.high, value);
  }
  for (Channel& c : sums.channels) c.mean /= static_cast<double>(sums.pixels);
  for (std::size_t i = 0; i < image.f32.size(); ++i) {
    Channel& c = sums.channels[i % channels];
    c.squares += std::pow(static_cast<double>(image.f32[i]) - c.mean, 2);
  }
  return sums;
}

/// Adds b's `more` numbers to a's `n` (Chan, Golub, LeVeque, 1983).
void add(Channel& a, std::int64_t n, const Channel& b, std::int64_t more) {
  const double delta = b.mean - a.mean, part = static_cast<double>(more) / static_cast<double>(n + more);
  a.mean += delta * part;
  a.squares += b.squares + delta * delta * static_cast<double>(n) * part;
  a.low = std::min(a.low, b.low);
  a.high = std::max(a.high, b.high);
}

std::string numbers(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(fmt::format("{:.6g}", value));
  return join(texts, ", ");
}

std::string quantiles(const char* what, const std::vector<std::int64_t>& sorted) {
  const auto at = [&](std::size_t percent) { return sorted[(sorted.size() - 1) * percent / 100]; };
  return fmt::format("  {:<8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", what, at(0), at(5), at(50), at(95), at(100));
}

}  // namespace

DataStats data_stats(const Source& source, int input, const Pipeline& pipeline, bool columns) {
  std::vector<Sums> all(static_cast<std::size_t>(source.size()));
  for_each_sample("statistics", source.size(), [&](std::int64_t index) {
    thread_local Array image, spare;
    Sums& sums = all[static_cast<std::size_t>(index)];
    try {
      source.read(index, input, image);
    } catch (const SampleError&) {
      return;  // reported by `data scan`
    }
    const bool image_like = image.shape.rank() >= 2 && !columns;
    const int rows = image.shape.rank() == 4 ? 1 : 0;  // a clip is [T, H, W, C]
    const std::int64_t height = image_like ? image.shape[rows] : -1;
    const std::int64_t width = image_like ? image.shape[rows + 1] : -1;
    pipeline.apply(image, spare, {.seed = 0, .sample = static_cast<std::uint64_t>(index), .epoch = 0});
    sums = sums_of(image, columns);
    sums.height = height;
    sums.width = width;
  });

  DataStats stats{.samples = source.size()};
  std::vector<Channel> total;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Sums& sums = all[i];
    if (sums.pixels == 0) {
      ++stats.unreadable;
      continue;
    }
    if (total.empty()) total.resize(sums.channels.size());
    if (total.size() != sums.channels.size())
      throw Error(ErrorKind::kData,
                  fmt::format("{}: {} channels, those before it have {}",
                              source.label_place(static_cast<std::int64_t>(i)), sums.channels.size(), total.size()));
    for (std::size_t c = 0; c < total.size(); ++c) add(total[c], stats.pixels, sums.channels[c], sums.pixels);
    stats.pixels += sums.pixels;
    if (sums.height >= 0) stats.heights.push_back(sums.height), stats.widths.push_back(sums.width);
  }
  if (stats.pixels == 0) throw Error(ErrorKind::kData, "no sample can be read; dptrain data scan lists the reasons");
  for (const Channel& c : total) {
    stats.mean.push_back(c.mean);
    stats.variance.push_back(c.squares / static_cast<double>(stats.pixels));
    stats.low.push_back(c.low);
    stats.high.push_back(c.high);
  }
  std::sort(stats.heights.begin(), stats.heights.end());
  std::sort(stats.widths.begin(), stats.widths.end());
  return stats;
}

PixelClasses count_pixel_classes(const Source& source, int which) {
  PixelClasses found{.masks = source.size()};
  std::mutex mutex;
  for_each_sample("counting classes", source.size(), [&](std::int64_t index) {
    thread_local Array mask;
    std::map<std::int64_t, std::int64_t> counts;
    try {
      source.read_label_map(index, mask, which);
    } catch (const SampleError&) {
      const std::lock_guard lock(mutex);
      ++found.unreadable;
      return;
    }
    if (mask.type == DType::kU8) {
      std::array<std::int64_t, 256> bytes{};
      for (const std::uint8_t value : mask.u8) ++bytes[value];
      for (std::size_t v = 0; v < bytes.size(); ++v)
        if (bytes[v] > 0) counts[static_cast<std::int64_t>(v)] = bytes[v];
    } else {
      for (const float value : mask.f32)
        if (std::abs(value) < kMaxClassNumber) ++counts[std::lrint(value)];
    }
    const std::lock_guard lock(mutex);
    for (const auto& [label, count] : counts) found.counts[label] += count, found.pixels += count;
  });
  return found;
}

std::string pixel_classes_report(const std::string& name, const PixelClasses& found,
                                 const std::vector<std::string>& class_names) {
  std::string text = fmt::format("{}: {} masks{}, {} pixels\n", name, with_commas(found.masks),
                                 found.unreadable == 0 ? "" : fmt::format(" ({} cannot be read)", found.unreadable),
                                 with_commas(found.pixels));
  std::map<std::int64_t, std::int64_t> counts = found.counts;
  for (std::size_t c = 0; c < class_names.size(); ++c) counts.try_emplace(static_cast<std::int64_t>(c), 0);
  const std::size_t width = class_names.empty() ? 0 : column_width(class_names);
  for (const auto& [label, count] : counts) {
    const bool named = label >= 0 && std::cmp_less(label, class_names.size());
    text +=
        fmt::format("  class {:>3} {:<{}} {:>15}  {:>6.2f} %\n", label,
                    named ? class_names[static_cast<std::size_t>(label)] : "", width, with_commas(count),
                    found.pixels == 0 ? 0.0 : 100.0 * static_cast<double>(count) / static_cast<double>(found.pixels));
  }
  return text;
}

std::string stats_report(const std::string& name, const DataStats& stats, const std::string& values) {
  std::string text = fmt::format("{}: {} samples{}, {} pixels, {}\n", name, with_commas(stats.samples),
                                 stats.unreadable == 0 ? "" : fmt::format(" ({} cannot be read)", stats.unreadable),
                                 with_commas(stats.pixels), values);
  text += "  channel          mean    deviation     smallest      largest\n";
  for (std::size_t c = 0; c < stats.mean.size(); ++c)
    text += fmt::format("  {:>7} {:>13.6g} {:>12.6g} {:>12.6g} {:>12.6g}\n", c, stats.mean[c],
                        std::sqrt(stats.variance[c]), stats.low[c], stats.high[c]);
  if (!stats.heights.empty()) {
    text += "  size     smallest      5 %   median     95 %  largest\n";
    text += quantiles("height", stats.heights) + quantiles("width", stats.widths);
  }
  return text +
         fmt::format("Normalization: {{mean: [{}], variance: [{}]}}\n", numbers(stats.mean), numbers(stats.variance));
}

}  // namespace dptrain::data
