#include "bench/prediction_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench/prediction.h"
#include "bench/processes.h"
#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"
#include "core/quantity.h"
#include "core/terminal.h"
#include "core/text.h"
#include "dptrain_version.h"

namespace dptrain::bench {
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
  return row.cluster.ranks == 1 ? "-" : name_of(row.predicted.algorithm);
}

/// Infinite bandwidth becomes null, since JSON has no infinity.
Json link_of(const MessageLink& link) {
  return {{"bytes_per_second", std::isfinite(link.bytes_per_second) ? Json(link.bytes_per_second) : Json(nullptr)},
          {"latency_seconds", link.latency}};
}

}  // namespace

int PredictionRequest::ranks() const {
  return on_gpus() ? *gpus * nodes.value_or(1) : processes.value_or(nodes.value_or(1));
}

int PredictionRequest::ranks_per_node() const {
  return on_gpus() ? *gpus : (ranks() + nodes.value_or(1) - 1) / nodes.value_or(1);
}

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
  for (const StepParts::Bucket& bucket : report.parts.buckets)
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
  const Cluster& cluster = report.rows.back().cluster;
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

namespace {

/// 1, 2, 4, ... up to the ranks of a node, then doubling up to all ranks; also the measured counts.
std::vector<int> rank_counts(const PredictionRequest& request, const std::vector<BenchRow>& measured) {
  std::set<int> counts{request.ranks()};
  for (int n = 1; n < request.ranks_per_node(); n *= 2) counts.insert(n);
  for (int n = request.ranks_per_node(); n < request.ranks(); n *= 2) counts.insert(n);
  for (const BenchRow& row : measured) counts.insert(row.processes);
  return {counts.begin(), counts.end()};
}

std::string ms(double seconds) { return fmt::format("{:.4g} ms", seconds * 1e3); }

class Predictor {
 public:
  Predictor(const experiment::Experiment& experiment, const PredictionCall& call)
      : experiment_(experiment), call_(call), request_(call.request), weak_(call.weak || request_.batch) {
    report_.config = call.config;
    report_.ranks = request_.on_gpus() ? "gpus" : "processes";
    choose_device();
    choose_links();
  }

  PredictionReport report() {
    using enum SumAlgorithm;
    std::vector<SumAlgorithm> algorithms{kRing, kTree};
    if (!request_.on_gpus()) algorithms = {kDirect};
    if (request_.algorithm) algorithms = {*request_.algorithm};
    for (const int ranks : rank_counts(request_, call_.measured)) add_row(ranks, algorithms);
    const Cluster& largest = report_.rows.back().cluster;
    if (largest.in_node() > 1) add_inner_assumption(largest.inner, largest.in_node());
    add_step_assumptions();
    return std::move(report_);
  }

 private:
  void choose_device() {
    device_ = call_.options.devices;
    if (!request_.on_gpus()) {
      if (request_.cpus) device_ = *request_.cpus;
      if (device_.on_gpus()) device_ = {};
      device_ = session::with_threads(device_, request_.ranks_per_node());
      cluster_.local_ranks = device_.replicas;
      cluster_.threads = device_.threads;
      cluster_.cores = request_.cores.value_or(machine::cpus());
      return;
    }
    if (!request_.step && !device_.on_gpus())
      throw Error(ErrorKind::kDevice,
                  "--predict: there is no GPU here to measure a step; give step=..., measured with 'dptrain bench "
                  "CONFIG --gpus 0'");
    device_.replicas = 1;  // a given step needs only the plan's weights and operations, which are the same on a CPU
    device_.gpus.resize(std::min<std::size_t>(device_.gpus.size(), 1));
  }

  void choose_links() {
    cluster_.per_node = request_.ranks_per_node();
    if (request_.nodes.value_or(1) > 1) {
      cluster_.between = {*request_.link, *request_.latency};
      report_.assumptions.push_back(
          fmt::format("each node has one link of {:.4g} GB/s to the others, latency {:.3g} us, as given",
                      cluster_.between.bytes_per_second * 1e-9, cluster_.between.latency * 1e6));
    }
    if (cluster_.cores > 0)
      report_.assumptions.push_back(
          fmt::format("{} a node, {} of {} in each process, which also sums; more threads than cores share the cores",
                      counted(cluster_.cores, "core"), counted(cluster_.local_ranks, "replica"),
                      counted(cluster_.threads, "thread")));
  }

  MessageLink inner_link(const Cluster& cluster) {
    constexpr MessageLink kAssumed{.bytes_per_second = 150e9, .latency = 2e-6};
    MessageLink link = kAssumed;
    const bool given = request_.inner && request_.inner_latency;
    if (!given && !request_.on_gpus()) {
      Cluster measured = cluster;
      measured.ranks = std::min(cluster.in_node(), kMaxConcurrent);
      auto known = links_.find(measured.ranks);
      if (known == links_.end())
        known = links_.emplace(measured.ranks, measure_link_in_processes(measured.ranks)).first;
      link = known->second;
      measured.local_ranks = 1;  // replicas wait during the measurement
      measured.threads = 1;
      measured.cores = machine::cpus();
      link.slowdown = measured.slowdown();
    }
    if (request_.inner) link.bytes_per_second = *request_.inner;
    if (request_.inner_latency) link.latency = *request_.inner_latency;
    return link;
  }

  void add_inner_assumption(const MessageLink& link, int ranks) {
    const bool given = request_.inner && request_.inner_latency;
    const std::string from = given ? "as given"
                             : request_.on_gpus()
                                 ? "values not given with inner= and inner_latency= are assumed"
                                 : fmt::format("measured between {} processes here", std::min(ranks, kMaxConcurrent));
    report_.assumptions.push_back(fmt::format("within a node messages reach {:.4g} GB/s, latency {:.3g} us, {}",
                                              link.bytes_per_second * 1e-9, link.latency * 1e6, from));
  }

