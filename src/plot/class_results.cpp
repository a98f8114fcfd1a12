#include "plot/class_results.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "plot/axis.h"
#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

constexpr std::size_t kMaxClasses = 60, kWorstClasses = 40;
constexpr double kMatrixMargin = 24, kMatrixTop = 66, kMaxClassName = 170, kMinOpacity = 0.07, kScaleHeight = 78,
                 kMinWidth = 420;

/// With commas; in millions where they would not fit into a column, as the positions of many maps.
std::string short_count(std::int64_t count) {
  constexpr std::int64_t kMillions = 10'000'000;
  return count < kMillions ? with_commas(count) : fmt::format("{} M", with_commas(count / 1'000'000));
}

double cell_size(std::size_t classes) { return classes <= 12 ? 54 : classes <= 20 ? 42 : classes <= 40 ? 22 : 16; }

/// All classes, or those with the most mistakes, in their order.
std::vector<std::size_t> shown_classes(const ConfusionCounts& confusion) {
  const std::size_t n = confusion.names.size();
  std::vector<std::size_t> shown(n);
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (n <= kMaxClasses) return shown;
  std::vector<std::int64_t> mistakes(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      if (i != k) {
        mistakes[i] += confusion.counts[i * n + k];
        mistakes[k] += confusion.counts[i * n + k];
      }
  std::ranges::stable_sort(shown, [&](std::size_t a, std::size_t b) { return mistakes[a] > mistakes[b]; });
  shown.resize(kWorstClasses);
  std::ranges::sort(shown);
  return shown;
}

std::string percent(double share) {
  return share >= 0.0995 || share == 0 ? fmt::format("{:.0f} %", 100 * share) : fmt::format("{:.1f} %", 100 * share);
}

double opacity_of(double share) { return std::max(kMinOpacity, std::sqrt(share)); }

class MatrixDrawing {
 public:
  explicit MatrixDrawing(const ConfusionCounts& confusion)
      : of_(confusion),
        n_(confusion.names.size()),
        shown_(shown_classes(confusion)),
        cell_(cell_size(shown_.size())),
        font_(std::min(12.0, cell_ - 3)) {
    double widest = 0;
    for (const std::size_t c : shown_) widest = std::max(widest, text_width(of_.names[c], font_));
    name_ = std::min(widest, kMaxClassName);
    level_ = widest <= cell_ - 6;
    const double slope = level_ ? 0 : name_ * std::sqrt(0.5);
    top_ = kMatrixTop + 26 + (level_ ? font_ + 10 : slope + 16);
    left_ = kMatrixMargin + std::max(name_, text_width("label", 12)) + 10;
    side_ = cell_ * static_cast<double>(shown_.size());
    sums_ = cell_ >= 20 ? 64 : 0;
    width_ = std::max(kMinWidth, left_ + side_ + std::max(sums_, slope + 8) + kMatrixMargin);
  }

  Drawing draw() {
    Drawing out(width_, top_ + side_ + kScaleHeight);
    heading(out);
    names(out);
    cells(out);
    scale(out);
    return out;
  }

 private:
  std::int64_t count(std::size_t label, std::size_t predicted) const { return of_.counts[label * n_ + predicted]; }
  std::int64_t samples_of(std::size_t label) const {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < n_; ++k) sum += count(label, k);
    return sum;
  }

  void heading(Drawing& out) const {
    std::int64_t right = 0, all = 0;
    for (std::size_t c = 0; c < n_; ++c) right += count(c, c), all += samples_of(c);
    std::string note = fmt::format("{} of {} right, {}", with_commas(right), with_commas(all),
                                   percent(all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all)));
    if (shown_.size() < n_)
      note += fmt::format("; here the {} of {} classes with most mistakes", shown_.size(),
                          with_commas(static_cast<std::int64_t>(n_)));
    const double most = width_ - 2 * kMatrixMargin;
    out.add_fitting({.at = {kMatrixMargin, 34}, .text = of_.title, .size = 17, .bold = true}, most);
    out.add_fitting({.at = {kMatrixMargin, 56}, .text = note, .ink = Ink::kMuted, .size = 12.5}, most);
  }

  void names(Drawing& out) const {
    const auto caption = [&](Point at, const char* text, Anchor anchor) {
      out.add({TextItem{.at = at, .text = text, .ink = Ink::kMuted, .size = 12, .anchor = anchor}, ""});
    };
    caption({left_ + side_ / 2, kMatrixTop + 20}, "predicted", Anchor::kMiddle);
    caption({left_ - 10, top_ - 8}, "label", Anchor::kEnd);
    if (sums_ > 0) caption({left_ + side_ + sums_ - 4, top_ + side_ + 14}, "samples", Anchor::kEnd);
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const std::string& name = of_.names[shown_[i]];
      const double middle = (static_cast<double>(i) + 0.5) * cell_;
      out.add_fitting(
          {.at = {left_ - 10, top_ + middle + 0.36 * font_}, .text = name, .size = font_, .anchor = Anchor::kEnd},
          name_ + 0.01);
      if (level_)
        out.add(
            {TextItem{.at = {left_ + middle, top_ - 8}, .text = name, .size = font_, .anchor = Anchor::kMiddle}, ""});
      else
        out.add_fitting({.at = {left_ + middle + 0.3 * font_, top_ - 7}, .text = name, .size = font_, .angle = -45},
                        name_ + 0.01);
      if (sums_ > 0)
        out.add({TextItem{.at = {left_ + side_ + sums_ - 4, top_ + middle + 0.36 * font_},
                          .text = short_count(samples_of(shown_[i])),
                          .ink = Ink::kMuted,
                          .size = std::min(11.5, font_),
                          .anchor = Anchor::kEnd},
                 ""});
    }
  }

  void cells(Drawing& out) const {
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const std::int64_t samples = samples_of(shown_[i]);
      for (std::size_t k = 0; k < shown_.size(); ++k) cell(i, k, samples, out);
    }
  }

  void cell(std::size_t i, std::size_t k, std::int64_t samples, Drawing& out) const {
    const std::size_t label = shown_[i], predicted = shown_[k];
    const std::int64_t here = count(label, predicted);
    const double share = samples == 0 ? 0 : static_cast<double>(here) / static_cast<double>(samples);
    const Point at{left_ + static_cast<double>(k) * cell_, top_ + static_cast<double>(i) * cell_};
    const double gap = cell_ >= 22 ? 1.5 : 1;
    Box box{.at = at,
            .width = cell_ - gap,
            .height = cell_ - gap,
            .ink = Ink::kGrid,
            .opacity = 0.5,
            .radius = cell_ >= 40 ? 3.0 : 0.0};
    if (here == 0) return out.add({box, ""});
    box.ink = i == k ? Ink::kRight : Ink::kWrong;
    box.opacity = opacity_of(share);
    const std::string title =
        fmt::format("label {}, predicted {}: {} of {}, {}", of_.names[label], of_.names[predicted], with_commas(here),
                    with_commas(samples), percent(share));
    out.add({box, title});
    if (cell_ < 40) return;
    const Ink ink = box.opacity > 0.88 ? Ink::kOnColor : box.opacity > 0.6 ? Ink::kOnMiddle : Ink::kText;
    const bool with_share = cell_ >= 50;
    const std::string text = std::to_string(here);
    const double size = std::min(13.0, 13.0 * (cell_ - 8) / text_width(text, 13));
    const Point middle{at.x + (cell_ - gap) / 2, at.y + cell_ / 2};
    out.add({TextItem{.at = {middle.x, middle.y + (with_share ? 0 : 4)},
                      .text = text,
                      .ink = ink,
                      .size = size,
                      .anchor = Anchor::kMiddle,
                      .bold = i == k},
             title});
    if (with_share)
      out.add({TextItem{.at = {middle.x, middle.y + 15},
                        .text = percent(share),
                        .ink = ink,
                        .size = 10,
                        .anchor = Anchor::kMiddle},
               title});
  }

  void scale(Drawing& out) const {
    double x = kMatrixMargin;
    double y = top_ + side_ + 28;
    const auto words = [&](const std::string& text) {
      out.add({TextItem{.at = {x, y + 11}, .text = text, .ink = Ink::kMuted, .size = 11.5}, ""});
      x += text_width(text, 11.5);
    };
    words("share of the label's samples, right or wrong:");
    x = kMatrixMargin - 12;
    y += 20;
    for (const double share : {0.01, 0.1, 0.5, 1.0}) {
      x += 12;
      for (const Ink ink : {Ink::kRight, Ink::kWrong}) {
        out.add(
            {Box{.at = {x, y}, .width = 14, .height = 14, .ink = ink, .opacity = opacity_of(share), .radius = 2}, ""});
        x += 16;
      }
      x += 2;
      words(fmt::format("{:.0f} %", 100 * share));
    }
  }

  const ConfusionCounts& of_;
  std::size_t n_;
  std::vector<std::size_t> shown_;
  double cell_, font_, name_ = 0, top_ = 0, left_ = 0, side_ = 0, sums_ = 0, width_ = 0;
  bool level_ = true;  // column names fit horizontally
};

