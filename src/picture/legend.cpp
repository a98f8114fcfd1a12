#include "picture/legend.h"

#include <algorithm>

#include "picture/text_width.h"

namespace dptrain::picture {
namespace {

constexpr double kSample = 30, kSmallSample = 12, kSampleGap = 8, kEntryGap = 26, kLegendRow = 20, kLegendFont = 12,
                 kNoteGap = 10, kRounding = 0.01, kLeastName = 150;
constexpr std::size_t kMostColumns = 6;

bool is_small(const LegendEntry& entry) {
  using Sample = LegendEntry::Sample;
  return entry.sample == Sample::kRing || entry.sample == Sample::kCross || entry.sample == Sample::kMark;
}

double words_width(const std::string& text) { return text_width(text, kLegendFont); }

double entry_width(const LegendEntry& entry) { return sample_width(entry) + kSampleGap + words_width(entry.name); }

void draw_entry(const LegendEntry& entry, Point at, double name, Drawing& out) {
  draw_sample(entry, {at.x, at.y - 4}, out);
  at.x += sample_width(entry) + kSampleGap;
  out.add_fitting({.at = at, .text = entry.name, .size = kLegendFont}, name + kRounding);
  if (entry.note.empty()) return;
  at.x += name + kNoteGap;
  out.add({Words{.at = at, .text = entry.note, .ink = Ink::kMuted, .size = kLegendFont}, ""});
}

}  // namespace

double sample_width(const LegendEntry& entry) { return is_small(entry) ? kSmallSample : kSample; }

void draw_sample(const LegendEntry& entry, Point at, Drawing& out) {
  const Point middle{at.x + sample_width(entry) / 2, at.y};
  const LineStyle& style = entry.style;
  const auto mark = [&](Mark kind, double radius, bool hollow) {
    out.add({MarkItem{.at = middle, .mark = kind, .radius = radius, .ink = style.ink, .hollow = hollow}, ""});
  };
  switch (entry.sample) {
    case LegendEntry::Sample::kRing:
      mark(Mark::kDisc, 5, true);
      mark(Mark::kDisc, 1.8, false);
      return;
    case LegendEntry::Sample::kCross: return mark(Mark::kCross, 3, false);
    case LegendEntry::Sample::kMark: return mark(style.mark, 4, style.hollow);
    case LegendEntry::Sample::kBar:
      return out.add({Box{.at = {at.x, at.y - 5}, .width = kSample, .height = 10, .ink = style.ink, .radius = 2}, ""});
    case LegendEntry::Sample::kLine:
    case LegendEntry::Sample::kMarkedLine:
      out.add({Polyline{.points = {at, {at.x + kSample, at.y}},
                        .ink = style.ink,
                        .width = entry.dash == Dash::kSolid ? 2.2 : 1.6,
                        .dash = entry.dash},
               ""});
      if (entry.sample == LegendEntry::Sample::kMarkedLine) mark(style.mark, 3.6, style.hollow);
  }
}

void draw_keys(const std::vector<LegendEntry>& entries, Point at, Drawing& out) {
  for (const LegendEntry& entry : entries) {
    draw_entry(entry, at, words_width(entry.name), out);
    at.x += entry_width(entry) + kEntryGap;
  }
}

Legend::Legend(const std::vector<LegendEntry>& entries, double width) : entries_(entries) {
  std::vector<double> names;
  for (const LegendEntry& entry : entries) {
    names.push_back(words_width(entry.name));
    if (!entry.note.empty()) note_ = std::max(note_, kNoteGap + words_width(entry.note));
  }
  if (names.empty()) return;
  std::ranges::sort(names);
  const double most_names = names[(names.size() - 1) * 4 / 5];
  const auto room = [&](std::size_t columns) {  // for a name
    return (width + kEntryGap) / static_cast<double>(columns) - kEntryGap - kSample - kSampleGap - note_;
  };
  columns_ = std::min(kMostColumns, names.size());
  while (columns_ > 1 && room(columns_) < std::max(most_names, std::min(names.back(), kLeastName))) --columns_;
  rows_ = (names.size() + columns_ - 1) / columns_;
  name_ = std::min(names.back(), room(columns_));
}

double Legend::height() const { return static_cast<double>(rows_) * kLegendRow; }

void Legend::draw(Point at, Drawing& out) const {
  const double column = kSample + kSampleGap + name_ + note_ + kEntryGap;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    draw_entry(
        entries_[i],
        {at.x + static_cast<double>(i / rows_) * column, at.y + (static_cast<double>(i % rows_) + 0.7) * kLegendRow},
        name_, out);
}

}  // namespace dptrain::picture
