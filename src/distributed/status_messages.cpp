#include "distributed/status_messages.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/format.h"
#include "core/index.h"

namespace dptrain::distributed {

StatusMessages::StatusMessages(Transport& transport, std::function<double()> clock)
    : transport_(transport), clock_(std::move(clock)), others_(at(transport.processes())), last_alive_(clock_()) {
  const int n = transport_.processes(), me = transport_.process();
  for (int p = 0; p < n; ++p) {
    if (p == me) continue;
    Other& other = others_[at(p)];
    other.neighbour = p == (me + 1) % n || p == (me + n - 1) % n;
    other.last_received = clock_();
    receive(p);
  }
}

void StatusMessages::receive(int process) {
  Other& other = others_[at(process)];
  other.receive_ticket = transport_.receive(&other.incoming, sizeof(Message), process, kStatus);
}

void StatusMessages::send(const Message& message, int to) {
  auto own = std::make_unique<Message>(message);
  const Ticket ticket = transport_.send(own.get(), sizeof(Message), to, kStatus);
  sent_.push_back({std::move(own), ticket, to});
}

void StatusMessages::send_to_all(const Message& message) {
  for (int p = 0; p < transport_.processes(); ++p)
    if (p != transport_.process()) send(message, p);
}

bool StatusMessages::all_sent() {
  std::erase_if(sent_, [this](Sent& sent) { return transport_.done(sent.ticket); });
  return sent_.empty();
}

bool StatusMessages::all_ended() const {
  return std::ranges::count(others_, true, &Other::ended) == static_cast<std::ptrdiff_t>(others_.size()) - 1;
}

void StatusMessages::send_failure(const Error& why) {
  Message message{.kind = Kind::kFailed, .code = why.exit_code()};
  const std::string full_text = shown(why);
  std::memcpy(message.text.data(), full_text.data(), full_text.size());
  send_to_all(message);
}

std::string StatusMessages::shown(const Error& why) {
  return std::string(why.what()).substr(0, Message{}.text.size() - 1);
}

void StatusMessages::send_shutdown() { send_to_all({.kind = Kind::kShutdown}); }

std::optional<StatusMessages::Failure> StatusMessages::poll(double silence_seconds) {
  const double now = clock_();
  std::optional<Failure> failure;
  for (int p = 0; p < static_cast<int>(others_.size()); ++p) {
    Other& other = others_[at(p)];
    if (p == transport_.process() || other.ended) continue;
    if (transport_.done(other.receive_ticket)) {
      other.last_received = now;
      if (other.incoming.kind == Kind::kFailed && !failure)
        failure = {p, Error(static_cast<ErrorKind>(other.incoming.code), other.incoming.text.data())};
      other.ended = other.incoming.kind != Kind::kAlive;
      if (!other.ended) receive(p);
    } else if (other.neighbour && now - other.last_received > silence_seconds && !failure) {
      failure = {p, Error(ErrorKind::kDeadline,
                          fmt::format("no message from it for {:g} s: it hangs, its machine is down or the link is cut",
                                      silence_seconds))};
    }
  }
  // At least eight messages within the limit, so one that is late does not count as a failure.
  if (now - last_alive_ > std::min(1.0, silence_seconds / 8)) {
    last_alive_ = now;
    all_sent();
    for (int p = 0; p < static_cast<int>(others_.size()); ++p) {
      const bool under_way = std::ranges::any_of(sent_, [p](const Sent& sent) { return sent.to == p; });
      if (others_[at(p)].neighbour && !others_[at(p)].ended && !under_way) send({}, p);
    }
  }
  return failure;
}

}  // namespace dptrain::distributed
