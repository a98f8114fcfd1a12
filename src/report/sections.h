#pragma once

// Sections of a run's page, built from its record; `html` is empty if there is nothing to show. Pure; any thread.

#include <string>
#include <vector>

#include "report/record.h"

namespace dptrain::report {

struct Section {
  std::string id;     ///< "curves"
  std::string title;  ///< text
  std::string html{};
};

/// The summary below a page's title, or at the top of a run's part: how the run ended, when, and the main figures.
std::string overview(const RunRecord& run);

Section curves_section(const RunRecord& run);
Section metrics_section(const RunRecord& run);
/// Confusion matrices and scores of classes.
Section classes_section(const RunRecord& run);
/// Predicted over true values and residuals of a regression.
Section values_section(const RunRecord& run);
Section worst_section(const RunRecord& run);
Section layers_section(const RunRecord& run);
Section time_section(const RunRecord& run);
Section problems_section(const RunRecord& run);
Section config_section(const RunRecord& run);

/// The sections that are not empty, in this order.
std::vector<Section> sections_of(const RunRecord& run);

/// "best.h5 on validation, 10,000 samples"
std::string evaluated_text(const EvaluationRecord& evaluation);

}  // namespace dptrain::report
