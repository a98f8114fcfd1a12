#pragma once

// Board: the event files of a run for TensorBoard: `train`, `validation` and, for the hyper-parameters, the folder
// itself. Each part of a run begins new files. When a run resumes, events after its state are removed from older files,
// so each point exists once. A running TensorBoard reads the new file as after any restart. Owned by the callback
// TensorBoard, in the process that writes; trainer's thread.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/model.h"
#include "plot/rgb_image.h"
#include "train/run_sink.h"
#include "train/tensorboard/event_file.h"

namespace dptrain::train::tensorboard {

// Events as TensorBoard reads them (tensorflow/core/util/event.proto, framework/summary.proto): each function returns
// the bytes of one Event. `step` is an epoch or an optimizer step, depending on the tag. Scalars, histograms and images
// have the form that every version of TensorBoard and every reader supports. Pure, except for the time of day.

std::string version_event();
std::string scalar_event(const std::string& tag, std::int64_t step, double value);
/// 30 equal buckets between the least and the largest finite value; one if they are equal. Omits non-finite values.
std::string histogram_event(const std::string& tag, std::int64_t step, std::span<const float> values);
/// A PNG of `channels` 1 or 3.
std::string image_event(const std::string& tag, std::int64_t step, std::int64_t height, std::int64_t width,
                        std::int64_t channels, std::string_view png);
std::string graph_event(const std::string& graph);

struct HyperParameter {
  std::string name;
  std::variant<double, bool, std::string> value;
};
/// Begins a session of the HParams plugin. `group`: the name of the trial.
std::string hyper_parameters_event(const std::vector<HyperParameter>& all, const std::string& group);

/// Step of an event and the tag of its value, "" without one. Board::cut() selects events by them.
struct EventHead {
  std::int64_t step = 0;
  std::string tag{};
  bool is_graph = false;
};
EventHead head_of(std::string_view event);

class Board final : public RunSink {
 public:
  explicit Board(std::string folder);

  /// Removes events after a state, begins new files. Tags "batch_..." and "evaluation_..." count steps, others epochs.
  void cut(std::int64_t epochs, std::int64_t steps) override;
  bool flush() override;

  /// Adds a scalar of every training value, with `prefix` "batch_" or "epoch_" before its name.
  void training(const std::string& prefix, std::int64_t step, const experiment::Logs& logs);
  /// Adds the values "val_..." to `validation`, as "evaluation_loss_vs_iterations" or "epoch_loss".
  void validation(const std::string& prefix, const std::string& suffix, std::int64_t step,
                  const experiment::Logs& logs);
  void scalar(const std::string& tag, std::int64_t step, double value);
  void histogram(const std::string& tag, std::int64_t step, std::span<const float> values);
  void image(const std::string& tag, std::int64_t step, const plot::RgbImage& image);
  void graph(const graph::Model& model);
  void hyper_parameters(const std::vector<HyperParameter>& all, const std::string& group);

 private:
  enum Place : std::size_t { kTrain, kValidation, kRoot, kPlaces };

  void add(Place place, const std::string& event);

  const std::string folder_;
  std::vector<std::unique_ptr<EventFile>> files_;  ///< by place; null until its first event
};

/// Event files of a folder, oldest first.
std::vector<std::string> event_files(const std::string& folder);

}  // namespace dptrain::train::tensorboard
