#pragma once

// Gather: every process gives some bytes and gets those of all. The communication thread's half; Processes::gather is
// the whole. Gathers of one pair of tags are matched by their order, which must be the same in all processes.

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "distributed/exchange.h"

namespace dptrain::distributed {

class Gather final : public Exchange {
 public:
  using Result = std::vector<std::string>;  ///< by process
  /// `done` is called on the communication thread, once: with what all gave, or with why there is nothing (then the
  /// result is empty).
  using Done = std::function<void(Result all, const Error* failed)>;

  Gather(std::string mine, Tag head, Tag rest, Done done);

  Progress advance(Transport& transport) override;
  void give_up(const Error& why) noexcept override;

 private:
  /// Short ones are one message: how many bytes, then the first of them.
  static constexpr std::size_t kHeadBytes = 512, kInHead = kHeadBytes - sizeof(std::uint64_t);
  using Head = std::array<std::byte, kHeadBytes>;

  /// What goes to and comes from one other process.
  struct Other {
    Head head{};
    Ticket sends_head = 0, sends_rest = 0, head_comes = 0, rest_comes = 0;
    bool sending_head = false, sending_rest = false, head_due = false, rest_due = false;
    bool is_open() const { return sending_head || sending_rest || head_due || rest_due; }
  };

  void begin(Transport& transport);
  void read_head(Transport& transport, int process);

  const Tag head_tag_, rest_tag_;
  const Done done_;
  Head mine_{};
  Result all_;
  std::vector<Other> others_;  ///< by process; this one's is not used
  bool begun_ = false;
};

}  // namespace dptrain::distributed
