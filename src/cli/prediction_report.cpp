#include "cli/prediction_report.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/quantity.h"
#include "core/terminal.h"
#include "dptrain_version.h"

namespace dptrain::cli {
namespace {

using Json = nlohmann::ordered_json;

double speedup(const PredictedRow& row, const PredictedRow& first) {
  return row.examples_per_second() / first.examples_per_second();
}

double efficiency(const PredictedRow& row, const PredictedRow& first) {
  return speedup(row, first) * first.replicas() / row.replicas();
}

bool is_compared(const PredictionReport& report) {
  return std::ranges::any_of(report.rows, [](const PredictedRow& row) { return row.measured.has_value(); });
}

std::string algorithm_of(const PredictedRow& row) {
  return row.cluster.ranks == 1 ? "-" : session::name_of(row.predicted.algorithm);
}

/// JSON has no infinity.
Json link_of(const session::MessageLink& link) {
  return {{"bytes_per_second", std::isfinite(link.bytes_per_second) ? Json(link.bytes_per_second) : Json(nullptr)},
          {"latency_seconds", link.latency}};
}

}  // namespace

std::optional<double> PredictedRow::ratio() const {
  if (!measured) return std::nullopt;
  return predicted.step / *measured;
}

std::string prediction_table(const PredictionReport& report, std::optional<std::size_t> columns) {
  using enum terminal::Table::Align;
  const bool compared = is_compared(report);
  terminal::Table table;
  for (const char* head : {report.ranks.c_str(), "nodes", "global", "step_ms", "compute", "comm", "exposed",
                           "samples/s", "speedup", "eff"})
    table.column(head);
  table.column("sums by", kLeft);
  if (compared) table.column("measured").column("predicted/measured");
  const auto two_digits = [](double value) { return fmt::format("{:.2f}", value); };
  for (const PredictedRow& row : report.rows) {
    std::vector<std::string> cells{std::to_string(row.cluster.ranks),
                                   std::to_string(row.cluster.nodes()),
                                   std::to_string(row.global_batch),
                                   two_digits(row.predicted.step * 1e3),
                                   two_digits(row.predicted.compute * 1e3),
                                   two_digits(row.predicted.communication * 1e3),
                                   two_digits(row.predicted.exposed * 1e3),
                                   rate_text(row.examples_per_second()),
                                   two_digits(speedup(row, report.rows.front())),
                                   two_digits(efficiency(row, report.rows.front())),
                                   algorithm_of(row)};
    if (row.measured) {
      cells.push_back(two_digits(*row.measured * 1e3));
      cells.push_back(fmt::format("{:.3f}", *row.ratio()));
    }
    table.row(std::move(cells));
  }
  std::string text = fmt::format("predicted, not measured: {}\n", report.config);
  for (const std::string& sentence : report.assumptions) text += fmt::format("  {}\n", sentence);
  return terminal::wrapped(text, columns) + table.text(columns);
}

std::string prediction_csv(const PredictionReport& report) {
  std::string text =
      report.ranks +
      ",nodes,replicas,global_batch,predicted_step_ms,predicted_compute_ms,predicted_communication_ms,"
      "predicted_exposed_ms,predicted_examples_per_second,predicted_speedup,predicted_efficiency,algorithm,"
      "measured_step_ms,predicted_to_measured\n";
  for (const PredictedRow& row : report.rows)
    text +=
        fmt::format("{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.9g},{:.4g},{:.4g},{},{},{}\n", row.cluster.ranks,
                    row.cluster.nodes(), row.replicas(), row.global_batch, row.predicted.step * 1e3,
                    row.predicted.compute * 1e3, row.predicted.communication * 1e3, row.predicted.exposed * 1e3,
                    row.examples_per_second(), speedup(row, report.rows.front()), efficiency(row, report.rows.front()),
                    algorithm_of(row), row.measured ? fmt::format("{:.6g}", *row.measured * 1e3) : "",
                    row.measured ? fmt::format("{:.4g}", *row.ratio()) : "");
  return text;
}

std::string prediction_json(const PredictionReport& report) {
  Json buckets = Json::array(), rows = Json::array();
  for (const session::StepParts::Bucket& bucket : report.parts.buckets)
    buckets.push_back({{"bytes", bucket.bytes}, {"ready_ms", bucket.ready * 1e3}});
  for (const PredictedRow& row : report.rows) {
    Json entry{{report.ranks, row.cluster.ranks},
               {"nodes", row.cluster.nodes()},
               {"replicas", row.replicas()},
               {"threads", row.cluster.threads},
               {"global_batch", row.global_batch},
               {"predicted_step_ms", row.predicted.step * 1e3},
               {"predicted_compute_ms", row.predicted.compute * 1e3},
               {"predicted_communication_ms", row.predicted.communication * 1e3},
               {"predicted_exposed_ms", row.predicted.exposed * 1e3},
               {"predicted_examples_per_second", row.examples_per_second()},
               {"predicted_efficiency", efficiency(row, report.rows.front())},
               {"algorithm", algorithm_of(row)}};
    if (row.measured) entry["measured_step_ms"] = *row.measured * 1e3, entry["predicted_to_measured"] = *row.ratio();
    rows.push_back(entry);
  }
  const session::Cluster& cluster = report.rows.back().cluster;
  return Json{{"dptrain", kVersion},
              {"prediction", true},
              {"config", report.config},
              {"assumptions", report.assumptions},
              {"inner", link_of(cluster.inner)},
              {"between", link_of(cluster.between)},
              {"cores", cluster.cores},
              {"step",
               {{"forward_ms", report.parts.forward * 1e3},
                {"backward_ms", report.parts.backward * 1e3},
                {"update_ms", report.parts.update * 1e3},
                {"other_ms", report.parts.other * 1e3},
                {"gathers", report.parts.gathers},
                {"buckets", buckets}}},
              {"rows", rows}}
             .dump(2) +
         "\n";
}

}  // namespace dptrain::cli