  std::int64_t whole_batch() const {
    return request_.batch ? *request_.batch : experiment::global_batch(experiment_.config.train, 1);
  }

  void add_row(int ranks, const std::vector<SumAlgorithm>& algorithms) {
    PredictedRow row{.cluster = cluster_};
    row.cluster.ranks = ranks;
    if (ranks > 1 && cluster_.per_node > 1) row.cluster.inner = inner_link(row.cluster);
    const std::int64_t replicas = row.replicas();
    row.rows = weak_ ? whole_batch() : (whole_batch() + replicas - 1) / replicas;
    row.global_batch = weak_ ? whole_batch() * replicas : whole_batch();
    if (row.global_batch < replicas)
      throw Error(ErrorKind::kUsage, fmt::format("--predict: {} replicas for a batch of {}; give batch=N, of each "
                                                 "replica, or --mode weak",
                                                 replicas, row.global_batch));
    StepParts parts = parts_of(row);
    if (!request_.on_gpus()) ++parts.gathers;  // sums of losses and metrics
    // Measured cost of waking two threads per step: the communication thread for the last bucket, after a pause of up
    // to 200 us (distributed/processes.cpp), and the trainer's thread for the gather.
    constexpr double kMissed = 100e-6;
    if (!request_.on_gpus() && ranks > 1) parts.other += 2 * kMissed / row.cluster.slowdown();
    row.predicted = predict(parts, row.cluster, algorithms);
    for (const BenchRow& one : call_.measured)
      if (one.processes == ranks && one.global_batch == row.global_batch) row.measured = one.step_ms * 1e-3;
    if (report_.rows.empty()) report_.parts = parts;
    report_.rows.push_back(row);
  }

  /// The config with the buckets of GPUs, even if the plan is made on a CPU.
  experiment::Experiment with_buckets() const {
    experiment::Experiment planned = experiment_;
    auto& parallel = planned.config.parallel;
    if (request_.on_gpus())
      parallel.bucket_size =
          config::ByteSize{*session::bucket_bytes(parallel, session::request_of({session::GpuId{}}))};
    return planned;
  }

  StepParts parts_of(const PredictedRow& row) {
    if (request_.step) {
      if (!given_) given_ = given_parts(with_buckets(), device_, std::min(whole_batch(), kPlanRows), *request_.step);
      return given_->scaled(static_cast<double>(row.rows) / static_cast<double>(whole_batch()));
    }
    Cluster alike = row.cluster;  // measured here, in one process
    alike.local_ranks = 1;
    alike.ranks = 1;
    if (!request_.on_gpus()) {
      alike.cores = machine::cpus();
      const int cores = std::max(1, alike.cores / alike.threads);
      const int wanted = row.cluster.in_node() * row.cluster.local_ranks;
      alike.ranks = std::min(wanted, row.cluster.slowdown() > 1 ? std::max(cores, kMaxConcurrent) : cores);
    }
    alike.per_node = alike.ranks;
    side_by_side_ = std::max(side_by_side_, alike.ranks);
    const auto key = std::pair(row.rows, alike.ranks);
    auto known = measured_.find(key);
    if (known == measured_.end()) {
      StepParts parts = measured_parts(experiment_, device_, row.rows, alike.ranks, call_.options);
      parts.slowdown = alike.slowdown();
      known = measured_.emplace(key, parts).first;
    }
    return known->second;
  }

  void add_step_assumptions() {
    const StepParts& parts = report_.parts;
    double bytes = 0;
    for (const StepParts::Bucket& bucket : parts.buckets) bytes += bucket.bytes;
    const std::string rows = fmt::format("{} samples", report_.rows.front().rows);
    report_.assumptions.insert(
        report_.assumptions.begin(),
        request_.step
            ? fmt::format("a step of one replica with {} takes {}, as given{}; {:.0f} % of it is forward, by "
                          "the plan's operations",
                          rows, ms(*request_.step), weak_ ? "" : ", and proportionally less with fewer samples",
                          100 * parts.forward / parts.compute())
            : fmt::format("a step of one replica with {} takes {}, measured here{}", rows, ms(parts.compute()),
                          side_by_side_ > 1 ? fmt::format("; with more replicas, next to up to {} others "
                                                          "in one process",
                                                          side_by_side_ - 1)
                                            : ""));
    report_.assumptions.push_back(
        fmt::format("{} of gradients in {}, summed one after the other as backward completes them; {}",
                    human_bytes(static_cast<std::uint64_t>(bytes)), counted(parts.buckets.size(), "bucket"),
                    weak_ ? "the batch grows with the replicas" : "one batch is split among the replicas"));
    report_.assumptions.push_back("no replica is late, the links carry nothing else, loaders are never late");
  }

  /// More replicas than these show nothing new about sharing cores.
  static constexpr int kMaxConcurrent = 8;
  static constexpr std::int64_t kPlanRows = 8;  // buckets and operations per sample do not depend on it

  const experiment::Experiment& experiment_;
  const PredictionCall& call_;
  const PredictionRequest request_;
  const bool weak_;
  session::DeviceRequest device_;
  Cluster cluster_;
  PredictionReport report_;
  std::optional<StepParts> given_;
  std::map<std::pair<std::int64_t, int>, StepParts> measured_;
  std::map<int, MessageLink> links_;
  int side_by_side_ = 1;
};

}  // namespace

PredictionReport predict_steps(const experiment::Experiment& experiment, const PredictionCall& call) {
  return Predictor(experiment, call).report();
}

}  // namespace dptrain::bench
