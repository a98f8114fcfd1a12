#include "picture/axis.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace dptrain::picture {

void Range::add(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

bool spans_decades(const std::vector<double>& values) {
  constexpr double kSpan = 100, kMostOther = 0.05;
  std::vector<double> positive;
  std::size_t finite = 0;
  for (const double value : values) {
    finite += std::isfinite(value) ? 1 : 0;
    if (std::isfinite(value) && value > 0) positive.push_back(value);
  }
  if (positive.size() < 2 || static_cast<double>(finite - positive.size()) > kMostOther * static_cast<double>(finite))
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

}  // namespace dptrain::picture
