#include "train/step_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "support/folder.h"
#include "train/trainer.h"

namespace dptrain::train {
namespace {

TEST(StepRange, ReadsStepsCountedFrom1) {
  EXPECT_EQ(parse_step_range("100-110").str(), "100-110");
  EXPECT_EQ(parse_step_range("7").str(), "7");
  for (const char* wrong : {"", "0", "5-4", "3-", "-3", "a", "1-2-3", "1.5", "10-0"}) try {
      parse_step_range(wrong);
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                std::string("--trace needs steps, counted from 1, as in 100-110 or 100, found '") + wrong + "'");
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    }
}

TEST(TraceEvents, HaveTheTraceEventFormat) {
  trace::Entry launch{
      .begin = 2000000000000001234, .end = 2000000000000003456, .category = "launch", .what = "forward of layer"};
  std::string("con\"v").copy(launch.whose, 6);
  const trace::Entry bucket{.begin = 2000000000001000000,
                            .end = 2000000000001000000,
                            .category = "all-reduce",
                            .what = "summing bucket",
                            .number = 3};
  std::string text = trace_events({{"replica 0", {launch, bucket}, 2}}, 5, "process 5 (host)", 2000000000000000000);
  text.resize(text.size() - 2);
  const auto events = nlohmann::json::parse("[" + text + "]");
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0]["args"]["name"], "process 5 (host)");
  EXPECT_EQ(events[1]["args"]["name"], "replica 0 (2 spans left out)");
  EXPECT_EQ(events[3]["ph"], "X");
  EXPECT_EQ(events[3]["pid"], 6000);
  EXPECT_EQ(events[3]["tid"], events[1]["tid"]);
  EXPECT_EQ(events[3]["tid"], 6000);
  EXPECT_EQ(events[3]["ts"], 1.234);
  EXPECT_EQ(events[3]["dur"], 2.222);
  EXPECT_EQ(events[3]["name"], "launch: forward of layer con\"v");
  EXPECT_EQ(events[4]["ts"], 1000);
  EXPECT_EQ(events[4]["name"], "summing bucket 3");
  EXPECT_EQ(events[4]["cat"], "all-reduce");
}

TEST(TraceEvents, HaveTheTrainersLineFirstAndTheLoadersLast) {
  std::string text = trace_events({{"loader, worker 0", {}, 0}, {"replica 1", {}, 0}, {"trainer", {}, 0}}, 0, "", 0);
  text.resize(text.size() - 2);
  std::map<int, std::string> by_place;
  std::map<int, std::string> names;
  for (const auto& event : nlohmann::json::parse("[" + text + "]")) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["name"] == "thread_sort_index") by_place[event["args"]["sort_index"]] = names.at(event["tid"]);
  }
  EXPECT_EQ(by_place, (std::map<int, std::string>{{0, "trainer"}, {1, "replica 1"}, {2, "loader, worker 0"}}));
}

const char* const kTracedConfig =
    "dptrain: 1\n"
    "name: traced\n"
    "model: {layers: [{Input: {shape: [6, 5, 2]}}, {Conv2D: {name: conv, filters: 3, kernel_size: 2}}, {ReLU: {name: "
    "act}}, Flatten, {Dense: {name: classes, units: 3, activation: softmax}}]}\n"
    "data:\n"
    "  train: {Synthetic: {samples: 60}}\n"
    "  transforms: [RandomFlip]\n"
    "  loader: {workers: 1, prefetch: 2}\n"
    "train: {epochs: 1, batch_size: 6, log_every: 1000, loss: categorical_crossentropy, optimizer: sgd}\n";

/// A span of a line in microseconds. Lines are sorted by begin, outer spans first.
struct TracedSpan {
  double begin, end;
  std::string name;
};
using Lines = std::map<std::string, std::vector<TracedSpan>>;

