#include "cli/eval_pictures.h"

#include "picture/class_bars.h"
#include "picture/confusion_matrix.h"

namespace dptrain::cli {
namespace {

picture::ClassBar bar_of(const ClassScore& score) {
  return {.name = score.name,
          .samples = score.support,
          .precision = score.precision,
          .recall = score.recall,
          .f1 = score.f1};
}

}  // namespace

picture::Drawing draw_confusion(const std::string& title, const Confusion& confusion, const Classes& classes) {
  picture::ConfusionCounts counts{.title = title, .names = {}, .counts = {}};
  for (std::int64_t label = 0; label < classes.count(); ++label) {
    counts.names.push_back(classes.name(label));
    for (std::int64_t predicted = 0; predicted < classes.count(); ++predicted)
      counts.counts.push_back(confusion.count(label, predicted));
  }
  return picture::confusion_matrix(counts);
}

picture::Drawing draw_scores(const std::string& title, const std::vector<ClassScore>& scores) {
  std::vector<picture::ClassBar> bars;
  for (const ClassScore& score : scores) bars.push_back(bar_of(score));
  return picture::class_bars(title, bars, bar_of(macro_average(scores)));
}

std::optional<ValuePictures> draw_values(const std::string& title, const std::vector<picture::ValuePairs>& values) {
  picture::Chart predicted{.title = title}, residuals{.title = title};
  for (const picture::ValuePairs& pairs : values) {
    if (!picture::is_drawable(pairs)) continue;
    predicted.panels.push_back(picture::predicted_panel(pairs));
    residuals.panels.push_back(picture::residuals_panel(pairs));
  }
  if (predicted.panels.empty()) return std::nullopt;
  return ValuePictures{picture::draw(predicted), picture::draw(residuals)};
}

}  // namespace dptrain::cli
