#include "cli/svg_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::cli {
namespace {

// Distinguishable by people who see red and green alike (Okabe and Ito's set, darkened for thin lines).
constexpr std::array kPalette{"#0068a8", "#d55e00", "#00835f", "#b0538f", "#c98a00", "#3f9fd6", "#5f4fa2", "#5a5a5a"};

// Pixels.
constexpr double kChartWidth = 860, kPanelHeight = 270, kTitleHeight = 44, kPanelTop = 34, kLeft = 76, kRight = 26,
                 kBottom = 50;
constexpr double kLetter = 6.6;     // width of a letter at 12 px, for the legend's layout
constexpr double kLegendMark = 26;  // the line before a name
constexpr std::size_t kMostMarkers = 50;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

bool finite(const Series& series, std::size_t i) { return std::isfinite(series.x[i]) && std::isfinite(series.y[i]); }

Range range_of(const Panel& panel, const std::vector<double> Series::*axis) {
  Range range;
  for (const Series& series : panel.series)
    for (std::size_t i = 0; i < series.x.size(); ++i)
      if (finite(series, i)) range.add((series.*axis)[i]);
  return range;
}

/// Some air around the values, and never an empty range.
Range padded(Range range, double share) {
  const double extent = range.high - range.low;
  const double pad = extent > 0 ? share * extent : std::max(0.5 * std::abs(range.low), 1e-9);
  return {range.low - pad, range.high + pad};
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += ' ';
    else
      out += c;
  }
  return out;
}

/// 12500 -> "12.5k": short enough for an axis. The largest tick decides the unit, the step between ticks the digits.
std::string tick_text(double value, const std::vector<double>& all) {
  const double step = all.size() > 1 ? all[1] - all[0] : std::max(std::abs(value), 1e-12);
  const double size = std::max(std::abs(all.front()), std::abs(all.back()));
  const auto digits = [&](double unit) {
    return static_cast<int>(std::clamp(std::ceil(-std::log10(step / unit) - 1e-9), 0.0, 12.0));
  };
  if (std::abs(value) < step * 1e-6) return "0";
  if (size >= 1e6) return fmt::format("{:.{}f}M", value / 1e6, digits(1e6));
  if (size >= 1e4) return fmt::format("{:.{}f}k", value / 1e3, digits(1e3));
  if (size < 1e-3) return fmt::format("{:.1e}", value);
  return fmt::format("{:.{}f}", value, digits(1));
}

class Drawing {
 public:
  explicit Drawing(double height) {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" font-size=\"12\" "
        "fill=\"#333\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        kChartWidth, height);
  }

