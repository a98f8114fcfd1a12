#include "plot/chart.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

/// Position and size of a panel, with its title and axes.
struct PanelPlace {
  double left = 0, top = 0, width = 0, height = 0;
};

constexpr double kPanelHead = 36, kTopAxis = 32, kAxisLeft = 52, kAxisRight = 10, kAxisBottom = 40, kTickFont = 11.5;
constexpr std::size_t kFewPoints = 40, kMarksOfMany = 6, kMaxPoints = 2000;

std::vector<double> values_of(const Panel& panel) {
  std::vector<double> values;
  for (const Line& line : panel.lines)
    for (const Point& point : line.points) values.push_back(point.y);
  return values;
}

bool logarithmic(const Panel& panel) {
  const std::vector<double> values = values_of(panel);
  if (panel.scale == Scale::kAuto) return spans_decades(values);
  return panel.scale == Scale::kLog && std::ranges::any_of(values, [](double v) { return std::isfinite(v) && v > 0; });
}

Range x_range(const Panel& panel) {
  if (!panel.x_names.empty()) return {-0.5, static_cast<double>(panel.x_names.size()) - 0.5};
  if (!panel.x_limits.empty()) return panel.x_limits;
  Range range;
  for (const Line& line : panel.lines)
    for (const Point& point : line.points) range.add(point.x);
  if (range.empty()) range = {0, 1};
  if (panel.log_x && range.high > range.low) return {range.low / 1.1, range.high * 1.1};
  const bool has_cloud = std::ranges::any_of(panel.lines, [](const Line& line) { return !line.joined; });
  if (panel.whole_x || has_cloud) {  // marks of single points do not cover the axis
    const double pad = 0.03 * (range.high - range.low);
    return {range.low - pad, range.high + pad};
  }
  return range;
}

Range y_range(const Panel& panel, bool log) {
  Range range;
  const auto add = [&](double value) {
    if (std::isfinite(value) && (!log || value > 0)) range.add(value);
  };
  for (const Line& line : panel.lines) {
    for (const Point& point : line.points) add(point.y);
    for (const Range& spread : line.spread) add(spread.low), add(spread.high);
  }
  if (range.empty()) return {0, 1};
  if (log) {
    const double pad = std::max(1.05, std::pow(range.high / range.low, 0.05));
    return {range.low / pad, range.high * pad};
  }
  const double extent = range.high - range.low;
  const double pad = extent > 0 ? 0.06 * extent : std::max(0.5 * std::abs(range.low), 1e-9);
  const bool touches = range.low >= 0 && range.low < pad;  // do not begin slightly below zero
  return {panel.from_zero || touches ? std::min(0.0, range.low) : range.low - pad, range.high + pad};
}

/// At most about kMaxPoints points: the lowest and highest of each bucket, and its last gap.
std::vector<Point> thinned(const std::vector<Point>& points) {
  if (points.size() <= kMaxPoints) return points;
  const std::size_t bucket = (2 * points.size() + kMaxPoints - 1) / kMaxPoints;
  std::vector<Point> out;
  for (std::size_t begin = 0; begin < points.size(); begin += bucket) {
    const std::size_t end = std::min(points.size(), begin + bucket);
    std::size_t low = begin, high = begin, gap = end;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(points[i].y)) gap = i;
      if (!(points[i].y >= points[low].y)) low = i;
      if (!(points[i].y <= points[high].y)) high = i;
    }
    std::vector<std::size_t> chosen{low, high};
    if (gap != end) chosen.push_back(gap);
    std::ranges::sort(chosen);
    const auto twice = std::ranges::unique(chosen);
    chosen.erase(twice.begin(), twice.end());
    for (const std::size_t i : chosen) out.push_back(points[i]);
  }
  return out;
}

class PanelDrawing {
 public:
  PanelDrawing(const Panel& panel, const PanelPlace& place, Drawing& out)
      : panel_(panel),
        out_(out),
        place_(place),
        left_(place.left + kAxisLeft),
        right_(place.left + place.width - kAxisRight),
        top_(place.top + kPanelHead + (panel.top_unit > 0 ? kTopAxis : 0)),
        bottom_(place.top + place.height - kAxisBottom),
        log_(logarithmic(panel)),
        x_(x_range(panel), panel.log_x, left_, right_),
        y_(y_range(panel, log_), log_, bottom_, top_),
        empty_(std::ranges::none_of(values_of(panel), [&](double value) { return y_.shows(value); })) {}

  void draw() {
    titles();
    axes();
    if (panel_.top_unit > 0) top_axis();
    for (const Line& line : panel_.lines)
      if (line.joined)
        curve(line);
      else
        cloud(line);
    for (std::size_t i = 0; i < panel_.lines.size(); ++i) marks(panel_.lines[i], i);
    for (const Line& line : panel_.lines) best(line);
    if (empty_) words({(left_ + right_) / 2, (top_ + bottom_) / 2 + 4}, "no finite value", Anchor::kMiddle, 13);
  }

