#include "cli/answers.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <type_traits>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "train/line_file.h"

namespace dptrain::cli {
namespace {

constexpr const char* kHeader = "sample,label,answer";

}  // namespace

void add_processes(std::vector<Answer>& answers, mpi::Processes& processes) {
  static_assert(std::is_trivially_copyable_v<Answer>);
  const std::vector<std::string> all =
      processes.gather({reinterpret_cast<const char*>(answers.data()), answers.size() * sizeof(Answer)});
  answers.clear();
  for (const std::string& given : all)
    for (std::size_t i = 0; i + sizeof(Answer) <= given.size(); i += sizeof(Answer))
      std::memcpy(&answers.emplace_back(), given.data() + i, sizeof(Answer));
}

std::string answers_csv(std::vector<Answer> answers, const Classes& classes) {
  std::ranges::sort(answers, {}, &Answer::sample);
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < classes.count(); ++c) names.push_back(csv_field(classes.name(c)));
  std::string text = std::string(kHeader) + "\n";
  for (const Answer& one : answers)
    text += std::to_string(one.sample) + "," + names[static_cast<std::size_t>(one.label)] + "," +
            names[static_cast<std::size_t>(one.answer)] + "\n";
  return text;
}

KeptAnswers read_answers(const std::string& file) {
  const std::vector<std::vector<std::string>> rows = csv_rows(train::read_text(file));
  KeptAnswers kept{.file = file, .names = {}, .answers = {}};
  if (rows.empty() || join(rows.front(), ",") != kHeader)
    throw Error(ErrorKind::kData, fmt::format("{}:1: expected the header {}, as eval writes it", file, kHeader));
  std::map<std::string, std::int64_t> numbers;
  const auto number_of = [&](const std::string& name) {
    const auto [place, is_new] = numbers.emplace(name, static_cast<std::int64_t>(kept.names.size()));
    if (is_new) kept.names.push_back(name);
    return place->second;
  };
  for (std::size_t r = 1; r < rows.size(); ++r) {
    Answer one;
    bool good = rows[r].size() == 3;
    if (good) {
      const char* const end = rows[r][0].data() + rows[r][0].size();
      const auto [read, error] = std::from_chars(rows[r][0].data(), end, one.sample);
      good = error == std::errc() && read == end;
    }
    if (!good)
      throw Error(ErrorKind::kData, fmt::format("{}:{}: expected the number of a sample, its label and the answer, "
                                                "found '{}'; write the file again with eval",
                                                file, r + 1, printable(join(rows[r], ","))));
    one.label = number_of(rows[r][1]);
    one.answer = number_of(rows[r][2]);
    kept.answers.push_back(one);
  }
  std::ranges::sort(kept.answers, {}, &Answer::sample);
  return kept;
}

}  // namespace dptrain::cli
