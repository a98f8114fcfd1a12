#pragma once

// Board: the files of events of a run, which TensorBoard shows: `train`, `validation` and, for the hyper-parameters,
// the folder itself. Each part of a run begins files of its own. When a run goes on, what older files have beyond its
// state goes: a point is there once, and a TensorBoard that is looking on reads the new file as it does after any
// restart. Owned by the callback TensorBoard, in the process that writes; trainer's thread.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/model.h"
#include "picture/rgb_image.h"
#include "train/run_sink.h"
#include "train/tensorboard/event_file.h"
#include "train/tensorboard/summary.h"

namespace dptrain::train::tensorboard {

class Board final : public RunSink {
 public:
  explicit Board(std::string folder);

  /// Takes out what lies beyond a state, and begins new files. An event counts epochs unless its tag begins with
  /// "batch_" or "evaluation_".
  void cut(std::int64_t epochs, std::int64_t steps) override;
  bool flush() override;

  /// A scalar of every training value: `prefix` "batch_" or "epoch_" before its name.
  void training(const std::string& prefix, std::int64_t step, const experiment::Logs& logs);
  /// Of the values "val_...": without these letters, in `validation`, "evaluation_loss_vs_iterations" or "epoch_loss".
  void validation(const std::string& prefix, const std::string& suffix, std::int64_t step,
                  const experiment::Logs& logs);
  void scalar(const std::string& tag, std::int64_t step, double value);
  void histogram(const std::string& tag, std::int64_t step, std::span<const float> values);
  void image(const std::string& tag, std::int64_t step, const picture::RgbImage& image);
  /// The bytes of a PNG file, in `validation`; it takes the place of those that the tag has there.
  void validation_picture(const std::string& tag, std::int64_t step, std::string_view png);
  void graph(const graph::Model& model);
  void hyper_parameters(const std::vector<HyperParameter>& all, const std::string& group);

 private:
  enum Place : std::size_t { kTrain, kValidation, kRoot, kPlaces };

  void add(Place place, const std::string& event);

  const std::string folder_;
  std::vector<std::unique_ptr<EventFile>> files_;  ///< by place; null until its first event
};

/// A folder's files of events, older ones first.
std::vector<std::string> event_files(const std::string& folder);

}  // namespace dptrain::train::tensorboard
