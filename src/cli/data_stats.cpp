#include "cli/data_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::cli {
namespace {

struct Channel {
  double mean = 0, squares = 0;  // squares: sum of squared deviations from the mean
  double low = std::numeric_limits<double>::infinity(), high = -low;
};

/// Statistics of one sample.
struct Sums {
  std::int64_t pixels = 0, height = -1, width = -1;
  std::vector<Channel> channels;
};

Sums sums_of(const data::Array& image, bool columns) {
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

DataStats data_stats(const data::Source& source, int input, const data::Pipeline& pipeline, bool columns) {
  std::vector<Sums> all(static_cast<std::size_t>(source.size()));
  for_each_sample("statistics", source.size(), [&](std::int64_t index) {
    thread_local data::Array image, spare;
    Sums& sums = all[static_cast<std::size_t>(index)];
    try {
      source.read(index, input, image);
    } catch (const data::SampleError&) {
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
      ++stats.left_out;
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
  if (stats.pixels == 0) throw Error(ErrorKind::kData, "no sample can be read; dptrain data scan says why");
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

std::string stats_report(const std::string& name, const DataStats& stats, const std::string& values) {
  std::string text = fmt::format("{}: {} samples{}, {} pixels, {}\n", name, with_commas(stats.samples),
                                 stats.left_out == 0 ? "" : fmt::format(" ({} cannot be read)", stats.left_out),
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

}  // namespace dptrain::cli
