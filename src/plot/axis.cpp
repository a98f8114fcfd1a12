#include "plot/axis.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "plot/text_width.h"

namespace dptrain::plot {

void Range::add(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

bool spans_decades(const std::vector<double>& values) {
  constexpr double kSpan = 100, kMaxOtherShare = 0.05;
  std::vector<double> positive;
  std::size_t finite = 0;
  for (const double value : values) {
    finite += std::isfinite(value) ? 1 : 0;
    if (std::isfinite(value) && value > 0) positive.push_back(value);
  }
  if (positive.size() < 2 ||
      static_cast<double>(finite - positive.size()) > kMaxOtherShare * static_cast<double>(finite))
    return false;
  std::ranges::sort(positive);
  return positive.back() >= kSpan * positive[positive.size() / 10];
}

std::vector<double> ticks(double low, double high, int count, bool whole) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / std::max(1, count);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  if (whole) step = std::max(1.0, std::round(step));
  std::vector<double> out;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) out.push_back(k * step);
  return out;
}

std::vector<double> log_ticks(double low, double high, int count) {
  const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  const int step = std::max(1, (last - first + count) / std::max(1, count));
  std::vector<double> out;
  if (last - first >= 2) {
    for (int power = first; power <= last; power += step) out.push_back(std::pow(10.0, power));
    return out;
  }
  for (int power = first - 1; power <= last; ++power)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, power);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) out.push_back(value);
    }
  if (out.size() < 2) return ticks(low, high, count, false);
  return out;
}

std::string tick_text(double value, const std::vector<double>& all) {
  const double step = all.size() > 1 ? all[1] - all[0] : std::max(std::abs(value), 1e-12);
  const double size = std::max(std::abs(all.front()), std::abs(all.back()));
  const auto digits = [&](double unit) {
    return static_cast<int>(std::clamp(std::ceil(-std::log10(step / unit) - 1e-9), 0.0, 12.0));
  };
  if (std::abs(value) < step * 1e-6) return "0";
  if (size >= 1e9 || size < 1e-3) return log_tick_text(value);
  if (size >= 1e6) return fmt::format("{:.{}f}M", value / 1e6, digits(1e6));
  if (size >= 1e4) return fmt::format("{:.{}f}k", value / 1e3, digits(1e3));
  return fmt::format("{:.{}f}", value, digits(1));
}

std::string log_tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 0.9e-3 && size < 1e4) return fmt::format("{:.4g}", value);
  std::string text = fmt::format("{:.2e}", value);  // 2.50e-06
  const std::size_t e = text.find('e');
  std::string digits = text.substr(0, e), power = text.substr(e + 1);
  while (digits.find('.') != std::string::npos && (digits.back() == '0' || digits.back() == '.')) {
    const bool point = digits.back() == '.';
    digits.pop_back();
    if (point) break;
  }
  std::string sign = power.front() == '-' ? "-" : "";
  power.erase(0, power.find_first_not_of("+-0"));
  return digits + "e" + sign + power;
}

Axis::Axis(Range range, bool log, double begin, double end) : range_(range), log_(log), begin_(begin), end_(end) {
  if (range_.high > range_.low) return;
  if (log_) {
    range_.low /= 3;
    range_.high *= 3;
  } else {
    const double pad = std::max(0.5 * std::abs(range_.low), 1e-9);
    range_.low -= pad;
    range_.high += pad;
  }
}

double Axis::at(double value) const {
  const auto scaled = [&](double v) { return log_ ? std::log10(v) : v; };
  const double low = scaled(range_.low), high = scaled(range_.high);
  return begin_ + (scaled(value) - low) / (high - low) * (end_ - begin_);
}

bool Axis::shows(double value) const { return std::isfinite(value) && (!log_ || value > 0); }

std::vector<double> Axis::tick_values(int count, bool whole) const {
  return log_ ? log_ticks(range_.low, range_.high, count) : ticks(range_.low, range_.high, count, whole);
}

std::string Axis::text(double value, const std::vector<double>& all) const {
  return log_ ? log_tick_text(value) : tick_text(value, all);
}

