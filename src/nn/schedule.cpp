#include "nn/schedule.h"

#include <algorithm>
#include <cctype>

#include "config/json_fragment.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::nn {

config::Family& schedule_family() {
  static config::Family family("learning-rate schedule", "CosineDecay");
  return family;
}

Progress Period::since_end(const Progress& progress) const {
  return {std::max(0.0, progress.updates - steps), std::max(0.0, progress.batches - steps)};
}

Period Epoch::period(const config::Duration& duration) const {
  const auto whole = std::max<std::int64_t>(1, duration.steps(steps, global_batch));
  return {static_cast<double>(whole), duration.counts_steps()};
}

std::string positive_steps(const config::Duration& duration) {
  if (duration.unit == config::Duration::Unit::kSeconds) return "must be in steps, epochs or samples, not in seconds";
  return duration.value > 0 ? "" : "must be > 0";
}

std::string steps_or_none(const config::Duration& duration) {
  return duration.value == 0 ? "" : positive_steps(duration);
}

std::string rate_error(const LearningRate& rate) {
  const bool good = rate.is_schedule() || rate.constant >= 0;
  return good ? "" : fmt::format("must be >= 0, found {}", shortest(rate.constant));
}

Rate make_rate(const LearningRate& rate, std::int64_t steps_per_epoch, std::int64_t global_batch) {
  if (!rate.is_schedule()) return [constant = rate.constant](const Progress&) { return constant; };
  const auto& type = static_cast<const ScheduleType&>(rate.schedule.def());
  return type.rate(rate.schedule.spec(), {steps_per_epoch, global_batch});
}

}  // namespace dptrain::nn

namespace dptrain::config {

bool Value<nn::LearningRate>::read(const Node& raw, Reader& reader, nn::LearningRate& out) {
  const Node node = reader.substituted(raw);
  const bool name =
      node.is_scalar() && !node.str().empty() && std::isalpha(static_cast<unsigned char>(node.str()[0])) != 0;
  if (node.is_map() || name) {
    out.schedule = nn::schedule_family().read(node, reader);
    return static_cast<bool>(out.schedule);
  }
  const auto number = reader.number(node);
  if (number) out = {*number, {}};
  return number.has_value();
}

Node Value<nn::LearningRate>::write(const nn::LearningRate& rate) {
  return rate.is_schedule() ? rate.schedule.write() : Value<double>::write(rate.constant);
}

Node Value<nn::LearningRate>::schema() {
  return fragment::any_of({Value<double>::schema(), nn::schedule_family().json_schema()});
}

}  // namespace dptrain::config