 private:
  void words(Point at, const std::string& text, Anchor anchor, double size = kTickFont) {
    out_.add({TextItem{.at = at, .text = text, .ink = Ink::kMuted, .size = size, .anchor = anchor}, ""});
  }
  void line(Point from, Point to, Ink ink) { out_.add({Polyline{.points = {from, to}, .ink = ink}, ""}); }

  void titles() {
    const Point at{place_.left, place_.top + 20};
    double free = place_.width;  // width left of the best value
    for (const Line& line : panel_.lines)
      if (!line.best_text.empty()) free = place_.width - text_width(line.best_text, 12) - 44;
    const double title = std::min(free, text_width(panel_.title, 13.5, true) + 0.01);
    out_.add_fitting({.at = at, .text = panel_.title, .size = 13.5, .bold = true}, title);
    std::string note = panel_.note;
    const auto also = [&](const char* what) { note += (note.empty() ? "" : ", ") + std::string(what); };
    if (log_) also("log scale");
    if (log_ && std::ranges::any_of(values_of(panel_), [](double v) { return v <= 0; })) also("without zeros");
    const double after = 10 + title;
    if (!note.empty() && free - after > 40)
      out_.add_fitting({.at = {at.x + after, at.y}, .text = note, .ink = Ink::kMuted, .size = 12}, free - after);
  }

  void axes() {
    const std::vector<double> ys = y_.tick_values(std::max(2, static_cast<int>((bottom_ - top_) / 28)), false);
    for (const double y : ys) {
      if (empty_) break;
      line({left_, y_.at(y)}, {right_, y_.at(y)}, Ink::kGrid);
      words({left_ - 8, y_.at(y) + 4}, y_.text(y, ys), Anchor::kEnd);
    }
    std::vector<double> xs = panel_.x_ticks;
    for (std::size_t i = 0; i < panel_.x_names.size(); ++i) xs.push_back(static_cast<double>(i));
    if (xs.empty()) xs = x_.tick_values(std::max(2, static_cast<int>((right_ - left_) / 80)), panel_.whole_x);
    double free = left_ - 30;
    for (const double x : xs) {
      line({x_.at(x), bottom_}, {x_.at(x), bottom_ + 4}, Ink::kAxis);
      const std::string text = x_text(x, xs);
      const double half = text_width(text, kTickFont) / 2;
      if (x_.at(x) - half < free) continue;
      words({x_.at(x), bottom_ + 18}, text, Anchor::kMiddle);
      free = x_.at(x) + half + 6;
    }
    line({left_, bottom_}, {right_, bottom_}, Ink::kAxis);
    words({(left_ + right_) / 2, bottom_ + 34}, panel_.x_label, Anchor::kMiddle, 12);
  }

  std::string x_text(double x, const std::vector<double>& all) const {
    if (!panel_.x_names.empty())
      return shortened(panel_.x_names[static_cast<std::size_t>(x)], kTickFont,
                       (right_ - left_) / static_cast<double>(panel_.x_names.size()) - 6);
    return panel_.x_ticks.empty() ? x_.text(x, all) : fmt::format("{:g}", x);
  }

  void top_axis() {
    const double low = x_.range().low / panel_.top_unit, high = x_.range().high / panel_.top_unit;
    const std::vector<double> all = ticks(low, high, 10, high - low >= 3);
    line({left_, top_}, {right_, top_}, Ink::kAxis);
    for (const double value : all) {
      const double at = x_.at(value * panel_.top_unit);
      line({at, top_ - 4}, {at, top_}, Ink::kAxis);
      words({at, top_ - 8}, tick_text(value, all), Anchor::kMiddle);
    }
    words({(left_ + right_) / 2, top_ - 24}, panel_.top_label, Anchor::kMiddle, 12);
  }

  Point at(const Point& point) const { return {x_.at(point.x), y_.at(point.y)}; }

  void curve(const Line& line) {
    std::vector<Point> run;
    const auto flush = [&] {
      if (run.size() > 1)
        out_.add(
            {Polyline{
                 .points = run, .ink = line.style.ink, .width = line.width, .dash = line.dash, .opacity = line.opacity},
             line.name});
      else if (run.size() == 1)
        out_.add({MarkItem{.at = run.front(),
                           .mark = line.style.mark,
                           .ink = line.style.ink,
                           .hollow = line.style.hollow || line.dash != Dash::kSolid,
                           .opacity = line.opacity},
                  line.name});
      run.clear();
    };
    for (const Point& point : thinned(line.points)) {
      if (y_.shows(point.y)) {
        run.push_back(at(point));
        continue;
      }
      flush();
      if (!std::isfinite(point.y))
        out_.add({MarkItem{.at = {x_.at(point.x), bottom_ - 6},
                           .mark = Mark::kCross,
                           .radius = 3,
                           .ink = line.style.ink,
                           .opacity = line.opacity},
                  fmt::format("{}: {} at {} {:g}", line.name, point.y, panel_.x_label, point.x)});
    }
    flush();
  }

