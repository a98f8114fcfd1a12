#pragma once

// Gather: all-gather of a byte string per process. It is the exchange for the communication thread; Processes::gather
// is the blocking call. Gathers with the same tags match in call order, which must be equal in all processes.

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
  /// Called once: by advance() with the bytes of all processes, or by cancel() with the error and an empty result.
  using Done = std::function<void(Result all, const Error* failed)>;

  Gather(std::string mine, Tag head, Tag rest, Done done);

  Progress advance(Transport& transport) override;
  void cancel(const Error& why) noexcept override;

 private:
  /// The head message contains the size and the first kInHead bytes. Longer inputs need a second message.
  static constexpr std::size_t kHeadBytes = 512, kInHead = kHeadBytes - sizeof(std::uint64_t);
  using Head = std::array<std::byte, kHeadBytes>;

  /// Messages to and from one other process.
  struct Other {
    Head head{};
    Ticket head_send = 0, rest_send = 0, head_receive = 0, rest_receive = 0;
    bool sending_head = false, sending_rest = false, head_due = false, rest_due = false;
    bool is_open() const { return sending_head || sending_rest || head_due || rest_due; }
  };

  void begin(Transport& transport);
  void read_head(Transport& transport, int process);

  const Tag head_tag_, rest_tag_;
  const Done done_;
  Head mine_{};
  Result all_;
  std::vector<Other> others_;  ///< by process; the entry of this process is unused
  bool begun_ = false;
};

}  // namespace dptrain::distributed
