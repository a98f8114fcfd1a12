#include "train/step_trace.h"

#include <algorithm>
#include <tuple>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "train/line_file.h"

namespace dptrain::train {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string name_of(const trace::Entry& entry) {
  std::string name = entry.category == std::string_view("launch") ? "launch: " : "";
  name += entry.what;
  if (entry.whose[0] != '\0') name += std::string(" ") + entry.whose;
  if (entry.number >= 0) name += " " + std::to_string(entry.number);
  return name;
}

std::string microseconds(std::int64_t nanoseconds) {
  const std::int64_t least = std::max<std::int64_t>(0, nanoseconds);
  return fmt::format("{}.{:03}", least / 1000, least % 1000);
}

/// Order of the lines: the trainer, replicas and slots, the loader's workers.
auto line_order(const trace::ThreadEntries& thread) {
  return std::tuple(!thread.thread.starts_with("trainer"), thread.thread.starts_with("loader"), thread.thread);
}

std::optional<std::int64_t> step_number(std::string_view text) {
  const auto value = parse_number<std::int64_t>(text);
  return value && *value >= 1 ? value : std::nullopt;
}

}  // namespace

std::string StepRange::str() const { return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last); }

StepRange parse_step_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  const auto first = step_number(std::string_view(text).substr(0, dash));
  const auto last = dash == std::string::npos ? first : step_number(std::string_view(text).substr(dash + 1));
  if (!first || !last || *last < *first)
    throw Error(ErrorKind::kUsage,
                fmt::format("--trace needs steps, counted from 1, as in 100-110 or 100, found '{}'", text));
  return {*first, *last};
}

std::string trace_events(std::vector<trace::ThreadEntries> threads, int process, const std::string& name,
                         std::int64_t origin) {
  std::ranges::stable_sort(threads, {}, line_order);
  // Viewers treat thread 1000 of process 1000 as its main thread, and process 0 as none.
  const std::size_t id = 1000 * (static_cast<std::size_t>(process) + 1);
  std::string text = fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}},)"
                                 "\n",
                                 id, quoted(name));
  for (std::size_t line = 0; line < threads.size(); ++line) {
    const trace::ThreadEntries& thread = threads[line];
    const std::string lost = thread.left_out > 0 ? fmt::format(" ({} spans left out)", thread.left_out) : "";
    text += fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}},)"
                        "\n",
                        id, id + line, quoted(thread.thread + lost));
    text += fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}},)"
                        "\n",
                        id, id + line, line);
    for (const trace::Entry& entry : thread.entries)
      text += fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":{}}},)"
                          "\n",
                          id, id + line, microseconds(entry.begin - origin), microseconds(entry.end - entry.begin),
                          entry.category, quoted(name_of(entry)));
  }
  return text;
}

StepTrace::StepTrace(const std::optional<StepRange>& steps, const RunDirectory& directory,
                     distributed::Processes* processes)
    : steps_(steps), directory_(directory), processes_(processes) {}

StepTrace::~StepTrace() {
  if (begun_ && !written_) trace::stop();
}

void StepTrace::before(std::int64_t step) {
  if (!steps_ || begun_ || step < steps_->first || step > steps_->last) return;
  begun_ = true;
  first_ = step;
  origin_ = trace::now();
  trace::start();
}

void StepTrace::after(std::int64_t step) {
  if (begun_ && !written_ && step >= steps_->last) write(steps_->last);
}

void StepTrace::finish(std::int64_t steps) {
  if (begun_ && !written_) write(steps);
  if (steps_ && !begun_ && directory_.is_here())
    log::warn(fmt::format("--trace {}: no such step: the run ended at step {}; there is no trace.json", steps_->str(),
                          steps));
}

void StepTrace::write(std::int64_t last) {
  written_ = true;
  const std::vector<trace::ThreadEntries> threads = trace::stop();
  std::int64_t spans = 0, lost = 0;
  for (const trace::ThreadEntries& thread : threads) {
    spans += static_cast<std::int64_t>(thread.entries.size());
    lost += thread.left_out;
  }
  std::string events;
  if (processes_ == nullptr) {
    events = trace_events(threads, 0, "dptrain", origin_);
  } else {
    std::int64_t origin = origin_;
    for (const std::string& of_one : processes_->gather(std::to_string(origin_)))
      origin = std::min(origin, static_cast<std::int64_t>(std::stoll(of_one)));
    const int own = processes_->process();
    for (const std::string& of_one : processes_->gather(trace_events(threads, own, processes_->name(own), origin)))
      events += of_one;
  }
  if (!directory_.is_here()) return;
  events.resize(events.size() - std::string_view(",\n").size());
  const StepRange traced{first_, last};
  try {
    write_text(directory_.file("trace.json"),
               fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"steps\":\"{}\",\"left_out\":{}}},\n"
                           "\"traceEvents\":[\n{}\n]}}\n",
                           traced.str(), lost, events));
    log::info(fmt::format("trace.json: steps {}, {} spans of {} threads{}{}; chrome://tracing and Perfetto show it",
                          traced.str(), spans, threads.size(), processes_ != nullptr ? " here" : "",
                          lost > 0 ? fmt::format(", {} that did not fit are left out", lost) : ""));
  } catch (const Error& error) {
    log::warn(error.what());
  }
}

}  // namespace dptrain::train
