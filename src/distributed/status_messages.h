#pragma once

// StatusMessages: short messages of a process to the others beside all exchanges: that it is alive, that it has failed
// and why, that it has come to its end. The communication thread's.

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

  /// `clock`: in seconds.
  StatusMessages(Transport& transport, std::function<double()> clock);

  /// Looks at what has come; tells the neighbours now and then that this process lives. The first failure that it
  /// learns of: one that was told, or a neighbour that was not heard of for `silence_seconds`.
  std::optional<Failure> poll(double silence_seconds);
  /// To all others, once.
  void send_failure(const Error& why);
  /// As much of its words as they get.
  static std::string shown(const Error& why);
  void send_goodbye();
  /// Whether all that was told is on its way; whether all others have said goodbye.
  bool all_sent();
  bool all_ended() const;

 private:
  enum class Kind : std::int32_t { kAlive = 1, kFailed, kGoodbye };
  struct Message {
    Kind kind = Kind::kAlive;
    std::int32_t code = 0;
    std::array<char, 1016> text{};
  };
  static_assert(sizeof(Message) == 1024);

  struct Other {
    Message comes;
    Ticket receives = 0;
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
  std::vector<Other> others_;  ///< by process; this one's is not used
  std::vector<Sent> sent_;
  double last_alive_ = 0;
};

}  // namespace dptrain::distributed
