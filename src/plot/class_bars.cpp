#include "plot/class_bars.h"

#include <algorithm>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "plot/axis.h"
#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

constexpr std::size_t kMostBars = 60, kWorstBars = 40;
constexpr double kBarsMargin = 24, kBarsTop = 118, kBarRow = 22, kBarHeight = 12, kMostNameShare = 0.26,
                 kSamplesWidth = 70, kValueWidth = 52, kBarFont = 12;
constexpr LineStyle kPrecision{.ink = Ink::kLine5, .mark = Mark::kDiamond},
    kRecall{.ink = Ink::kLine1, .mark = Mark::kDisc};

std::vector<ClassBar> shown_bars(const std::vector<ClassBar>& classes) {
  if (classes.size() <= kMostBars) return classes;
  std::vector<ClassBar> worst = classes;
  std::ranges::stable_sort(worst, {}, [](const ClassBar& bar) { return bar.f1.value_or(2); });
  worst.resize(kWorstBars);
  return worst;
}

class BarsDrawing {
 public:
  BarsDrawing(const std::vector<ClassBar>& shown, Drawing& out) : out_(out) {
    double widest = text_width("mean", kBarFont, true);
    for (const ClassBar& bar : shown) widest = std::max(widest, text_width(bar.name, kBarFont));
    name_ = std::min(widest, kMostNameShare * out.width());
    left_ = kBarsMargin + name_ + 12;
    right_ = out_.width() - kBarsMargin - kSamplesWidth - kValueWidth;
  }

  void axis(double bottom) {
    for (int tenth = 0; tenth <= 10; tenth += 2) {
      const double x = at(tenth / 10.0);
      out_.add({Polyline{.points = {{x, kBarsTop - 6}, {x, bottom}}, .ink = Ink::kGrid}, ""});
      words({x, kBarsTop - 12}, fmt::format("{:.1f}", tenth / 10.0), Ink::kMuted, Anchor::kMiddle);
    }
    words({right_ + kValueWidth, kBarsTop - 12}, "F1", Ink::kMuted, Anchor::kEnd);
    words({out_.width() - kBarsMargin, kBarsTop - 12}, "samples", Ink::kMuted, Anchor::kEnd);
  }

  void mean_line(const ClassBar& mean, double bottom) {
    if (!mean.f1) return;
    const double x = at(*mean.f1);
    out_.add(
        {Polyline{.points = {{x, kBarsTop - 6}, {x, bottom}}, .ink = Ink::kText, .width = 1.3, .dash = Dash::kDotted},
         fmt::format("mean F1 {:.4f}", *mean.f1)});
  }

  void row(const ClassBar& bar, double y, bool bold) {
    const double base = y + kBarRow / 2 + 4;
    out_.add_fitting(
        {.at = {left_ - 12, base}, .text = bar.name, .size = kBarFont, .anchor = Anchor::kEnd, .bold = bold},
        name_ + 0.01);
    words({out_.width() - kBarsMargin, base}, with_commas(bar.samples), Ink::kMuted, Anchor::kEnd);
    const std::string title = fmt::format("{}: precision {}, recall {}, F1 {}, {}", bar.name, number(bar.precision),
                                          number(bar.recall), number(bar.f1), counted(bar.samples, "sample"));
    if (!bar.f1)
      words({left_ + 6, base}, "neither a sample nor a prediction", Ink::kMuted, Anchor::kStart);
    else {
      out_.add({Box{.at = {left_, y + (kBarRow - kBarHeight) / 2},
                    .width = std::max(1.0, at(*bar.f1) - left_),
                    .height = kBarHeight,
                    .ink = Ink::kRight,
                    .opacity = bold ? 1 : 0.65,
                    .radius = 2},
                title});
      words({right_ + kValueWidth, base}, fmt::format("{:.3f}", *bar.f1), Ink::kText, Anchor::kEnd);
    }
    // Beside the middle, so that both are seen where they are equal.
    const auto mark = [&](const std::optional<double>& value, const LineStyle& style, double beside) {
      if (value)
        out_.add(
            {MarkItem{.at = {at(*value), y + kBarRow / 2 + beside}, .mark = style.mark, .radius = 4, .ink = style.ink},
             title});
    };
    mark(bar.precision, kPrecision, -3);
    mark(bar.recall, kRecall, 3);
  }

 private:
  static std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; }
  double at(double share) const { return left_ + share * (right_ - left_); }
  void words(Point at, const std::string& text, Ink ink, Anchor anchor) {
    out_.add({Words{.at = at, .text = text, .ink = ink, .size = 11.5, .anchor = anchor}, ""});
  }

  Drawing& out_;
  double name_ = 0, left_ = 0, right_ = 0;
};

}  // namespace

Drawing class_bars(const std::string& title, const std::vector<ClassBar>& classes, const ClassBar& mean, double width) {
  const std::vector<ClassBar> shown = shown_bars(classes);
  const double bottom = kBarsTop + kBarRow * static_cast<double>(shown.size());
  Drawing out(width, bottom + kBarRow + 32);
  out.add_fitting({.at = {kBarsMargin, 34}, .text = title, .size = 17, .bold = true}, width - 2 * kBarsMargin);
  using Sample = LegendEntry::Sample;
  const LineStyle bar{.ink = Ink::kRight}, dots{.ink = Ink::kText};
  draw_keys({{.name = "F1", .style = bar, .sample = Sample::kBar},
             {.name = "precision", .style = kPrecision, .sample = Sample::kMark},
             {.name = "recall", .style = kRecall, .sample = Sample::kMark},
             {.name = "mean F1", .style = dots, .dash = Dash::kDotted, .sample = Sample::kLine}},
            {kBarsMargin, 58}, out);
  if (shown.size() < classes.size())
    out.add({Words{.at = {kBarsMargin, 82},
                   .text = fmt::format("the {} of {} classes with the smallest F1", shown.size(),
                                       with_commas(static_cast<std::int64_t>(classes.size()))),
                   .ink = Ink::kMuted,
                   .size = 12},
             ""});
  BarsDrawing drawing(shown, out);
  drawing.axis(bottom + kBarRow + 6);
  for (std::size_t i = 0; i < shown.size(); ++i)
    drawing.row(shown[i], kBarsTop + kBarRow * static_cast<double>(i), false);
  drawing.row(mean, bottom + 6, true);
  drawing.mean_line(mean, bottom + kBarRow + 6);
  return out;
}

}  // namespace dptrain::plot
