#pragma once

// Threads that act as the processes of a run and exchange the samples that they could not read.

#include <barrier>
#include <iterator>
#include <vector>

#include "data/on_error.h"

namespace dptrain::data {

class Agreement {
 public:
  explicit Agreement(int processes) : said_(static_cast<std::size_t>(processes)), barrier_(processes) {}

  /// LoaderOptions::agree of a process. Its share follows those of the lower ranks.
  BadRowExchange exchange_of(int process) {
    return [this, process](const std::vector<BadRow>& own) {
      said_[static_cast<std::size_t>(process)] = to_bytes(own);
      barrier_.arrive_and_wait();
      std::vector<std::byte> all;
      for (const std::vector<std::byte>& one : said_) all.insert(all.end(), one.begin(), one.end());
      barrier_.arrive_and_wait();  // before the next exchange
      return bad_rows_of(all);
    };
  }

 private:
  std::vector<std::vector<std::byte>> said_;
  std::barrier<> barrier_;
};

}  // namespace dptrain::data
