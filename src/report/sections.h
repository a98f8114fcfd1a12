#pragma once

// The sections of a run's page, each from what its record holds; a sentence says what would add what is not there.
// Pure functions; any thread.

#include <string>
#include <vector>

#include "report/record.h"

namespace dptrain::report {

struct Section {
  std::string id;     ///< "curves"
  std::string title;  ///< text
  std::string html{};
};

/// Under the title of a page, or at the head of a run's part of it: how it ended, when, the main figures.
std::string overview(const RunRecord& run);

Section curves_section(const RunRecord& run);
Section metrics_section(const RunRecord& run);
/// Confusions and scores of classes.
Section classes_section(const RunRecord& run);
Section worst_section(const RunRecord& run);
Section layers_section(const RunRecord& run);
Section time_section(const RunRecord& run);
/// Faults, bad samples, warnings.
Section trouble_section(const RunRecord& run);
Section config_section(const RunRecord& run);

/// All of them, in this order.
std::vector<Section> sections_of(const RunRecord& run);

/// "validation, 10,000 samples, with best.h5"
std::string evaluated_text(const EvaluationRecord& evaluation);

}  // namespace dptrain::report
