#include "distributed/bucket_sum.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/index.h"
#include "distributed/parts.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/reduce.h"

namespace dptrain::distributed {
namespace {

using kernels::SumTree;

/// Two tags per bucket. Buckets that share tags are kBuckets apart and never in flight at the same time.
Tag tag_of(int bucket, int which) {
  constexpr int kBuckets = (kMaxTag - kFirstFree) / 2;
  return static_cast<Tag>(kFirstFree + 2 * (bucket % kBuckets) + which);
}

std::int64_t size_of(const plan::Bucket& part) { return part.end - part.begin; }
std::size_t bytes_of(const plan::Bucket& part) { return static_cast<std::size_t>(size_of(part)) * sizeof(float); }

}  // namespace

std::vector<SumTree::Node> RankLayout::nodes(int process_index) const {
  return SumTree(ranks()).nodes(first_ranks[at(process_index)], first_ranks[at(process_index + 1)]);
}

int RankLayout::leader(int process_index) const { return leaders.empty() ? process_index : leaders[at(process_index)]; }

BucketSum::BucketSum(const RankLayout& rank_layout, const plan::Bucket& bucket, int number, std::vector<float*> arenas,
                     std::function<bool()> ready, std::function<void(const Error* failed)> done)
    : rank_layout_(rank_layout),
      own_(part_of(bucket, rank_layout.process, rank_layout.processes())),
      arenas_(std::move(arenas)),
      ready_(std::move(ready)),
      done_(std::move(done)),
      nodes_tag_(tag_of(number, 0)),
      sum_tag_(tag_of(number, 1)),
      nodes_(rank_layout.nodes(rank_layout.process)),
      others_(at(rank_layout.processes())) {
  std::vector<SumTree::Node> all;
  for (int p = 0; p < rank_layout.processes(); ++p) {
    const std::vector<SumTree::Node> nodes = rank_layout.nodes(p);
    all.insert(all.end(), nodes.begin(), nodes.end());
    Other& other = others_[at(p)];
    if (p == rank_layout.process) continue;
    other.part = part_of(bucket, p, rank_layout.processes());
    other.sending.resize(nodes_.size());
    other.receiving.resize(nodes.size());
    other.received.assign(nodes.size(), std::vector<float>(static_cast<std::size_t>(size_of(own_))));
    for (const SumTree::Node& node : nodes_)
      other.sums.emplace_back(node.end - node.begin > 1 ? static_cast<std::size_t>(size_of(other.part)) : 0);
  }
  merges_ = SumTree::merges(all);
  for (const SumTree::Node& node : nodes_)
    own_sums_.emplace_back(node.end - node.begin > 1 ? static_cast<std::size_t>(size_of(own_)) : 0);
}

namespace {

/// Sums the node's ranks over a part into `sum`. For a single rank, returns its arena instead.
const float* node_sum(const SumTree::Node& node, int first_rank, const std::vector<float*>& arenas,
                      const plan::Bucket& part, std::vector<float>& sum) {
  std::vector<const float*> local_ranks;
  for (int rank = node.begin; rank < node.end; ++rank)
    local_ranks.push_back(arenas[at(rank - first_rank)] + part.begin);
  if (local_ranks.size() == 1) return local_ranks.front();
  float* const out = sum.data();
  kernels::cpu::sum_arrays(local_ranks.data(), SumTree(node.end - node.begin).merges().data(),
                           static_cast<int>(local_ranks.size()), &out, 1, 0, size_of(part));
  return out;
}

}  // namespace

void BucketSum::begin(Transport& transport) {
  begun_ = true;
  added_ = false;
  for (int p = 0; p < rank_layout_.processes(); ++p) {
    if (p == rank_layout_.process) continue;
    Other& other = others_[at(p)];
    other.sum_is_sending = other.sum_is_receiving = other.has_sum = false;
    for (std::size_t i = 0; i < other.receiving.size(); ++i)
      other.receiving[i] =
          transport.receive(other.received[i].data(), bytes_of(own_), rank_layout_.leader(p), nodes_tag_);
  }
  for (int step = 1; step < rank_layout_.processes(); ++step)  // start with different receivers
    send_nodes(transport, (rank_layout_.process + step) % rank_layout_.processes());
}

void BucketSum::send_nodes(Transport& transport, int to) {
  Other& other = others_[at(to)];
  const int first = rank_layout_.first_ranks[at(rank_layout_.process)];
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const float* const sum = node_sum(nodes_[i], first, arenas_, other.part, other.sums[i]);
    other.sending[i] = transport.send(sum, bytes_of(other.part), rank_layout_.leader(to), nodes_tag_);
  }
}