/// Runs 10 steps and returns the contents of trace.json.
Lines traced_fit(const session::DeviceRequest& devices, const StepRange& steps) {
  const test::Folder folder;
  const experiment::Experiment experiment = experiment::load_experiment_text(kTracedConfig, "traced.yaml", {});
  session::SessionOptions options;
  options.devices = devices;
  trace::name_thread("trainer");
  session::Session session(experiment, options);
  RunOptions run_options;
  run_options.directory = folder / "run";
  const RunDirectory run(experiment, run_options, {});
  Trainer trainer(session, run, {.epochs = {}, .steps = {}, .progress = ProgressMode::kOff, .traced = steps});
  EXPECT_EQ(trainer.fit().exit, "completed");
  std::ifstream file(run.file("trace.json"));
  if (!file) return {};
  const auto json = nlohmann::json::parse(file);
  std::map<int, std::string> names;
  for (const auto& event : json["traceEvents"])
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
  Lines lines;
  for (const auto& event : json["traceEvents"])
    if (event["ph"] == "X")
      lines[names.at(event["tid"])].push_back(
          {event["ts"], event["ts"].get<double>() + event["dur"].get<double>(), event["name"]});
  for (auto& [name, spans] : lines)
    std::ranges::stable_sort(spans, [](const TracedSpan& a, const TracedSpan& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
  return lines;
}

/// Two spans of a thread are nested or disjoint.
void expect_nested(const Lines& lines) {
  constexpr double kRounding = 0.002;
  for (const auto& [thread, spans] : lines) {
    std::vector<TracedSpan> open;
    for (const TracedSpan& span : spans) {
      while (!open.empty() && open.back().end <= span.begin + kRounding) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(span.end, open.back().end + kRounding) << thread << ": " << span.name;
      }
      open.push_back(span);
    }
  }
}

/// The names of a line's spans that are in `of`, in order.
std::vector<std::string> names_of(const std::vector<TracedSpan>& line, const std::vector<std::string>& of) {
  std::vector<std::string> found;
  for (const TracedSpan& span : line)
    if (std::ranges::find(of, span.name) != of.end()) found.push_back(span.name);
  return found;
}

TEST(StepTrace, HasOnlyTheStepsOfEveryReplica) {
  const Lines lines = traced_fit({.replicas = 2, .threads = 1}, {4, 5});
  expect_nested(lines);
  std::vector<std::string> steps;
  for (int step = 1; step <= 10; ++step) steps.push_back("step " + std::to_string(step));
  for (const char* const thread : {"trainer and replica 0 (cpu:0)", "replica 1 (cpu:1)"}) {
    ASSERT_TRUE(lines.contains(thread)) << thread;
    const std::vector<TracedSpan>& line = lines.at(thread);
    EXPECT_EQ(names_of(line, steps), (std::vector<std::string>{"step 4", "step 5"})) << thread;
    const std::vector<std::string> parts{"forward of layer conv",
                                         "forward of layer classes",
                                         "losses and metrics",
                                         "backward of layer classes",
                                         "backward of layer conv",
                                         "until all gradients are summed",
                                         "update"};
    std::vector<std::string> twice = parts;
    twice.insert(twice.end(), parts.begin(), parts.end());
    EXPECT_EQ(names_of(line, parts), twice) << thread;
    EXPECT_EQ(names_of(line, {"summing bucket 0"}).size(), 2U) << thread;
  }
}

/// With two buffers, the only worker reads most of the ten batches after the trace has begun.
TEST(StepTrace, HasTheWorkersOfTheLoader) {
  EXPECT_TRUE(traced_fit({.replicas = 1, .threads = 1}, {1, 10}).contains("loader, worker 0"));
}

TEST(StepTrace, OnGpusItDescribesItsMeasurements) {
  const Lines lines = traced_fit(session::request_of({{backend::DeviceKind::kEmu, 0}}), {2, 2});
  expect_nested(lines);
  const auto line = lines.find("trainer and replica 0 (emu:0)");
  ASSERT_NE(line, lines.end());
  EXPECT_EQ(names_of(line->second, {"launch: forward of layer conv"}).size(), 1U);
  EXPECT_EQ(names_of(line->second, {"batch to the device"}).size(), 1U);
}

TEST(StepTrace, WritesNoFileIfTheStepsDoNotRun) {
  EXPECT_TRUE(traced_fit({.replicas = 1, .threads = 1}, {11, 12}).empty());
}

TEST(StepTrace, WritesPartialTracesOfRunsThatEnd) {
  const Lines lines = traced_fit({.replicas = 1, .threads = 1}, {9, 20});
  EXPECT_EQ(names_of(lines.at("trainer and replica 0 (cpu:0)"), {"step 9", "step 10"}).size(), 2U);
}

}  // namespace
}  // namespace dptrain::train
