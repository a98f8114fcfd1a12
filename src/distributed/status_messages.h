#pragma once

// StatusMessages: short messages between processes, independent of exchanges: alive, failed with a reason, ended. Used
// on the communication thread only.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "distributed/exchange.h"

namespace dptrain::distributed {

class StatusMessages {
 public:
  struct Failure {
    int process = 0;
    Error why;
  };

  /// `clock`: returns seconds.
  StatusMessages(Transport& transport, std::function<double()> clock);

  /// Receives messages, and regularly sends kAlive to the neighbours. Returns the first failure: reported by a process,
  /// or a neighbour that sent nothing for `silence_seconds`.
  std::optional<Failure> poll(double silence_seconds);
  /// Sends the failure to all others. Called once.
  void send_failure(const Error& why);
  /// Text of the error as the others receive it, truncated to the size of a message.
  static std::string shown(const Error& why);
  void send_shutdown();
  /// Whether all sends are complete.
  bool all_sent();
  /// Whether all other processes have sent a failure or a shutdown message.
  bool all_ended() const;

 private:
  enum class Kind : std::int32_t { kAlive = 1, kFailed, kShutdown };
  struct Message {
    Kind kind = Kind::kAlive;
    std::int32_t code = 0;
    std::array<char, 1016> text{};
  };
  static_assert(sizeof(Message) == 1024);

  struct Other {
    Message incoming;
    Ticket receive_ticket = 0;
    bool ended = false, neighbour = false;
    double last_received = 0;
  };
  struct Sent {
    std::unique_ptr<Message> message;
    Ticket ticket = 0;
    int to = 0;
  };

  void send(const Message& message, int to);
  void send_to_all(const Message& message);
  void receive(int process);

  Transport& transport_;
  const std::function<double()> clock_;
  std::vector<Other> others_;  ///< by process; the entry of this process is unused
  std::vector<Sent> sent_;
  double last_alive_ = 0;
};

}  // namespace dptrain::distributed
