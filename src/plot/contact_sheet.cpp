#include "plot/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

constexpr double kSheetMargin = 20, kSheetHead = 66, kSheetGap = 8, kSheetFont = 12.5, kColumnHead = 20,
                 kLabelHeight = 22, kNoteHeight = 16, kRowGap = 10, kMinImage = 96, kMinAlone = 128, kMinCell = 135,
                 kPageWidth = 900, kMinSheet = 420, kSheetLegendLine = 20, kSheetLegendFont = 12, kSwatch = 12;

struct Extent {
  double width = 1, height = 1;
};

Extent largest_image(const std::vector<SheetRow>& rows) {
  Extent most;
  for (const SheetRow& row : rows)
    for (const auto& image : row.images)
      most = {std::max(most.width, static_cast<double>(image->width)),
              std::max(most.height, static_cast<double>(image->height))};
  return most;
}

void place(const std::shared_ptr<const RgbImage>& image, double factor, Point at, Drawing& out,
           const std::string& title) {
  out.add({ImageItem{.at = at,
                     .width = factor * static_cast<double>(image->width),
                     .height = factor * static_cast<double>(image->height),
                     .image = image},
           title});
}

/// The tooltip of an image.
std::string whole_name(const SheetRow& row) {
  std::string name = row.label;
  for (const std::string& part : {row.answer, row.answer_value, row.note})
    if (!part.empty()) name += " " + part;
  return name;
}

/// Draws the answer and its value, at most `most` pixels wide; returns the width. Only the answer is shortened.
double draw_answer(const SheetRow& row, Point at, double most, Drawing& out) {
  constexpr double kGap = 4;
  const double value = row.answer_value.empty() ? 0 : kGap + text_width(row.answer_value, kSheetFont);
  const double answer = std::min(most - value, text_width(row.answer, kSheetFont) + 0.01);
  out.add_fitting({.at = at, .text = row.answer, .ink = row.answer_ink, .size = kSheetFont}, answer);
  if (value > 0)
    out.add({TextItem{.at = {at.x + answer + kGap, at.y}, .text = row.answer_value, .size = kSheetFont}, ""});
  return answer + value;
}

std::size_t columns_of(const std::vector<SheetRow>& rows) {
  std::size_t columns = 1;
  for (const SheetRow& row : rows) columns = std::max(columns, row.images.size());
  return columns;
}

/// Width of a legend's entry, with the gap to the next one.
double legend_width(const ClassColor& entry) { return kSwatch + 6 + text_width(entry.name, kSheetLegendFont) + 18; }

/// Lines of a legend of which each is at most `most` wide, unless one entry is wider.
std::vector<std::vector<ClassColor>> legend_lines(const std::vector<ClassColor>& legend, double most) {
  std::vector<std::vector<ClassColor>> lines;
  double used = 0;
  for (const ClassColor& entry : legend) {
    if (lines.empty() || used + legend_width(entry) > most) lines.emplace_back(), used = 0;
    lines.back().push_back(entry);
    used += legend_width(entry);
  }
  return lines;
}

/// Height of title, note and legend.
double head_height(const Sheet& sheet, double width) {
  const std::size_t lines = legend_lines(sheet.legend, width - 2 * kSheetMargin).size();
  return kSheetHead + kSheetLegendLine * static_cast<double>(lines) + (lines > 0 ? 6 : 0);
}

void draw_swatch(const ClassColor& entry, Point at, Drawing& out) {
  out.add({Box{.at = at, .width = kSwatch, .height = kSwatch, .ink = Ink::kAxis, .radius = 2}, ""});
  Box inside{.at = {at.x + 1, at.y + 1}, .width = kSwatch - 2, .height = kSwatch - 2, .ink = Ink::kPaper};
  inside.color = entry.color;
  if (entry.hatched) inside.color = Rgb{255, 255, 255};
  out.add({inside, ""});
  for (double x = 3; entry.hatched && x < kSwatch; x += 3)
    out.add({Polyline{.points = {{at.x + x, at.y + 1}, {at.x + 1, at.y + x}}, .ink = Ink::kMuted}, ""});
}

void draw_legend(const std::vector<ClassColor>& legend, Drawing& out) {
  double y = kSheetHead;
  for (const std::vector<ClassColor>& line : legend_lines(legend, out.width() - 2 * kSheetMargin)) {
    double x = kSheetMargin;
    for (const ClassColor& entry : line) {
      draw_swatch(entry, {x, y}, out);
      const double words = x + kSwatch + 6;
      out.add_fitting({.at = {words, y + 10.5}, .text = entry.name, .size = kSheetLegendFont},
                      out.width() - kSheetMargin - words);
      x += legend_width(entry);
    }
    y += kSheetLegendLine;
  }
}

