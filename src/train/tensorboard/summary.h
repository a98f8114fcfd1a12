#pragma once

// Events as TensorBoard reads them (tensorflow/core/util/event.proto, framework/summary.proto): each function gives the
// bytes of one Event. `step` is an epoch or an optimizer step, as the tag says. Scalars, histograms and images are in
// the form that every version of TensorBoard and every reader of its files knows. Pure, but for the time of day.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dptrain::train::tensorboard {

/// What a file begins with.
std::string version_event();
std::string scalar_event(const std::string& tag, std::int64_t step, double value);
/// 30 buckets of one width between the least and the largest finite value; one bucket where they are equal. Values that
/// are not finite are left out.
std::string histogram_event(const std::string& tag, std::int64_t step, std::span<const float> values);
/// A PNG of `channels` 1 or 3.
std::string image_event(const std::string& tag, std::int64_t step, std::int64_t height, std::int64_t width,
                        std::int64_t channels, std::string_view png);
/// A GraphDef.
std::string graph_event(const std::string& graph);

struct HyperParameter {
  std::string name;
  std::variant<double, bool, std::string> value;
};
/// A session of the HParams plugin begins. `group`: the name of the trial.
std::string hyper_parameters_event(const std::vector<HyperParameter>& all, const std::string& group);

/// What a cut of a file asks of an event: its step and the tag of its value, "" without one.
struct EventHead {
  std::int64_t step = 0;
  std::string tag{};
  bool is_graph = false;
};
EventHead head_of(std::string_view event);

}  // namespace dptrain::train::tensorboard