constexpr std::size_t kMaxBars = 60, kWorstBars = 40;
constexpr double kBarsMargin = 24, kBarsTop = 118, kBarRow = 22, kBarHeight = 12, kMaxNameShare = 0.26,
                 kSamplesWidth = 70, kValueWidth = 52, kBarFont = 12;
constexpr LineStyle kPrecision{.ink = Ink::kLine5, .mark = Mark::kDiamond},
    kRecall{.ink = Ink::kLine1, .mark = Mark::kDisc};

std::vector<ClassBar> shown_bars(const std::vector<ClassBar>& classes) {
  if (classes.size() <= kMaxBars) return classes;
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
    name_ = std::min(widest, kMaxNameShare * out.width());
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
    words({out_.width() - kBarsMargin, base}, short_count(bar.samples), Ink::kMuted, Anchor::kEnd);
    const std::string iou = bar.iou ? fmt::format(", IoU {:.4f}", *bar.iou) : "";
    const std::string title =
        fmt::format("{}: precision {}, recall {}, F1 {}{}, {}", bar.name, number(bar.precision), number(bar.recall),
                    number(bar.f1), iou, counted(bar.samples, bar.iou ? "position" : "sample"));
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
    // Vertical offset, so that both marks are visible if the values are equal.
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
    out_.add({TextItem{.at = at, .text = text, .ink = ink, .size = 11.5, .anchor = anchor}, ""});
  }

  Drawing& out_;
  double name_ = 0, left_ = 0, right_ = 0;
};

}  // namespace

Drawing confusion_matrix(const ConfusionCounts& confusion) { return MatrixDrawing(confusion).draw(); }

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
    out.add({TextItem{.at = {kBarsMargin, 82},
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