  void cloud(const Line& line) {
    for (const Point& point : line.points)
      if (y_.shows(point.y))
        out_.add({MarkItem{.at = at(point), .radius = 2.2, .ink = line.style.ink, .opacity = line.opacity}, ""});
  }

  /// Lines of many points get few marks, offset from those of neighbouring lines.
  void marks(const Line& line, std::size_t number) {
    for (std::size_t i = 0; i < line.spread.size() && i < line.points.size(); ++i) {
      const double x = x_.at(line.points[i].x);
      if (!y_.shows(line.spread[i].low) || !y_.shows(line.spread[i].high)) continue;
      out_.add({Polyline{.points = {{x, y_.at(line.spread[i].low)}, {x, y_.at(line.spread[i].high)}},
                         .ink = line.style.ink,
                         .width = 1.4},
                ""});
    }
    if (!line.marks || !line.joined) return;
    const bool few = line.points.size() <= kFewPoints && panel_.lines.size() <= 8;
    const std::size_t step = few ? 1 : std::max<std::size_t>(1, line.points.size() / kMarksOfMany);
    for (std::size_t i = few ? 0 : (number * 7919) % step; i < line.points.size(); i += step)
      if (y_.shows(line.points[i].y))
        out_.add({MarkItem{.at = at(line.points[i]),
                           .mark = line.style.mark,
                           .radius = few ? 2.8 : 3.4,
                           .ink = line.style.ink,
                           .hollow = line.style.hollow,
                           .opacity = line.opacity},
                  fmt::format("{}: {:.6g} at {} {:g}", line.name, line.points[i].y, panel_.x_label, line.points[i].x)});
  }

  void best(const Line& line) {
    if (!line.best || !y_.shows(line.points[*line.best].y)) return;
    const Point& point = line.points[*line.best];
    const std::string title = fmt::format("{}: best, {:.6g} at {} {:g}", line.name, point.y, panel_.x_label, point.x);
    out_.add({MarkItem{.at = at(point), .radius = 5.5, .ink = line.style.ink, .hollow = true}, title});
    out_.add({MarkItem{.at = at(point), .radius = 2, .ink = line.style.ink}, title});
    if (line.best_text.empty()) return;
    out_.add({Polyline{.points = {{x_.at(point.x), y_.at(point.y) + 6}, {x_.at(point.x), bottom_}},
                       .ink = line.style.ink,
                       .dash = Dash::kDotted},
              title});
    const double width = text_width(line.best_text, 12);
    draw_sample({.name = "", .style = line.style, .sample = LegendEntry::Sample::kRing},
                {right_ - width - 20, place_.top + 16}, out_);
    out_.add(
        {TextItem{.at = {right_, place_.top + 20}, .text = line.best_text, .size = 12, .anchor = Anchor::kEnd}, title});
  }

  const Panel& panel_;
  Drawing& out_;
  PanelPlace place_;
  double left_, right_, top_, bottom_;
  bool log_;
  Axis x_, y_;
  bool empty_;  // no value to show
};

void draw_panel(const Panel& panel, const PanelPlace& place, Drawing& out) { PanelDrawing(panel, place, out).draw(); }

constexpr double kChartWidth = 900, kMargin = 24, kHead = 52, kKeys = 24, kFoot = 18, kBetween = 20, kPanelGap = 8;

}  // namespace

Drawing draw(const Chart& chart) {
  const double inner = kChartWidth - 2 * kMargin;
  std::vector<PanelPlace> places;
  double y = kHead + (chart.keys.empty() ? 0 : kKeys);
  const double half = (inner - kBetween) / 2;
  const auto is_half = [&](std::size_t i) { return i < chart.panels.size() && chart.panels[i].half; };
  for (std::size_t i = 0; i < chart.panels.size(); ++i) {
    const double height = chart.panels[i].height;
    const bool pair = is_half(i) && is_half(i + 1);
    places.push_back({kMargin, y, pair ? half : inner, height});
    if (pair) {
      places.push_back({kMargin + half + kBetween, y, half, height});
      ++i;
    }
    y += height + kPanelGap;
  }
  const Legend legend(chart.legend, inner);
  Drawing out(kChartWidth, y + (chart.legend.empty() ? 0 : legend.height() + 8) + kFoot);
  out.add_fitting({.at = {kMargin, 34}, .text = chart.title, .size = 17, .bold = true}, inner);
  draw_keys(chart.keys, {kMargin, kHead + 6}, out);
  for (std::size_t i = 0; i < chart.panels.size(); ++i) draw_panel(chart.panels[i], places[i], out);
  legend.draw({kMargin, y + 4}, out);
  return out;
}

std::vector<Drawing> draw_panels(const Chart& chart, double width) {
  double height = 0;
  for (const Panel& panel : chart.panels) height = std::max(height, panel.height);
  std::vector<Drawing> all;
  for (const Panel& panel : chart.panels) draw_panel(panel, {0, 0, width, height}, all.emplace_back(width, height));
  return all;
}

}  // namespace dptrain::plot
