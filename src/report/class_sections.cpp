#include <algorithm>
#include <filesystem>

#include "core/format.h"
#include "core/text.h"
#include "plot/class_results.h"
#include "report/html.h"
#include "report/sections.h"
#include "session/sample_images.h"

namespace dptrain::report {
namespace {

std::string heading(const EvaluationRecord& evaluation, const OutputRecord& output) {
  return (output.name.empty() ? "" : output.name + ": ") + evaluated_text(evaluation);
}

/// The pairs of label and wrong answer, the most frequent first.
std::string mistakes(const OutputRecord& output) {
  struct Mistake {
    std::int64_t count;
    std::size_t label, answer;
  };
  constexpr std::size_t kMax = 10;
  const std::size_t classes = output.classes.size();
  std::vector<Mistake> all;
  for (std::size_t label = 0; label < classes; ++label)
    for (std::size_t answer = 0; answer < classes; ++answer)
      if (const std::int64_t count = output.counts[label * classes + answer]; label != answer && count > 0)
        all.push_back({count, label, answer});
  if (all.empty()) return note("Every answer is right.");
  std::ranges::stable_sort(all, std::greater{}, &Mistake::count);
  all.resize(std::min(kMax, all.size()));
  std::vector<std::vector<std::string>> rows;
  for (const Mistake& one : all) {
    const auto samples = static_cast<double>(std::max<std::int64_t>(1, output.classes[one.label].samples));
    rows.push_back({element("span", "label", escaped(output.classes[one.label].name)),
                    element("span", "answer", escaped(output.classes[one.answer].name)), with_commas(one.count),
                    fmt::format("{:.1f} %", 100 * static_cast<double>(one.count) / samples)});
  }
  return table(
      {{"label"}, {"answer"}, {output.macro.iou ? "positions" : "samples", true}, {"share of the label", true}}, rows);
}

/// The IoU of each class of a map, the smallest first; "" for other outputs.
std::string ious(const OutputRecord& output) {
  constexpr std::size_t kMax = 60;
  if (!output.macro.iou) return "";
  std::vector<plot::ClassBar> classes = output.classes;
  std::ranges::stable_sort(classes, {}, [](const plot::ClassBar& one) { return one.iou.value_or(2); });
  if (classes.size() > kMax) classes.resize(kMax);
  classes.push_back(output.macro);
  std::vector<std::vector<std::string>> rows;
  const auto text = [](const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; };
  for (const plot::ClassBar& one : classes)
    rows.push_back({escaped(one.name), text(one.iou), text(one.f1), with_commas(one.samples)});
  return element("h3", "", "Intersection over union") + "\n" +
         table({{"class"}, {"IoU", true}, {"F1", true}, {"positions", true}}, rows);
}

std::string classes_html(const EvaluationRecord& evaluation, const OutputRecord& output) {
  constexpr double kBarsWidth = 480;
  const std::string what = heading(evaluation, output);
  const std::string bars =
      figure(plot::class_bars("", output.classes, output.macro, kBarsWidth), "scores of classes of " + what);
  if (output.counts.empty()) return bars + ious(output);
  plot::ConfusionCounts counts{.title = "", .names = {}, .counts = output.counts};
  for (const plot::ClassBar& one : output.classes) counts.names.push_back(one.name);
  const std::string table = ious(output) + element("h3", "", "The most frequent mistakes") + "\n" + mistakes(output);
  return element(
             "div", "side",
             figure(plot::confusion_matrix(counts), "confusion matrix of " + what) + element("div", "", bars + table)) +
         "\n";
}

std::string answer_html(const WorstRecord& worst) {
  std::string html;
  if (!worst.label.empty()) html += element("div", "", element("span", "label", escaped(worst.label)));
  const std::string probability = worst.probability ? fmt::format(" {:.2f}", *worst.probability) : "";
  if (!worst.answer.empty()) {
    const bool right = worst.answer == worst.label;
    html += element("div", "", element("span", right ? "label" : "answer", escaped(worst.answer)) + probability);
  }
  if (worst.wrong)
    html += fmt::format("{} of {} wrong", with_commas(*worst.wrong), with_commas(worst.positions.value_or(0)));
  const std::string loss = worst.loss    ? "loss " + metric_text(*worst.loss)
                           : worst.error ? "error " + metric_text(*worst.error)
                                         : "";
  return html + element("small", "", loss);
}

/// The cells as in the file, without their encoded numbers.
std::string holds_text(const WorstRecord& worst) {
  std::string lines;
  for (const std::string& line : worst.contents)
    if (!line.starts_with("->")) lines += line.substr(0, line.find(" -> ")) + "\n";
  return lines;
}

/// A small file has few pixels, which are enlarged without smoothing.
std::string image_html(const std::string& image) {
  constexpr std::size_t kFewBytes = 6000;
  return fmt::format("<img{} src=\"{}\" alt=\"\"/>", image.size() < kFewBytes ? " class=\"pixels\"" : "",
                     escaped(image));
}

std::string card(const WorstRecord& worst) {
  std::string images;
  for (const std::string& image : worst.images) images += image_html(image);
  std::string html = images.empty() ? "" : element("div", "images", images);
  html += answer_html(worst);
  html += fmt::format("<small title=\"{}\">{}</small>", escaped(worst.sample),
                      escaped(std::filesystem::path(worst.sample).filename().string()));
  if (const std::string lines = holds_text(worst); !lines.empty() && images.empty()) html += preformatted(lines);
  return element("div", "card", html) + "\n";
}

/// Whether the cards have the picture, its label map and the answer.
bool shows_maps(const OutputRecord& output) { return output.map_pixels > 0 && output.worst.front().images.size() == 3; }

/// The colors of the classes that occur.
std::string map_legend(const OutputRecord& output) {
  std::vector<std::string> names;
  for (const plot::ClassBar& one : output.classes) names.push_back(one.name);
  const std::vector<std::optional<plot::Rgb>> colors = session::class_colors(names);
  const auto entry = [](const std::string& background, const std::string& name) {
    return "<span><i class=\"swatch\" style=\"background:" + background + "\"></i>" + escaped(name) + "</span>";
  };
  std::string html;
  for (std::size_t c = 0; c < names.size(); ++c)
    if (output.classes[c].f1)  // of a class without labels and answers undefined
      html += entry(colors[c] ? fmt::format("#{:02x}{:02x}{:02x}", (*colors[c])[0], (*colors[c])[1], (*colors[c])[2])
                              : "none;outline:1px solid",
                    names[c]);
  if (std::ranges::any_of(output.worst, [&](const WorstRecord& worst) {
        return worst.positions.value_or(output.map_pixels) < output.map_pixels;
      }))
    html += entry("repeating-linear-gradient(135deg,#fff 0 3px,#888 3px 4px)", "ignored");
  return element("div", "names", html) + "\n";
}

std::string order_text(const OutputRecord& output) {
  if (output.worst.front().error) return "; the largest mean absolute error first, the label above the answer";
  if (shows_maps(output)) return "; the largest loss first: picture, label and answer";
  return "; the largest loss first, the label above the answer";
}

std::string cards(const OutputRecord& output) {
  const std::size_t images = output.worst.front().images.size();
  const char* const wide = shows_maps(output) ? "cards maps" : "cards clips";
  std::string html = "\n";
  for (const WorstRecord& one : output.worst) html += card(one);
  return element("div", images == 0 ? "cards words" : images > 1 ? wide : "cards", html) + "\n";
}

/// The outputs of the first evaluation, followed by further evaluations in folded elements.
class Parts {
 public:
  void add(const EvaluationRecord& evaluation, const OutputRecord& output, const std::string& about,
           const std::string& html) {
    if (first_ == nullptr) first_ = &evaluation;
    if (first_ != &evaluation) {
      html_ += folded(escaped(heading(evaluation, output) + about), html);
      return;
    }
    if (!output.name.empty()) html_ += element("h3", "", escaped(output.name)) + "\n";
    html_ += note(evaluated_text(evaluation) + about) + html;
  }
  const std::string& html() const { return html_; }

