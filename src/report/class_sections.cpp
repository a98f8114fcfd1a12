#include <algorithm>
#include <filesystem>

#include "core/format.h"
#include "core/text.h"
#include "picture/confusion_matrix.h"
#include "report/html.h"
#include "report/numbers.h"
#include "report/sections.h"

namespace dptrain::report {
namespace {

std::string heading(const EvaluationRecord& evaluation, const OutputRecord& output) {
  return (output.name.empty() ? "" : output.name + ": ") + evaluated_text(evaluation);
}

/// What is taken for what, the most frequent first.
std::string mistakes(const OutputRecord& output) {
  struct Mistake {
    std::int64_t count;
    std::size_t label, answer;
  };
  constexpr std::size_t kMost = 10;
  const std::size_t classes = output.classes.size();
  std::vector<Mistake> all;
  for (std::size_t label = 0; label < classes; ++label)
    for (std::size_t answer = 0; answer < classes; ++answer)
      if (const std::int64_t count = output.counts[label * classes + answer]; label != answer && count > 0)
        all.push_back({count, label, answer});
  if (all.empty()) return note("No sample was taken for one of another class.");
  std::ranges::stable_sort(all, std::greater{}, &Mistake::count);
  all.resize(std::min(kMost, all.size()));
  std::vector<std::vector<std::string>> rows;
  for (const Mistake& one : all) {
    const auto samples = static_cast<double>(std::max<std::int64_t>(1, output.classes[one.label].samples));
    rows.push_back({element("span", "label", escaped(output.classes[one.label].name)),
                    element("span", "answer", escaped(output.classes[one.answer].name)), with_commas(one.count),
                    fmt::format("{:.1f} %", 100 * static_cast<double>(one.count) / samples)});
  }
  return table({{"label"}, {"taken for"}, {"samples", true}, {"of the label's", true}}, rows);
}

std::string classes_html(const EvaluationRecord& evaluation, const OutputRecord& output) {
  const std::string what = heading(evaluation, output);
  std::string html;
  if (!output.counts.empty()) {
    picture::ConfusionCounts counts{.title = "", .names = {}, .counts = output.counts};
    for (const picture::ClassBar& one : output.classes) counts.names.push_back(one.name);
    const std::string table = element("h3", "", "The most frequent mistakes") + "\n" + mistakes(output);
    html =
        element("div", "side",
                figure(picture::confusion_matrix(counts), "confusion matrix of " + what) + element("div", "", table)) +
        "\n";
  }
  return html + figure(picture::class_bars("", output.classes, output.macro), "scores of classes of " + what);
}

/// "coat, answered shirt with 0.93"
std::string answer_html(const WorstRecord& worst) {
  std::string html;
  if (!worst.label.empty()) html += element("span", "label", escaped(worst.label));
  if (!worst.answer.empty()) {
    const bool right = worst.answer == worst.label;
    html += ", answered " + element("span", right ? "label" : "answer", escaped(worst.answer));
  }
  if (worst.probability) html += fmt::format(" with {:.2f}", *worst.probability);
  if (worst.wrong)
    html += fmt::format("{} of {} wrong", with_commas(*worst.wrong), with_commas(worst.positions.value_or(0)));
  const std::string loss = worst.loss    ? "loss " + value_text(*worst.loss)
                           : worst.error ? "error " + value_text(*worst.error)
                                         : "";
  return html + element("small", "", loss);
}

/// What became of the cells of a table is of no interest here.
std::string holds_text(const WorstRecord& worst) {
  std::string lines;
  for (const std::string& line : worst.holds)
    if (!line.starts_with("->")) lines += line.substr(0, line.find(" -> ")) + "\n";
  return lines;
}

/// One of few bytes has few pixels, which are to be seen as such.
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

std::string cards(const std::vector<WorstRecord>& all) {
  const std::size_t images = all.front().images.size();
  std::string html = "\n";
  for (const WorstRecord& one : all) html += card(one);
  return element("div", images == 0 ? "cards words" : images > 1 ? "cards clips" : "cards", html) + "\n";
}

/// The first part of a page as it is, further ones folded.
class Parts {
 public:
  void add(const std::string& title, const std::string& html) {
    html_ += first_ ? element("p", "note", escaped(title)) + "\n" + html : folded(escaped(title), html);
    first_ = false;
  }
  bool empty() const { return first_; }
  const std::string& html() const { return html_; }

 private:
  bool first_ = true;
  std::string html_;
};

/// What would add an evaluation.
std::string no_evaluation(const RunRecord& run, const std::string& what) {
  if (!run.evaluations.empty()) return note(what);
  return run.has_validation
             ? note("The run has not been evaluated: dptrain eval " + shell_quoted(run.folder) + " adds this.")
             : note("The config has no data to evaluate on: data.validation, or data.test, adds this.");
}

}  // namespace

Section classes_section(const RunRecord& run) {
  Section section{.id = "classes", .title = "Classes"};
  Parts parts;
  for (const EvaluationRecord& evaluation : run.evaluations)
    for (const OutputRecord& output : evaluation.outputs)
      if (!output.classes.empty()) parts.add(heading(evaluation, output), classes_html(evaluation, output));
  section.html = parts.empty() ? no_evaluation(run, "The model tells no classes apart.") : parts.html();
  return section;
}

Section worst_section(const RunRecord& run) {
  Section section{.id = "worst", .title = "Worst samples"};
  Parts parts;
  for (const EvaluationRecord& evaluation : run.evaluations)
    for (const OutputRecord& output : evaluation.outputs)
      if (!output.worst.empty())
        parts.add(heading(evaluation, output) + (output.worst.front().error ? "; the largest mean absolute error first"
                                                                            : "; the largest loss first"),
                  cards(output.worst));
  section.html =
      parts.empty()
          ? no_evaluation(run, "The evaluation names none: dptrain eval " + shell_quoted(run.folder) + " does.")
          : parts.html();
  return section;
}

}  // namespace dptrain::report
