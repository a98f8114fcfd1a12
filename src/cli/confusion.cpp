#include "cli/confusion.h"

#include <algorithm>
#include <cstring>

#include "cli/csv.h"
#include "core/text.h"

namespace dptrain::cli {

void Confusion::add_processes(mpi::Processes& processes) {
  const std::vector<std::string> all =
      processes.gather({reinterpret_cast<const char*>(counts_.data()), counts_.size() * sizeof(counts_.front())});
  std::ranges::fill(counts_, 0);
  std::vector<std::int64_t> theirs(counts_.size());
  for (const std::string& given : all) {
    std::memcpy(theirs.data(), given.data(), std::min(given.size(), theirs.size() * sizeof(theirs.front())));
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += theirs[i];
  }
}

std::string Confusion::csv(const Classes& classes) const {
  std::vector<std::string> header{"label"};
  for (std::int64_t c = 0; c < classes_; ++c) header.push_back(csv_field(classes.name(c)));
  std::string text = join(header, ",") + "\n";
  for (std::int64_t label = 0; label < classes_; ++label) {
    std::vector<std::string> row{csv_field(classes.name(label))};
    for (std::int64_t c = 0; c < classes_; ++c) row.push_back(std::to_string(count(label, c)));
    text += join(row, ",") + "\n";
  }
  return text;
}

}  // namespace dptrain::cli