void heading(const Sheet& sheet, Drawing& out) {
  const double most = out.width() - 2 * kSheetMargin;
  out.add_fitting({.at = {kSheetMargin, 32}, .text = sheet.title, .size = 17, .bold = true}, most);
  out.add_fitting({.at = {kSheetMargin, 52}, .text = sheet.note, .ink = Ink::kMuted, .size = 12}, most);
  draw_legend(sheet.legend, out);
}

/// Rows of one image each, as a grid.
Drawing grid(const Sheet& sheet, double factor, const Extent& image) {
  const double cell = std::max(kMinCell, image.width) + kSheetGap;
  const auto fitting = static_cast<std::size_t>(std::max(1.0, (kPageWidth - 2 * kSheetMargin + kSheetGap) / cell));
  const std::size_t columns = std::min(fitting, std::max<std::size_t>(1, sheet.rows.size()));
  const std::size_t lines = (sheet.rows.size() + columns - 1) / columns;
  const bool answered = std::ranges::any_of(sheet.rows, [](const SheetRow& row) { return !row.answer.empty(); });
  const double height = image.height + kLabelHeight + (answered ? kNoteHeight : 0) + kNoteHeight + kRowGap;
  const double width = std::max(kMinSheet, 2 * kSheetMargin + cell * static_cast<double>(columns) - kSheetGap);
  const double top = head_height(sheet, width);
  Drawing out(width, top + height * static_cast<double>(lines) + kSheetMargin);
  heading(sheet, out);
  for (std::size_t i = 0; i < sheet.rows.size(); ++i) {
    const Point at{kSheetMargin + cell * static_cast<double>(i % columns),
                   top + height * static_cast<double>(i / columns)};
    place(sheet.rows[i].images.front(), factor, at, out, whole_name(sheet.rows[i]));
    double y = at.y + image.height + 16;
    out.add_fitting({.at = {at.x, y}, .text = sheet.rows[i].label, .size = kSheetFont}, cell - kSheetGap);
    if (answered) {
      y += kNoteHeight;
      draw_answer(sheet.rows[i], {at.x, y}, cell - kSheetGap, out);
    }
    out.add_fitting({.at = {at.x, y + 15}, .text = sheet.rows[i].note, .ink = Ink::kMuted, .size = 11},
                    cell - kSheetGap);
  }
  return out;
}

/// The whole factor by which images are enlarged in a sheet.
double enlargement(const Sheet& sheet) {
  const Extent image = largest_image(sheet.rows);
  const double least = sheet.min_image > 0 ? sheet.min_image : columns_of(sheet.rows) == 1 ? kMinAlone : kMinImage;
  return std::max(1.0, std::ceil(least / std::max(image.width, image.height) - 0.5));
}

}  // namespace

Drawing contact_sheet(const Sheet& sheet) {
  const double factor = enlargement(sheet);
  Extent image = largest_image(sheet.rows);
  image = {image.width * factor, image.height * factor};
  const std::size_t columns = columns_of(sheet.rows);
  if (columns == 1) return grid(sheet, factor, image);

  double cell = image.width + kSheetGap;
  for (const std::string& title : sheet.columns) cell = std::max(cell, text_width(title, 12) + 2 * kSheetGap);
  const double width = std::max(kMinSheet, 2 * kSheetMargin + cell * static_cast<double>(columns) - kSheetGap);
  const double height = kLabelHeight + image.height + kRowGap, top = head_height(sheet, width) + kColumnHead;
  Drawing out(width, top + height * static_cast<double>(sheet.rows.size()) + kSheetMargin);
  heading(sheet, out);
  for (std::size_t c = 0; c < sheet.columns.size(); ++c)
    out.add({TextItem{.at = {kSheetMargin + cell * static_cast<double>(c), top - 8},
                      .text = sheet.columns[c],
                      .ink = Ink::kMuted,
                      .size = 12},
             ""});
  for (std::size_t r = 0; r < sheet.rows.size(); ++r) {
    const SheetRow& row = sheet.rows[r];
    const double y = top + height * static_cast<double>(r);
    const double most = out.width() - 2 * kSheetMargin;
    double used = std::min(row.answer.empty() ? most : most / 2, text_width(row.label, kSheetFont) + 0.01);
    out.add_fitting({.at = {kSheetMargin, y + 15}, .text = row.label, .size = kSheetFont}, used);
    if (!row.answer.empty()) used += 10 + draw_answer(row, {kSheetMargin + used + 10, y + 15}, most - used - 10, out);
    if (most - used > 60)
      out.add_fitting(
          {.at = {kSheetMargin + used + 10, y + 15}, .text = row.note, .ink = Ink::kMuted, .size = kSheetFont},
          most - used - 10);
    for (std::size_t c = 0; c < row.images.size(); ++c)
      place(row.images[c], factor, {kSheetMargin + cell * static_cast<double>(c), y + kLabelHeight}, out,
            whole_name(row));
  }
  return out;
}

}  // namespace dptrain::plot
