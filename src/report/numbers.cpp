#include "report/numbers.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "nn/metric.h"

namespace dptrain::report {
namespace {

const std::vector<picture::Point>* column_of(const RunRecord& run, const std::string& column) {
  if (!run.curves) return nullptr;
  const auto found = run.curves->values.find(column);
  return found == run.curves->values.end() ? nullptr : &found->second;
}

}  // namespace

std::string count_text(double value) { return with_commas(static_cast<std::int64_t>(std::llround(value))); }

std::string exit_word(const RunRecord& run) {
  if (!run.result) return "not ended";
  std::string word = run.result->exit;
  std::ranges::replace(word, '_', ' ');
  return word;
}

std::string date_text(const std::string& time) {
  if (time.size() < 16) return time;
  return time.substr(0, 10) + " " + time.substr(11, 5) + " UTC";
}

std::optional<Best> best_of(const RunRecord& run, const std::string& column) {
  const std::vector<picture::Point>* const points = column_of(run, column);
  if (points == nullptr) return std::nullopt;
  const nn::Direction better = run.curves->direction_of(column);
  if (better == nn::Direction::kUnknown) return std::nullopt;
  std::optional<Best> best;
  for (const picture::Point& point : *points)
    if (std::isfinite(point.y) && (!best || nn::is_better(better, point.y, best->value)))
      best = Best{point.y, static_cast<std::int64_t>(point.x)};
  return best;
}

std::optional<double> last_of(const RunRecord& run, const std::string& column) {
  const std::vector<picture::Point>* const points = column_of(run, column);
  return points == nullptr || points->empty() ? std::nullopt : std::optional(points->back().y);
}

std::vector<std::string> metrics_of(const RunRecord& run) {
  std::vector<std::string> metrics;
  if (!run.curves) return metrics;
  for (const std::string& column : run.curves->columns)
    if (column != "epoch" && column != "lr" && column != "examples_per_second" && column != "seconds" &&
        !column.starts_with("val_"))
      metrics.push_back(column);
  return metrics;
}

bool is_validated(const RunRecord& run) {
  for (const std::string& metric : metrics_of(run))
    if (best_of(run, "val_" + metric)) return true;
  return false;
}

}  // namespace dptrain::report
