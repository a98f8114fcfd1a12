#include "runtime/balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "core/text.h"
#include "runtime/batch_split.h"

namespace dptrain::runtime {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Time of the slowest rank.
double step_seconds(const std::vector<std::int64_t>& rows, const std::vector<double>& seconds_per_row) {
  double longest = 0;
  for (std::size_t r = 0; r < rows.size(); ++r)
    longest = std::max(longest, static_cast<double>(rows[r]) * seconds_per_row[r]);
  return longest;
}

}  // namespace

Balance::Balance(BalanceOptions options) : options_(options), seconds_(static_cast<std::size_t>(options.ranks)) {
  decisions_.push_back(
      {0, split_rows(options.batch, std::vector<double>(static_cast<std::size_t>(options.ranks), 1.0))});
}

std::int64_t Balance::max_rows() const {
  const double even = static_cast<double>(options_.batch) / options_.ranks;
  return std::min(options_.batch, static_cast<std::int64_t>(std::ceil(kMaxShare * even)));
}

void Balance::set_ahead(std::int64_t batches) {
  const std::lock_guard lock(mutex_);
  ahead_ = batches;
}

std::vector<double> Balance::weights_at(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  const std::vector<std::int64_t>& rows = rows_at(number);
  return {rows.begin(), rows.end()};
}

const std::vector<std::int64_t>& Balance::rows_at(std::int64_t number) const {
  const auto behind = std::ranges::find_if(decisions_, [&](const Decision& from) { return from.number > number; });
  return behind == decisions_.begin() ? decisions_.front().rows : std::prev(behind)->rows;
}

std::optional<NewShares> Balance::add(std::int64_t number, std::int64_t positions, std::span<const double> seconds) {
  if (options_.batch < 2 * options_.ranks || positions != options_.batch) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (number < decisions_.back().number) {  // cut before the last decision, or the run went back
    const bool waits = decisions_.back().number - number <= ahead_;
    if (waits) return std::nullopt;
    while (decisions_.size() > 1 && decisions_.back().number > number) decisions_.pop_back();
    for (std::vector<double>& of_rank : seconds_) of_rank.clear();
  }
  while (decisions_.size() > 1 && decisions_[1].number <= number) decisions_.pop_front();
  for (std::size_t r = 0; r < seconds_.size(); ++r) seconds_[r].push_back(seconds[r]);
  if (std::cmp_less(seconds_.front().size(), options_.steps)) return std::nullopt;
  const std::vector<std::int64_t> rows = decisions_.back().rows;
  std::vector<double> medians, per_row;
  for (std::size_t r = 0; r < seconds_.size(); ++r) {
    medians.push_back(median(std::move(seconds_[r])));
    seconds_[r].clear();
    per_row.push_back(medians[r] / static_cast<double>(rows[r]));
  }
  std::vector<std::int64_t> better = wanted(rows, medians);
  if (step_seconds(better, per_row) > (1 - options_.min_gain) * step_seconds(rows, per_row)) return std::nullopt;
  NewShares shares{.from = number + ahead_, .rows = std::move(better), .milliseconds = std::move(medians)};
  for (double& time : shares.milliseconds) time *= 1e3;
  decisions_.push_back({shares.from, shares.rows});
  return shares;
}

/// Rows in proportion to speed, in multiples of 1/32 of an even share, so that kernels are needed for few sizes.
std::vector<std::int64_t> Balance::wanted(const std::vector<std::int64_t>& rows,
                                          const std::vector<double>& seconds) const {
  const double even = static_cast<double>(options_.batch) / options_.ranks;
  std::vector<double> speeds;
  for (std::size_t r = 0; r < rows.size(); ++r)
    speeds.push_back(static_cast<double>(rows[r]) / std::max(seconds[r], 1e-9));
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  const double unit = std::max(1.0, std::floor(even / 32));
  const auto least = std::max<std::int64_t>(1, static_cast<std::int64_t>(kMinShare * even));
  std::vector<double> shares;
  for (const double speed : speeds) {
    const double share = static_cast<double>(options_.batch) * speed / all;
    const double bounded = std::clamp(share, static_cast<double>(least), static_cast<double>(max_rows()));
    shares.push_back(std::max(unit, std::round(bounded / unit) * unit));
  }
  // Distributes the remainder of rounding and clamping in proportion to the shares.
  std::vector<std::int64_t> whole = split_rows(options_.batch, shares);
  for (std::int64_t& count : whole)
    for (; count < least; ++count) --*std::ranges::max_element(whole);
  for (std::int64_t& count : whole)
    for (; count > max_rows(); --count) ++*std::ranges::min_element(whole);
  return whole;
}

std::string text_of(const NewShares& shares) {
  std::vector<std::string> parts;
  for (const std::int64_t rows : shares.rows) parts.push_back(std::to_string(rows));
  return join(parts, " + ") + " rows";
}

}  // namespace dptrain::runtime
