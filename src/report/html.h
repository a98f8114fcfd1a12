#pragma once

// Building blocks of a web page. `text` is escaped, `html` is inserted unchanged. Pure functions; any thread.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plot/chart.h"
#include "report/record.h"

namespace dptrain::report {

/// Escapes one line of text.
std::string escaped(const std::string& text);
/// escaped(), with a possible break after each `.`, `/` and `_`, for keys and paths in narrow columns.
std::string breakable(const std::string& text);
/// A block of lines in a <pre> element.
std::string preformatted(const std::string& text);

/// <tag class="style">html</tag>; without a class if `style` is empty.
std::string element(const std::string& tag, const std::string& style, const std::string& html);
/// A <details> element.
std::string folded(const std::string& title_html, const std::string& html, bool open = false,
                   const std::string& style = "");
/// A paragraph in muted colour.
std::string note(const std::string& text);

struct Column {
  std::string title;
  bool number = false;  ///< right-aligned
};
/// A table of HTML cells; it scrolls if it is wider than the page.
std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows_html);
/// A table of names and values without a header; values are set in a code font.
std::string pairs(const std::vector<std::pair<std::string, std::string>>& texts);

/// A picture without its title, at its own width or the page's. `label` describes it for screen readers.
std::string figure(const plot::Drawing& drawing, const std::string& label);
/// The panels of a chart, two per row on a wide page, with keys above and the legend below.
std::string charts(const plot::Chart& chart, const std::string& label);

/// "12,345".
std::string count_text(double value);
/// The `exit` of result.json in words, "early stopping", or "not ended".
std::string exit_word(const RunRecord& run);
/// "2026-11-26 08:17 UTC" for "2026-11-26T08:17:19Z".
std::string date_text(const std::string& time);

/// The best value of one logged metric over the epochs.
struct Best {
  double value = 0;
  std::int64_t epoch = 0;
};
/// Nothing if the column is missing, has no finite value, or is not known to improve up or down.
std::optional<Best> best_of(const RunRecord& run, const std::string& column);
/// The value of the last epoch that has one.
std::optional<double> last_of(const RunRecord& run, const std::string& column);
/// The logged metrics "loss", "accuracy", ..., without "val_", in the order of train.csv.
std::vector<std::string> metrics_of(const RunRecord& run);
/// Whether any metric has validation values.
bool is_validated(const RunRecord& run);

}  // namespace dptrain::report
