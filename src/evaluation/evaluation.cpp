#include "evaluation/evaluation.h"

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "session/session.h"

namespace dptrain::evaluation {
namespace {

/// The data set to evaluate: the requested one, else default_set().
std::string choose(const EvaluationRequest& request, const experiment::Experiment& experiment) {
  const experiment::DataSection& data = experiment.config.data;
  if (request.on) {
    const bool present = *request.on == "train"  ? data.train || request.synthetic
                         : *request.on == "test" ? static_cast<bool>(data.test)
                                                 : static_cast<bool>(data.validation);
    if (!present)
      throw Error(ErrorKind::kUsage, fmt::format("--on {}: the config has no data.{}", *request.on, *request.on));
    return *request.on;
  }
  if (const std::string on = default_set(experiment); !on.empty()) return on;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("{}: there is neither data.test nor data.validation; add one, or give --on train", experiment.file));
}

session::SessionOptions session_options(const EvaluationRequest& request, const std::string& on) {
  return {.devices = request.devices,
          .data = request.synthetic ? session::DataMode::kSynthetic : session::DataMode::kReal,
          .training = false,
          .wants_train = on == "train",
          .wants_validation = on == "validation",
          .wants_test = on == "test"};
}

/// Throws if the class names differ from the checkpoint's: with another order the scores would be silently wrong.
void check_class_names(const train::ModelSource& source, const ClassNames& data) {
  if (!source.state || !source.class_names.differs_from(data)) return;
  throw Error(ErrorKind::kData,
              fmt::format("{} was trained on the classes {}, the data set has {}; give the data set class_names in the "
                          "checkpoint's order",
                          source.checkpoint, source.class_names.text(), data.text()));
}

}  // namespace

Evaluation::Evaluation(EvaluationRequest request, distributed::Processes* processes)
    : request_(std::move(request)),
      processes_(processes),
      source_(train::open_model_source(request_.source, request_.weights, request_.overrides,
                                       {.with_config = "eval CONFIG --weights {}"})) {
  if (source_.checkpoint.empty())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("eval needs weights: give a checkpoint in place of {}, or --weights FILE.h5", request_.source));
  if (!source_.experiment.config.train.loss)
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: eval needs a loss; add the section 'train'", source_.experiment.file));
  on_ = choose(request_, source_.experiment);
}

session::Session& Evaluation::open() {
  session::SessionOptions options = session_options(request_, on_);
  options.processes = processes_;
  options.fitted_state = source_.fitted_state;
  session_ = std::make_unique<session::Session>(source_.experiment, options);
  classes_ = classes_of_outputs(source_.experiment, session_->model().graph, session_->class_names());
  return *session_;
}

void Evaluation::load_weights() {
  source_.load_weights(session_->model(), request_.ema);
  session::require_equal(processes_, {{"the weights", session::checksum_of(session_->model())}},
                         ErrorKind::kCheckpoint);
  session_->replicas().push(session_->model());
  check_class_names(source_, session_->class_names());
  log::info(fmt::format("{} on {}{}", source_.checkpoint, on_,
                        on_ == "validation" && !request_.on ? " (the config has no test set)" : ""));
}

EvaluatedModel Evaluation::evaluated(const EvaluationResult& evaluation_result) const {
  return {source_.experiment, source_.checkpoint, evaluation_result, session_->source(on_)};
}

}  // namespace dptrain::evaluation
