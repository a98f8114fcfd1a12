#include "train/run_sink.h"

#include <nlohmann/json.hpp>

#include "train/sinks/run_files.h"

namespace dptrain::train {

RunSink::~RunSink() = default;
void RunSink::cut(std::int64_t, std::int64_t) {}
void RunSink::step(const IntervalReport&) {}
void RunSink::epoch(const EpochReport&) {}
void RunSink::event(const std::string&, const nlohmann::json&) {}
void RunSink::bad_sample(const data::BadSample&) {}
void RunSink::end(const EndReport&) {}
bool RunSink::flush() { return true; }

void SinkList::cut(std::int64_t epochs, std::int64_t steps) {
  for (const auto& sink : sinks_) sink->cut(epochs, steps);
}
void SinkList::step(const IntervalReport& report) {
  for (const auto& sink : sinks_) sink->step(report);
}
void SinkList::epoch(const EpochReport& report) {
  for (const auto& sink : sinks_) sink->epoch(report);
}
void SinkList::event(const std::string& kind, const nlohmann::json& fields) {
  for (const auto& sink : sinks_) sink->event(kind, fields);
}
void SinkList::bad_sample(const data::BadSample& bad) {
  for (const auto& sink : sinks_) sink->bad_sample(bad);
}
void SinkList::end(const EndReport& report) {
  for (const auto& sink : sinks_) sink->end(report);
}
bool SinkList::flush() {
  bool all = true;
  for (const auto& sink : sinks_) all = sink->flush() && all;
  return all;
}

std::unique_ptr<RunSink> make_run_sinks(const RunDirectory& directory, bool validated) {
  auto all = std::make_unique<SinkList>();
  all->add(make_epoch_table(directory.file("train.csv"), validated));
  all->add(make_step_table(directory.file("steps.csv")));
  all->add(make_data_errors(directory.file(experiment::kDataErrors)));
  all->add(make_curves_picture(directory.path()));  // reads train.csv, which is complete by now
  all->add(make_result_file(directory));
  all->add(make_event_lines(directory.file("events.jsonl")));  // its "end" event implies that result.json exists
  return all;
}

std::unique_ptr<RunSink> silent_unless_first(const World& world, std::unique_ptr<RunSink> sink) {
  return world.is_first() ? std::move(sink) : std::make_unique<RunSink>();
}

}  // namespace dptrain::train
