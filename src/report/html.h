#pragma once

// Pieces of a web page as text. Whatever is called `text` may hold anything and is written out; whatever is called
// `html` has been. Pure functions; any thread.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plot/chart.h"
#include "report/record.h"

namespace dptrain::report {

/// One line.
std::string escaped(const std::string& text);
/// escaped(), with marks where a narrow column may break a key or a path: after `.`, `/` and `_`.
std::string breakable(const std::string& text);
/// A block of lines, as they stand.
std::string preformatted(const std::string& text);

/// <tag class="style">html</tag>; no class where `style` is empty.
std::string element(const std::string& tag, const std::string& style, const std::string& html);
/// What a reader unfolds.
std::string folded(const std::string& title_html, const std::string& html, bool open = false,
                   const std::string& style = "");
/// A sentence of less weight.
std::string note(const std::string& text);

struct Column {
  std::string title;
  bool number = false;  ///< to the right
};
/// Rows of cells of html; scrolls by itself where it is wider than the page.
std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows_html);
/// Names and values without a head; the values in the font of code.
std::string pairs(const std::vector<std::pair<std::string, std::string>>& texts);

/// A picture without its title, of its own width, or the page's. `label` describes it for readers without the picture.
std::string figure(const plot::Drawing& drawing, const std::string& label);
/// The panels of a chart, two in a row where the page is wide, with keys above and names below.
std::string charts(const plot::Chart& chart, const std::string& label);

// Numbers as the pages show them. Pure functions; any thread.

/// "12,345".
std::string count_text(double value);
/// "early stopping" of result.json's `exit`, or "not ended".
std::string exit_word(const RunRecord& run);
/// "2026-11-26 08:17 UTC" of "2026-11-26T08:17:19Z".
std::string date_text(const std::string& time);

/// The best value of one logged metric over the epochs.
struct Best {
  double value = 0;
  std::int64_t epoch = 0;
};
/// Nothing where the column is not there, or never finite.
std::optional<Best> best_of(const RunRecord& run, const std::string& column);
/// The value of the last epoch that has one.
std::optional<double> last_of(const RunRecord& run, const std::string& column);
/// "loss", "accuracy", ...: what is logged, without "val_", in the order of train.csv.
std::vector<std::string> metrics_of(const RunRecord& run);
/// Whether any of them was validated.
bool is_validated(const RunRecord& run);

}  // namespace dptrain::report
