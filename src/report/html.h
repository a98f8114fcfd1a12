#pragma once

// Pieces of a web page as text. Whatever is called `text` may hold anything and is written out; whatever is called
// `html` has been. Pure functions; any thread.

#include <string>
#include <utility>
#include <vector>

#include "picture/chart.h"

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
std::string figure(const picture::Drawing& drawing, const std::string& label);
/// The panels of a chart, two in a row where the page is wide, with keys above and names below.
std::string charts(const picture::Chart& chart, const std::string& label);

}  // namespace dptrain::report