namespace {

constexpr double kSample = 30, kSmallSample = 12, kSampleGap = 8, kEntryGap = 26, kLegendRow = 20, kLegendFont = 12,
                 kNoteGap = 10, kRounding = 0.01, kMinName = 150;
constexpr std::size_t kMaxColumns = 6;

bool is_small(const LegendEntry& entry) {
  using Sample = LegendEntry::Sample;
  return entry.sample == Sample::kRing || entry.sample == Sample::kCross || entry.sample == Sample::kMark;
}

double words_width(const std::string& text) { return text_width(text, kLegendFont); }

double entry_width(const LegendEntry& entry) { return sample_width(entry) + kSampleGap + words_width(entry.name); }

void draw_entry(const LegendEntry& entry, Point at, double name, Drawing& out) {
  draw_sample(entry, {at.x, at.y - 4}, out);
  at.x += sample_width(entry) + kSampleGap;
  out.add_fitting({.at = at, .text = entry.name, .size = kLegendFont}, name + kRounding);
  if (entry.note.empty()) return;
  at.x += name + kNoteGap;
  out.add({TextItem{.at = at, .text = entry.note, .ink = Ink::kMuted, .size = kLegendFont}, ""});
}

}  // namespace

double sample_width(const LegendEntry& entry) { return is_small(entry) ? kSmallSample : kSample; }

void draw_sample(const LegendEntry& entry, Point at, Drawing& out) {
  const Point middle{at.x + sample_width(entry) / 2, at.y};
  const LineStyle& style = entry.style;
  const auto mark = [&](Mark kind, double radius, bool hollow) {
    out.add({MarkItem{.at = middle, .mark = kind, .radius = radius, .ink = style.ink, .hollow = hollow}, ""});
  };
  switch (entry.sample) {
    case LegendEntry::Sample::kRing:
      mark(Mark::kDisc, 5, true);
      mark(Mark::kDisc, 1.8, false);
      return;
    case LegendEntry::Sample::kCross: return mark(Mark::kCross, 3, false);
    case LegendEntry::Sample::kMark: return mark(style.mark, 4, style.hollow);
    case LegendEntry::Sample::kBar:
      return out.add({Box{.at = {at.x, at.y - 5}, .width = kSample, .height = 10, .ink = style.ink, .radius = 2}, ""});
    case LegendEntry::Sample::kLine:
    case LegendEntry::Sample::kMarkedLine:
      out.add({Polyline{.points = {at, {at.x + kSample, at.y}},
                        .ink = style.ink,
                        .width = entry.dash == Dash::kSolid ? 2.2 : 1.6,
                        .dash = entry.dash},
               ""});
      if (entry.sample == LegendEntry::Sample::kMarkedLine) mark(style.mark, 3.6, style.hollow);
  }
}

void draw_keys(const std::vector<LegendEntry>& entries, Point at, Drawing& out) {
  for (const LegendEntry& entry : entries) {
    draw_entry(entry, at, words_width(entry.name), out);
    at.x += entry_width(entry) + kEntryGap;
  }
}

Legend::Legend(const std::vector<LegendEntry>& entries, double width) : entries_(entries) {
  std::vector<double> names;
  for (const LegendEntry& entry : entries) {
    names.push_back(words_width(entry.name));
    if (!entry.note.empty()) note_ = std::max(note_, kNoteGap + words_width(entry.note));
  }
  if (names.empty()) return;
  std::ranges::sort(names);
  const double most_names = names[(names.size() - 1) * 4 / 5];
  const auto room = [&](std::size_t columns) {  // for a name
    return (width + kEntryGap) / static_cast<double>(columns) - kEntryGap - kSample - kSampleGap - note_;
  };
  columns_ = std::min(kMaxColumns, names.size());
  while (columns_ > 1 && room(columns_) < std::max(most_names, std::min(names.back(), kMinName))) --columns_;
  rows_ = (names.size() + columns_ - 1) / columns_;
  name_ = std::min(names.back(), room(columns_));
}

double Legend::height() const { return static_cast<double>(rows_) * kLegendRow; }

void Legend::draw(Point at, Drawing& out) const {
  const double column = kSample + kSampleGap + name_ + note_ + kEntryGap;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    draw_entry(
        entries_[i],
        {at.x + static_cast<double>(i / rows_) * column, at.y + (static_cast<double>(i % rows_) + 0.7) * kLegendRow},
        name_, out);
}

}  // namespace dptrain::plot
