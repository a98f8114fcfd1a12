#include "evaluation/answers.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "train/line_file.h"

namespace dptrain::evaluation {
namespace {

constexpr const char* kHeader = "sample,label,answer,id";
constexpr const char* kHeaderWithoutIds = "sample,label,answer";

/// Samples are paired by id, or by number if the file has no ids.
std::int64_t key_of(const Answer& answer, bool by_id) { return by_id ? answer.id : answer.sample; }

std::map<std::int64_t, const Answer*> by_key(const SavedAnswers& kept) {
  std::map<std::int64_t, const Answer*> found;
  for (const Answer& one : kept.answers)
    if (!found.emplace(key_of(one, kept.has_ids), &one).second)
      throw Error(ErrorKind::kData, fmt::format("{}: two rows have the {} {}; write the file again with eval",
                                                kept.file, kept.has_ids ? "id" : "sample", key_of(one, kept.has_ids)));
  return found;
}

void require_same_label(const SavedAnswers& kept, const Answer& theirs, const Answer& mine, const Classes& classes) {
  const std::string &there = kept.names[static_cast<std::size_t>(theirs.label)], here = classes.name(mine.label);
  if (there != here)
    throw Error(ErrorKind::kData,
                fmt::format("{}: its sample {} is '{}', where this run's sample {} is '{}'; both must "
                            "be evaluated on the same data set",
                            kept.file, theirs.sample, printable(there), mine.sample, printable(here)));
}

}  // namespace

bool is_chosen(std::int64_t sample, std::int64_t samples) {
  constexpr std::uint64_t kMax = 1000, kGoldenRatio = 0x9E3779B97F4A7C15U;  // spreads periods of the data evenly
  if (samples <= static_cast<std::int64_t>(kMax)) return true;
  const std::uint64_t mixed = (static_cast<std::uint64_t>(sample) + 1) * kGoldenRatio >> 32U;
  return mixed * static_cast<std::uint64_t>(samples) >> 32U < kMax;
}

std::string values_csv(std::vector<ValueAnswer> answers, std::size_t values) {
  std::ranges::sort(answers, {}, &ValueAnswer::sample);
  std::string text = "sample";
  for (std::size_t i = 0; i < values; ++i)
    text += values == 1 ? ",label,answer" : fmt::format(",label_{0},answer_{0}", i + 1);
  for (const ValueAnswer& one : answers) {
    text += fmt::format("\n{}", one.sample);
    for (std::size_t i = 0; i < values; ++i) text += fmt::format(",{:.9g},{:.9g}", one.labels[i], one.answers[i]);
  }
  return text + "\n";
}

std::vector<plot::ValuePairs> value_pairs(const std::vector<ValueAnswer>& answers, std::size_t values) {
  std::vector<plot::ValuePairs> all(values);
  for (std::size_t i = 0; i < values; ++i) {
    if (values > 1) all[i].name = fmt::format("value {}", i + 1);
    for (const ValueAnswer& one : answers) {
      all[i].labels.push_back(one.labels[i]);
      all[i].answers.push_back(one.answers[i]);
    }
  }
  return all;
}

std::string answers_csv(std::vector<Answer> answers, const Classes& classes) {
  std::ranges::sort(answers, {}, &Answer::sample);
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < classes.count(); ++c) names.push_back(csv_field(classes.name(c)));
  std::string text = std::string(kHeader) + "\n";
  for (const Answer& one : answers)
    text += std::to_string(one.sample) + "," + names[static_cast<std::size_t>(one.label)] + "," +
            names[static_cast<std::size_t>(one.answer)] + "," + std::to_string(one.id) + "\n";
  return text;
}

SavedAnswers read_answers(const std::string& file) {
  const std::vector<std::vector<std::string>> rows = csv_rows(train::read_text(file));
  SavedAnswers kept{.file = file, .names = {}, .answers = {}};
  const std::string header = rows.empty() ? "" : join(rows.front(), ",");
  kept.has_ids = header != kHeaderWithoutIds;
  if (kept.has_ids && header != kHeader)
    throw Error(ErrorKind::kData, fmt::format("{}:1: expected the header {}, as eval writes it", file, kHeader));
  std::map<std::string, std::int64_t> numbers;
  const auto number_of = [&](const std::string& name) {
    const auto [place, is_new] = numbers.emplace(name, static_cast<std::int64_t>(kept.names.size()));
    if (is_new) kept.names.push_back(name);
    return place->second;
  };
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const bool complete = rows[r].size() == rows.front().size();
    const auto sample = complete ? parse_number<std::int64_t>(rows[r][0]) : std::nullopt;
    const auto id = complete && kept.has_ids ? parse_number<std::int64_t>(rows[r][3]) : std::optional<std::int64_t>(0);
    if (!sample || !id)
      throw Error(ErrorKind::kData, fmt::format("{}:{}: expected {}, found '{}'; write the file again with eval", file,
                                                r + 1, header, printable(join(rows[r], ","))));
    const std::int64_t label = number_of(rows[r][1]), answer = number_of(rows[r][2]);
    kept.answers.push_back({.sample = *sample, .label = label, .answer = answer, .id = *id});
  }
  std::ranges::sort(kept.answers, {}, &Answer::sample);
  return kept;
}

PairedAnswers pair_answers(std::vector<Answer> mine, const Classes& classes,
                           const std::vector<const SavedAnswers*>& others) {
  std::ranges::sort(mine, {}, &Answer::sample);
  PairedAnswers paired;
  for (const Answer& one : mine) paired.pairs.push_back({.mine = one, .others = {}});
  for (const SavedAnswers* const other : others) {
    const std::map<std::int64_t, const Answer*> theirs = by_key(*other);
    if (!other->has_ids) {
      paired.notes.push_back(other->file + " has no ids: its samples are paired by their numbers");
      if (theirs.size() != mine.size())
        throw Error(
            ErrorKind::kData,
            fmt::format("{}: has the answers to {} samples, this run has answered {}; both must be evaluated on "
                        "the same data set",
                        other->file, with_commas(static_cast<std::int64_t>(theirs.size())),
                        with_commas(static_cast<std::int64_t>(mine.size()))));
    }
    std::erase_if(paired.pairs, [&](PairedAnswer& pair) {
      const auto found = theirs.find(key_of(pair.mine, other->has_ids));
      if (found == theirs.end()) return true;
      require_same_label(*other, *found->second, pair.mine, classes);
      pair.others.push_back(*found->second);
      return false;
    });
    if (2 * paired.pairs.size() < mine.size() || paired.pairs.empty())
      throw Error(ErrorKind::kData,
                  fmt::format("{}: {} of this run's {} samples are paired with those of the baseline, expected half of "
                              "them or more; evaluate both on the same data set (a Split with a seed of its own is the "
                              "same for runs of other seeds)",
                              other->file, with_commas(static_cast<std::int64_t>(paired.pairs.size())),
                              with_commas(static_cast<std::int64_t>(mine.size()))));
  }
  paired.notes.push_back(fmt::format("{} of {} samples are paired with those of the other runs",
                                     with_commas(static_cast<std::int64_t>(paired.pairs.size())),
                                     with_commas(static_cast<std::int64_t>(mine.size()))));
  return paired;
}

}  // namespace dptrain::evaluation
