#include "train/tensorboard/summary.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "train/tensorboard/wire.h"

namespace dptrain::train::tensorboard {
namespace {

constexpr std::size_t kBuckets = 30;

double time_of_day() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Event: wall_time = 1, step = 2.
Message event(std::int64_t step) { return Message().real(1, time_of_day()).integer(2, step); }

/// Event.summary = 5, Summary.value = 1, Value.tag = 1.
std::string summary_event(const std::string& tag, std::int64_t step, const Message& value_fields) {
  Message value;
  value.text(1, tag);
  return event(step).message(5, Message().text(1, value.bytes() + value_fields.bytes())).bytes();
}

/// HistogramProto, from finite values and its bounds.
struct Histogram {
  double least = 0, most = 0, count = 0, sum = 0, squares = 0;
  std::vector<double> limits, counts;
};

Histogram histogram_of(std::span<const float> values) {
  Histogram h;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double x = value;
    h.least = h.count == 0 ? x : std::min(h.least, x);
    h.most = h.count == 0 ? x : std::max(h.most, x);
    h.count += 1;
    h.sum += x;
    h.squares += x * x;
  }
  if (h.count == 0) return h;
  const double width = (h.most - h.least) / static_cast<double>(kBuckets);
  if (width <= 0) return h.limits = {h.most}, h.counts = {h.count}, h;
  h.counts.assign(kBuckets, 0);
  for (std::size_t i = 1; i < kBuckets; ++i) h.limits.push_back(h.least + width * static_cast<double>(i));
  h.limits.push_back(h.most);
  for (const float value : values)
    if (std::isfinite(value)) {
      const auto bucket = static_cast<std::size_t>((value - h.least) / width);
      h.counts[std::min(bucket, kBuckets - 1)] += 1;
    }
  return h;
}

/// google.protobuf.Value: number_value = 2, string_value = 3, bool_value = 4.
Message value_of(const HyperParameter& parameter) {
  Message value;
  if (const auto* number = std::get_if<double>(&parameter.value)) value.real(2, *number);
  if (const auto* text = std::get_if<std::string>(&parameter.value)) value.text(3, *text);
  if (const auto* flag = std::get_if<bool>(&parameter.value)) value.integer(4, *flag ? 1 : 0);
  return value;
}

}  // namespace

std::string version_event() { return Message().real(1, time_of_day()).text(3, "brain.Event:2").bytes(); }

std::string scalar_event(const std::string& tag, std::int64_t step, double value) {
  return summary_event(tag, step, Message().real32(2, static_cast<float>(value)));
}

std::string histogram_event(const std::string& tag, std::int64_t step, std::span<const float> values) {
  const Histogram h = histogram_of(values);
  return summary_event(tag, step,
                       Message().message(5, Message()
                                                .real(1, h.least)
                                                .real(2, h.most)
                                                .real(3, h.count)
                                                .real(4, h.sum)
                                                .real(5, h.squares)
                                                .reals(6, h.limits)
                                                .reals(7, h.counts)));
}

std::string image_event(const std::string& tag, std::int64_t step, std::int64_t height, std::int64_t width,
                        std::int64_t channels, std::string_view png) {
  return summary_event(
      tag, step,
      Message().message(4, Message().integer(1, height).integer(2, width).integer(3, channels).text(4, png)));
}

std::string graph_event(const std::string& graph) { return event(0).text(4, graph).bytes(); }

std::string hyper_parameters_event(const std::vector<HyperParameter>& all, const std::string& group) {
  // HParamsPluginData.session_start_info = 3; SessionStartInfo: hparams = 1, group_name = 4, start_time_secs = 5.
  Message start;
  for (const HyperParameter& parameter : all)
    start.message(1, Message().text(1, parameter.name).message(2, value_of(parameter)));
  start.text(4, group).real(5, time_of_day());
  // Value.metadata = 9, SummaryMetadata.plugin_data = 1, PluginData: plugin_name = 1, content = 2.
  const Message plugin = Message().text(1, "hparams").text(2, Message().message(3, start).bytes());
  return summary_event("_hparams_/session_start_info", 0, Message().message(9, Message().message(1, plugin)));
}

EventHead head_of(std::string_view event) {
  EventHead head;
  for (Fields fields(event); fields.next();) {
    if (fields.number() == 2) head.step = static_cast<std::int64_t>(fields.integer());
    if (fields.number() == 4) head.is_graph = true;
    if (fields.number() != 5) continue;
    for (Fields values(fields.bytes()); values.next();)
      for (Fields value(values.bytes()); value.next();)
        if (value.number() == 1) head.tag = value.bytes();
  }
  return head;
}

}  // namespace dptrain::train::tensorboard
