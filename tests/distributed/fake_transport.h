#pragma once

// distributed::Processes as threads of one process: a distributed::Transport whose messages are delivered through
// memory, late and in an order drawn from a seed, as far as MPI permits. Links can become silent.

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "distributed/processes.h"

namespace dptrain::test {

/// The links between the processes.
class FakeNetwork {
 public:
  /// `per_host`: processes per host, which share memory; 0: hosts of two without shared memory.
  explicit FakeNetwork(int processes, std::uint64_t seed = 1, int per_host = 0)
      : processes_(processes), seed_(seed), per_host_(per_host) {}

  int processes() const { return processes_; }
  std::uint64_t seed() const { return seed_; }
  bool shares_memory() const { return per_host_ > 0; }
  int host(int process) const { return process / (per_host_ > 0 ? per_host_ : 2); }

  using Channel = std::tuple<int, int, int>;  ///< from, to, tag
  void put(const Channel& channel, std::string message) {
    const std::lock_guard lock(mutex_);
    if (!silent_.contains(std::get<0>(channel))) messages_[channel].push_back(std::move(message));
  }
  bool take(const Channel& channel, std::string& message) {
    const std::lock_guard lock(mutex_);
    std::deque<std::string>& waiting = messages_[channel];
    if (waiting.empty()) return false;
    message = std::move(waiting.front());
    waiting.pop_front();
    return true;
  }
  /// Drops all further messages of the process.
  void silence(int process) {
    const std::lock_guard lock(mutex_);
    silent_.insert(process);
  }
  int finalized() {
    const std::lock_guard lock(mutex_);
    return finalized_;
  }
  void finalize() {
    const std::lock_guard lock(mutex_);
    ++finalized_;
  }

 private:
  const int processes_;
  const std::uint64_t seed_;
  const int per_host_;
  std::mutex mutex_;
  std::map<Channel, std::deque<std::string>> messages_;
  std::set<int> silent_;
  int finalized_ = 0;
};

class FakeTransport final : public distributed::Transport {
 public:
  FakeTransport(FakeNetwork& network, int process)
      : network_(network), process_(process), random_(network.seed(), 1, 0, static_cast<std::uint32_t>(process)) {}

  int process() const override { return process_; }
  int processes() const override { return network_.processes(); }
  std::string host() const override { return "node-" + std::to_string(network_.host(process_)); }
  std::string library() const override { return "threads"; }
  bool shares_memory() const override { return network_.shares_memory(); }

  distributed::Ticket send(const void* data, std::size_t bytes, int to, int tag) override {
    sends_[++last_] = {static_cast<const char*>(data), bytes, {process_, to, tag}, random_.below(3)};
    order_[{process_, to, tag}].push_back(last_);
    return last_;
  }

  distributed::Ticket receive(void* data, std::size_t bytes, int from, int tag) override {
    receives_[++last_] = {static_cast<char*>(data), bytes, false};
    order_[{from, process_, tag}].push_back(last_);
    return last_;
  }

  bool done(distributed::Ticket& ticket) override {
    if (const auto send = sends_.find(ticket); send != sends_.end()) return sent(send);
    const auto receive = receives_.find(ticket);
    if (receive == receives_.end()) throw Error(ErrorKind::kInternal, "a ticket is used after it was done");
    for (auto& [channel, tickets] : order_)
      if (std::get<1>(channel) == process_ && std::get<0>(channel) != process_) deliver(channel, tickets);
    if (!receive->second.done) return false;
    receives_.erase(receive);
    return true;
  }

  void finalize() override {
    for (const auto& [channel, tickets] : order_)
      if (!tickets.empty()) throw Error(ErrorKind::kInternal, "messages are under way at the end");
    network_.finalize();
  }

 private:
  struct Send {
    const char* data;
    std::size_t bytes;
    FakeNetwork::Channel channel;
    std::uint64_t looks;
  };
  struct Receive {
    char* data;
    std::size_t bytes;
    bool done;
  };

  /// Reads the message only when the send completes, to detect a sender that changes it before. In the order of its
  /// channel.
  bool sent(std::map<distributed::Ticket, Send>::iterator at) {
    std::deque<distributed::Ticket>& tickets = order_[at->second.channel];
    if (tickets.front() != at->first || at->second.looks-- > 0) return false;
    tickets.pop_front();
    network_.put(at->second.channel, {at->second.data, at->second.bytes});
    sends_.erase(at);
    return true;
  }

  void deliver(const FakeNetwork::Channel& channel, std::deque<distributed::Ticket>& tickets) {
    std::string message;
    while (!tickets.empty() && network_.take(channel, message)) {
      Receive& receive = receives_.at(tickets.front());
      tickets.pop_front();
      if (message.size() != receive.bytes)
        throw Error(ErrorKind::kInternal, "a message of " + std::to_string(message.size()) + " bytes, expected " +
                                              std::to_string(receive.bytes));
      if (!message.empty()) std::memcpy(receive.data, message.data(), message.size());
      receive.done = true;
    }
  }

  FakeNetwork& network_;
  const int process_;
  RandomStream random_;
  distributed::Ticket last_ = 0;
  std::map<distributed::Ticket, Send> sends_;
  std::map<distributed::Ticket, Receive> receives_;
  std::map<FakeNetwork::Channel, std::deque<distributed::Ticket>> order_;
};

/// One process of the network, with its communication thread.
inline std::unique_ptr<distributed::Processes> fake_process(FakeNetwork& network, int process,
                                                            const distributed::Processes::Timeouts& timeouts = {}) {
  return std::make_unique<distributed::Processes>(
      [&network, process] { return std::make_unique<FakeTransport>(network, process); }, timeouts);
}

/// Runs f(process) for every process on its own thread.
template <class F>
void in_processes(FakeNetwork& network, const F& f, const distributed::Processes::Timeouts& timeouts = {}) {
  std::vector<std::thread> threads;
  for (int p = 0; p < network.processes(); ++p)
    threads.emplace_back([&, p] {
      const std::unique_ptr<distributed::Processes> process = fake_process(network, p, timeouts);
      f(*process);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace dptrain::test
