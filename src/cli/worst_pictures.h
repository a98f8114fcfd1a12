#pragma once

// The samples that a model does worst on as a sheet of pictures: worst.svg. Main thread.

#include <memory>
#include <optional>
#include <string>

#include "cli/judgement.h"
#include "data/source.h"
#include "experiment/experiment.h"
#include "picture/contact_sheet.h"

namespace dptrain::cli {

/// One row for each, in their order, of clips with frames side by side; as the eval transforms make them, at most 160
/// pixels high and wide. Nothing where the model takes no images, or one of the samples can no longer be read.
std::optional<picture::Sheet> worst_sheet(const std::string& title, const OutputJudgement& output,
                                          const std::shared_ptr<const data::Source>& samples,
                                          const experiment::Experiment& experiment);

}  // namespace dptrain::cli
