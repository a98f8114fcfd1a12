#include "train/callbacks/terminate_on_nan.h"

#include <cmath>

#include "core/format.h"
#include "core/log.h"
#include "train/callback_def.h"

namespace dptrain::train {
namespace {

class TerminateOnNaN final : public Callback {
 public:
  explicit TerminateOnNaN(const TerminateOnNaNSpec&) {}

  std::string name() const override { return "TerminateOnNaN"; }
  void step_end(TrainingControl& control, const StepReport& report) override {
    if (std::isfinite(report.loss)) return;
    log::warn(fmt::format("TerminateOnNaN: loss is {} at step {}", report.loss, report.step));
    control.stop("diverged");
  }
};

void check_reaction(const TerminateOnNaNSpec&, experiment::CallbackCheck& check) {
  const experiment::OnNonfinite& reaction = check.file().train.on_nonfinite;
  if (reaction && reaction.get_if<experiment::StopSpec>() == nullptr)
    check.error_without_prefix(fmt::format(
        "TerminateOnNaN stops where train.on_nonfinite: {} continues; remove one of the two", reaction.name()));
}

const RegisteredCallback kTerminateOnNaN = callback<TerminateOnNaNSpec>("TerminateOnNaN")
                                               .doc("stops if the loss is not finite, as every run does by default")
                                               .check(check_reaction)
                                               .runs<TerminateOnNaN>();

}  // namespace
}  // namespace dptrain::train