  void line(double x1, double y1, double x2, double y2, const char* color, double width, bool dashed = false) {
    text_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{:.2g}\"{}/>\n", x1,
        y1, x2, y2, color, width, dashed ? " stroke-dasharray=\"5 3\"" : "");
  }
  void text(double x, double y, const std::string& what, const char* anchor, const char* extra = "") {
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, extra,
                         escaped(what));
  }
  void polyline(const std::string& points, const char* color, bool dashed) {
    text_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{}/>\n",
        points, color, dashed ? " stroke-dasharray=\"6 4\"" : "");
  }
  void dot(double x, double y, const char* color, bool hollow) {
    text_ +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.2\"/>\n",
                    x, y, hollow ? "#fff" : color, color);
  }
  void vertical_text(double x, double y, const std::string& what) {
    text_ += fmt::format(
        "<text transform=\"translate({:.1f},{:.1f}) rotate(-90)\" text-anchor=\"middle\" fill=\"#666\">{}</text>\n", x,
        y, escaped(what));
  }
  std::string finish() { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

const char* color_of(const Series& series) { return kPalette[series.color % kPalette.size()]; }

/// One panel, its upper edge at `top`.
class PanelDrawing {
 public:
  PanelDrawing(const Panel& panel, double top, Drawing& out)
      : panel_(panel), out_(out), top_(top + kPanelTop), bottom_(top + kPanelHeight - kBottom) {
    x_ = range_of(panel, &Series::x);
    if (x_.low == x_.high) x_ = padded(x_, 0);
    y_ = padded(range_of(panel, &Series::y), 0.06);
    if (panel.from_zero) y_.low = 0;
  }

  void draw() {
    axes();
    for (const Series& series : panel_.series) curve(series);
    legend();
  }

 private:
  double px(double x) const { return kLeft + (x - x_.low) / (x_.high - x_.low) * (kChartWidth - kRight - kLeft); }
  double py(double y) const { return bottom_ - (y - y_.low) / (y_.high - y_.low) * (bottom_ - top_); }

  void axes() {
    const std::vector<double> xs = ticks(x_.low, x_.high, 10, panel_.whole_x), ys = ticks(y_.low, y_.high, 5, false);
    for (const double y : ys) {
      out_.line(kLeft, py(y), kChartWidth - kRight, py(y), "#e6e6e6", 1);
      out_.text(kLeft - 8, py(y) + 4, tick_text(y, ys), "end", " fill=\"#666\"");
    }
    for (const double x : xs) {
      out_.line(px(x), bottom_, px(x), bottom_ + 4, "#999", 1);
      out_.text(px(x), bottom_ + 18, tick_text(x, xs), "middle", " fill=\"#666\"");
    }
    out_.line(kLeft, bottom_, kChartWidth - kRight, bottom_, "#999", 1);
    out_.text((kLeft + kChartWidth - kRight) / 2, bottom_ + 36, panel_.x_label, "middle", " fill=\"#666\"");
    out_.vertical_text(20, (top_ + bottom_) / 2, panel_.y_label);
    out_.text(kLeft, top_ - 12, panel_.title, "start", " font-weight=\"bold\" font-size=\"13\"");
  }

  void curve(const Series& series) {
    std::string points;
    std::size_t in_line = 0;
    const bool markers = series.x.size() <= kMostMarkers;
    const auto flush = [&] {
      if (in_line > 1) out_.polyline(points, color_of(series), series.dashed);
      points.clear();
      in_line = 0;
    };
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!finite(series, i)) {
        flush();
        continue;
      }
      points += fmt::format("{}{:.1f},{:.1f}", in_line == 0 ? "" : " ", px(series.x[i]), py(series.y[i]));
      ++in_line;
    }
    flush();
    for (std::size_t i = 0; markers && i < series.x.size(); ++i)
      if (finite(series, i)) out_.dot(px(series.x[i]), py(series.y[i]), color_of(series), series.dashed);
  }

  /// In one line above the plot, from the right; what has no room is left out.
  void legend() {
    double right = kChartWidth - kRight;
    const double least = kLeft + kLetter * 1.2 * static_cast<double>(panel_.title.size()) + 20;
    for (auto series = panel_.series.rbegin(); series != panel_.series.rend(); ++series) {
      const double width = kLetter * static_cast<double>(series->name.size()) + kLegendMark + 18;
      if (series->name.empty() || right - width < least) continue;
      right -= width;
      out_.line(right, top_ - 16, right + kLegendMark - 6, top_ - 16, color_of(*series), 2, series->dashed);
      out_.text(right + kLegendMark, top_ - 12, series->name, "start");
    }
  }

  const Panel& panel_;
  Drawing& out_;
  double top_, bottom_;
  Range x_, y_;
};

}  // namespace

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

void require_svg(const std::string& path, const std::string& flag) {
  const std::filesystem::path file(path);
  const std::string suffix = file.extension().string();
  if (suffix.empty() || suffix == ".svg" || suffix == ".SVG") return;
  std::filesystem::path svg = file;
  svg.replace_extension(".svg");
  throw Error(
      ErrorKind::kUsage,
      fmt::format("{0} {1}: pictures are written as SVG, found the suffix '{2}'; give {3}, which browsers show, and "
                  "'rsvg-convert {3} -o {1}' or Inkscape make other kinds of it",
                  flag, path, suffix, svg.string()));
}

std::string svg_chart(const std::string& title, const std::vector<Panel>& panels) {
  std::vector<const Panel*> shown;
  for (const Panel& panel : panels)
    if (!range_of(panel, &Series::x).empty()) shown.push_back(&panel);
  Drawing out(kTitleHeight + kPanelHeight * static_cast<double>(shown.size()));
  out.text(kLeft, 28, title, "start", " font-weight=\"bold\" font-size=\"16\" fill=\"#111\"");
  for (std::size_t i = 0; i < shown.size(); ++i)
    PanelDrawing(*shown[i], kTitleHeight + kPanelHeight * static_cast<double>(i), out).draw();
  return out.finish();
}

}  // namespace dptrain::cli
