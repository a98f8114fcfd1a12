#include "distributed/gather.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"

namespace dptrain::distributed {

Gather::Gather(std::string mine, Tag head, Tag rest, Done done)
    : head_tag_(head), rest_tag_(rest), done_(std::move(done)) {
  all_.push_back(std::move(mine));
}

void Gather::begin(Transport& transport) {
  begun_ = true;
  std::string mine = std::move(all_.front());
  all_.assign(at(transport.processes()), {});
  std::string& kept = all_[at(transport.process())] = std::move(mine);
  const std::uint64_t size = kept.size();
  std::memcpy(mine_.data(), &size, sizeof(size));
  std::memcpy(mine_.data() + sizeof(size), kept.data(), std::min(kept.size(), kInHead));
  others_.resize(at(transport.processes()));
  for (int p = 0; p < transport.processes(); ++p) {
    if (p == transport.process()) continue;
    Other& other = others_[at(p)];
    other.head_receive = transport.receive(other.head.data(), kHeadBytes, p, head_tag_);
    other.head_send = transport.send(mine_.data(), kHeadBytes, p, head_tag_);
    other.head_due = other.sending_head = true;
    if (kept.size() <= kInHead) continue;
    other.rest_send = transport.send(kept.data() + kInHead, kept.size() - kInHead, p, rest_tag_);
    other.sending_rest = true;
  }
}

void Gather::read_head(Transport& transport, int process) {
  Other& other = others_[at(process)];
  std::string& given = all_[at(process)];
  std::uint64_t size = 0;
  std::memcpy(&size, other.head.data(), sizeof(size));
  if (size > kInHead + kMaxMessageBytes)
    throw Error(
        ErrorKind::kDevice,
        fmt::format("process {} announces a message of {} bytes; run the same version of dptrain in all processes",
                    process, size));
  given.resize(size);
  std::memcpy(given.data(), other.head.data() + sizeof(size), std::min(given.size(), kInHead));
  if (given.size() <= kInHead) return;
  other.rest_receive = transport.receive(given.data() + kInHead, given.size() - kInHead, process, rest_tag_);
  other.rest_due = true;
}

Exchange::Progress Gather::advance(Transport& transport) {
  bool moved = !begun_, open = false;
  if (!begun_) begin(transport);
  const auto is_done = [&](bool& due, Ticket& ticket) {
    if (!due || !transport.done(ticket)) return false;
    due = false;
    return moved = true;
  };
  for (int p = 0; p < static_cast<int>(others_.size()); ++p) {
    Other& other = others_[at(p)];
    is_done(other.sending_head, other.head_send);
    is_done(other.sending_rest, other.rest_send);
    if (is_done(other.head_due, other.head_receive)) read_head(transport, p);
    is_done(other.rest_due, other.rest_receive);
    open = open || other.is_open();
  }
  if (open) return moved ? Progress::kMoved : Progress::kWaits;
  done_(std::move(all_), nullptr);
  return Progress::kDone;
}

void Gather::cancel(const Error& why) noexcept { done_({}, &why); }

}  // namespace dptrain::distributed
