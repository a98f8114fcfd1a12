#pragma once

// Evaluates a checkpoint on a data set, for eval and report. Main thread; called in all processes.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/classes.h"
#include "evaluation/evaluation_files.h"
#include "evaluation/evaluation_result.h"
#include "session/session.h"
#include "train/model_source.h"

namespace dptrain::evaluation {

struct EvaluationRequest {
  std::string source;                          ///< see open_model_source()
  std::optional<std::string> weights{}, on{};  ///< on: "test", "validation" or "train"
  session::DeviceRequest devices{};
  experiment::Overrides overrides{};
  bool synthetic = false, ema = false;
};

class Evaluation {
 public:
  /// Reads the checkpoint's config and chooses the data set: the requested one, else default_set(). Throws
  /// Error{kUsage} if the loss, the weights or the data set is missing, and the errors of open_model_source().
  Evaluation(EvaluationRequest request, distributed::Processes* processes);

  const train::ModelSource& source() const { return source_; }
  const std::string& on() const { return on_; }
  /// Opens data and devices.
  session::Session& open();
  /// Requires open().
  const std::vector<Classes>& classes() const { return classes_; }
  /// Loads the weights into the replicas and logs the checkpoint. Throws Error{kCheckpoint}, and Error{kData} if the
  /// classes of the data set differ from the checkpoint's.
  void load_weights();
  /// A result of evaluate() with its context. It refers to `evaluation_result` and to this object.
  EvaluatedModel evaluated(const EvaluationResult& evaluation_result) const;

 private:
  EvaluationRequest request_;
  distributed::Processes* processes_;
  train::ModelSource source_;
  std::string on_;
  std::unique_ptr<session::Session> session_;
  std::vector<Classes> classes_;
};

}  // namespace dptrain::evaluation
