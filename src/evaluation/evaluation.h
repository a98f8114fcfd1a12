#pragma once

// A checkpoint on a data set: what eval and report open, and judge. Main thread; all processes together.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/classes.h"
#include "evaluation/judgement.h"
#include "evaluation/judgement_files.h"
#include "session/session.h"
#include "train/model_source.h"

namespace dptrain::evaluation {

struct EvaluationRequest {
  std::string source;                      ///< as of open_model_source()
  std::optional<std::string> weights, on;  ///< on: "test", "validation" or "train"
  session::DeviceRequest devices;
  experiment::Overrides overrides;
  bool synthetic = false, ema = false;
};

class Evaluation {
 public:
  /// Reads the checkpoint's config and chooses the data set: as asked, else the usual one. Throws Error{kUsage} where
  /// there is no loss, no weights or no such data set, and as open_model_source().
  Evaluation(EvaluationRequest request, distributed::Processes* processes);

  const train::ModelSource& source() const { return source_; }
  const std::string& on() const { return on_; }
  /// Opens data and devices.
  session::Session& open();
  /// After open().
  const std::vector<Classes>& classes() const { return classes_; }
  /// Puts the weights into the replicas, and says which. Throws Error{kCheckpoint}, Error{kData} where the data set has
  /// its classes in another order.
  void load_weights();
  /// What judge() found. It must live as long as what this gives.
  Judged judged(const Judgement& judgement) const;

 private:
  EvaluationRequest request_;
  distributed::Processes* processes_;
  train::ModelSource source_;
  std::string on_;
  std::unique_ptr<session::Session> session_;
  std::vector<Classes> classes_;
};

}  // namespace dptrain::evaluation