 private:
  const EvaluationRecord* first_ = nullptr;
  std::string html_;
};

}  // namespace

Section classes_section(const RunRecord& run) {
  Parts parts;
  for (const EvaluationRecord& evaluation : run.evaluations)
    for (const OutputRecord& output : evaluation.outputs)
      if (!output.classes.empty()) parts.add(evaluation, output, "", classes_html(evaluation, output));
  return {.id = "classes", .title = "Classes", .html = parts.html()};
}

Section values_section(const RunRecord& run) {
  Parts parts;
  for (const EvaluationRecord& evaluation : run.evaluations)
    for (const OutputRecord& output : evaluation.outputs) {
      plot::Chart chart{.title = ""};
      std::size_t drawn = 0;
      for (const plot::ValuePairs& pairs : output.values) {
        if (!plot::is_drawable(pairs)) continue;
        chart.panels.push_back(plot::predicted_panel(pairs));
        chart.panels.push_back(plot::residuals_panel(pairs));
        drawn = pairs.labels.size();
      }
      if (chart.panels.empty()) continue;
      const auto drawn_samples = static_cast<std::int64_t>(drawn);
      const std::string about =
          drawn_samples < evaluation.samples ? fmt::format("; {} of them are drawn", with_commas(drawn_samples)) : "";
      parts.add(evaluation, output, about, charts(chart, heading(evaluation, output)));
    }
  return {.id = "values", .title = "Predicted values", .html = parts.html()};
}

Section worst_section(const RunRecord& run) {
  Parts parts;
  for (const EvaluationRecord& evaluation : run.evaluations)
    for (const OutputRecord& output : evaluation.outputs)
      if (!output.worst.empty())
        parts.add(evaluation, output, order_text(output),
                  (shows_maps(output) ? map_legend(output) : "") + cards(output));
  return {.id = "worst", .title = "Worst samples", .html = parts.html()};
}

}  // namespace dptrain::report