void BucketSum::add_own_part(Transport& transport) {
  const int first = rank_layout_.first_ranks[at(rank_layout_.process)];
  std::vector<const float*> in;
  for (int p = 0; p < rank_layout_.processes(); ++p) {
    if (p != rank_layout_.process) {
      for (const std::vector<float>& sum : others_[at(p)].received) in.push_back(sum.data());
      continue;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      in.push_back(node_sum(nodes_[i], first, arenas_, own_, own_sums_[i]));
  }
  std::vector<float*> out;
  for (float* const arena : arenas_) out.push_back(arena + own_.begin);
  kernels::cpu::sum_arrays(in.data(), merges_.data(), static_cast<int>(in.size()), out.data(),
                           static_cast<int>(out.size()), 0, size_of(own_));
  for (int step = 1; step < rank_layout_.processes(); ++step) {
    const int to = (rank_layout_.process + step) % rank_layout_.processes();
    Other& other = others_[at(to)];
    other.sum_sent = transport.send(out.front(), bytes_of(own_), rank_layout_.leader(to), sum_tag_);
    other.sum_is_sending = true;
  }
  added_ = true;
}

void BucketSum::copy_to_local_ranks(const plan::Bucket& part) {
  for (std::size_t local_rank = 1; local_rank < arenas_.size(); ++local_rank)
    std::memcpy(arenas_[local_rank] + part.begin, arenas_.front() + part.begin, bytes_of(part));
}

Exchange::Progress BucketSum::advance(Transport& transport) {
  if (!begun_ && !ready_()) return Progress::kWaits;
  kernels::cpu::set_thread_count(1);  // the cores belong to the replicas
  bool moved = !begun_, open = false, all_came = true;
  if (!begun_) begin(transport);
  const auto forget_done = [&](std::vector<Ticket>& tickets) {
    moved = std::erase_if(tickets, [&](Ticket& ticket) { return transport.done(ticket); }) > 0 || moved;
    return tickets.empty();
  };
  for (int p = 0; p < rank_layout_.processes(); ++p) {
    if (p == rank_layout_.process) continue;
    Other& other = others_[at(p)];
    all_came = forget_done(other.receiving) && all_came;
    if (!other.has_sum && !other.sum_is_receiving && forget_done(other.sending)) {
      // Not before the arena is sent: the sum overwrites it.
      other.sum_receive =
          transport.receive(arenas_.front() + other.part.begin, bytes_of(other.part), rank_layout_.leader(p), sum_tag_);
      other.sum_is_receiving = moved = true;
    }
    if (other.sum_is_receiving && transport.done(other.sum_receive)) {
      copy_to_local_ranks(other.part);
      other.sum_is_receiving = false;
      other.has_sum = moved = true;
    }
    if (other.sum_is_sending && transport.done(other.sum_sent)) other.sum_is_sending = false, moved = true;
    open = open || !other.has_sum || other.sum_is_sending;
  }
  if (all_came && !added_) add_own_part(transport), moved = open = true;
  if (open || !added_) return moved ? Progress::kMoved : Progress::kWaits;
  begun_ = false;
  for (int p = 0; p < rank_layout_.processes(); ++p) {
    others_[at(p)].sending.resize(nodes_.size());
    others_[at(p)].receiving.resize(others_[at(p)].received.size());
  }
  done_(nullptr);
  return Progress::kDone;
}

}  // namespace dptrain::distributed
