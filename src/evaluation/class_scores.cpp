#include "evaluation/class_scores.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/text.h"
#include "evaluation/answers.h"

namespace dptrain::evaluation {

void Confusion::add_processes(distributed::Processes& processes) {
  std::vector<std::int64_t> all = counts_;
  evaluation::add_processes(all, processes);
  std::ranges::fill(counts_, 0);
  for (std::size_t i = 0; i < all.size(); ++i) counts_[i % counts_.size()] += all[i];
}

std::string Confusion::csv(const Classes& classes) const {
  std::vector<std::string> header{"label"};
  for (std::int64_t c = 0; c < classes_; ++c) header.push_back(csv_field(classes.name(c)));
  std::string text = join(header, ",") + "\n";
  for (std::int64_t label = 0; label < classes_; ++label) {
    std::vector<std::string> row{csv_field(classes.name(label))};
    for (std::int64_t c = 0; c < classes_; ++c) row.push_back(std::to_string(count(label, c)));
    text += join(row, ",") + "\n";
  }
  return text;
}

namespace {

std::optional<double> share(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string shown(const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; }

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// Whether the scores are those of an output with several positions.
bool has_iou(const std::vector<ClassScore>& scores) {
  return std::ranges::any_of(scores, [](const ClassScore& score) { return score.iou.has_value(); });
}

nlohmann::ordered_json json_of(const ClassScore& score, bool with_iou) {
  nlohmann::ordered_json json{
      {"precision", or_null(score.precision)}, {"recall", or_null(score.recall)}, {"f1", or_null(score.f1)}};
  if (with_iou) json["iou"] = or_null(score.iou);
  return json;
}

}  // namespace

std::vector<ClassScore> class_scores(const Confusion& confusion, const Classes& classes) {
  std::vector<ClassScore> scores;
  for (std::int64_t c = 0; c < classes.count(); ++c) {
    std::int64_t support = 0, predicted = 0;
    for (std::int64_t other = 0; other < classes.count(); ++other) {
      support += confusion.count(c, other);
      predicted += confusion.count(other, c);
    }
    const std::int64_t right = confusion.count(c, c);
    scores.push_back({.name = classes.name(c),
                      .support = support,
                      .precision = share(right, predicted),
                      .recall = share(right, support),
                      .f1 = share(2 * right, predicted + support)});
    if (classes.positions() > 1) scores.back().iou = share(right, predicted + support - right);
  }
  return scores;
}

ClassScore macro_average(const std::vector<ClassScore>& scores) {
  ClassScore mean{.name = "mean"};
  double precision = 0, recall = 0, f1 = 0, iou = 0, classes = 0;
  for (const ClassScore& score : scores) {
    if (score.support == 0) continue;
    mean.support += score.support;
    precision += score.precision.value_or(0);
    recall += score.recall.value_or(0);
    f1 += score.f1.value_or(0);
    iou += score.iou.value_or(0);
    ++classes;
  }
  if (classes == 0) return mean;
  mean.precision = precision / classes;
  mean.recall = recall / classes;
  mean.f1 = f1 / classes;
  if (has_iou(scores)) mean.iou = iou / classes;
  return mean;
}

std::vector<std::pair<std::string, std::optional<double>>> named_scores(const ClassScore& score,
                                                                        const Classes& classes) {
  std::vector<std::pair<std::string, std::optional<double>>> named{
      {"precision", score.precision}, {"recall", score.recall}, {"f1", score.f1}};
  if (classes.positions() > 1) named.emplace_back("iou", score.iou);
  return named;
}

std::string scores_table(const std::vector<ClassScore>& scores, std::size_t most) {
  std::vector<ClassScore> rows = scores.size() > most ? std::vector<ClassScore>{} : scores;
  rows.push_back(macro_average(scores));
  const bool with_iou = has_iou(scores);
  std::size_t width = 5;
  for (const ClassScore& row : rows) width = std::max(width, row.name.size());
  std::string text =
      fmt::format("{:<{}}  precision  recall      f1{}  support\n", "class", width, with_iou ? "     iou" : "");
  for (const ClassScore& row : rows)
    text +=
        fmt::format("{:<{}}  {:>9}  {:>6}  {:>6}{}  {:>7}\n", row.name, width, shown(row.precision), shown(row.recall),
                    shown(row.f1), with_iou ? fmt::format("  {:>6}", shown(row.iou)) : "", row.support);
  return text;
}

nlohmann::ordered_json scores_json(const std::vector<ClassScore>& scores) {
  const bool with_iou = has_iou(scores);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ClassScore& score : scores) {
    nlohmann::ordered_json one{{"name", score.name}};
    one.update(json_of(score, with_iou));
    one["support"] = score.support;
    list.push_back(std::move(one));
  }
  return {{"classes", list}, {"macro", json_of(macro_average(scores), with_iou)}};
}

}  // namespace dptrain::evaluation
