// ReplicaSets that simulate processes: each has only the rows of its own replicas, and the results are those of one
// process with all replicas and rows.

#include <gmock/gmock.h>

#include <memory>

#include "runtime/arenas.h"
#include "runtime/independent_connector.h"
#include "runtime/shares.h"
#include "runtime/small_net.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;

constexpr std::int64_t kPositions = 11;
constexpr std::int64_t kMicroBatches = 2;

/// The remaining rows of a batch, and those of them that belong to a process.
class LeftRows {
 public:
  explicit LeftRows(std::vector<std::int64_t> missing)
      : positions_{.count = kPositions, .missing = std::move(missing)}, rows_(positions_.rows(), kSmallNetInput, 3) {}

  std::int64_t rows() const { return positions_.rows(); }
  BatchView of(const World& world, int local_ranks, const std::vector<double>& weights) const {
    BatchView own = take(rows_.view(), positions_.rows_at(share_of(world, local_ranks, weights, kPositions)));
    own.batch = positions_;
    return own;
  }

 private:
  BatchPositions positions_;
  SampleBatch rows_;
};

/// One of several processes with `local_ranks_` replicas.
struct Process {
  Process(const World& world_, int local_ranks_, std::vector<double> weights_)
      : world(world_), local_ranks(local_ranks_), weights(std::move(weights_)), model(model_of(kSmallNet)) {
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int local_rank = 0; local_rank < local_ranks; ++local_rank) devices.push_back(device_of("cpu", local_rank));
    plan::PlanOptions options = options_for("sparse_categorical_crossentropy", {"accuracy"});
    plan = plan::make_plan(model, options, *devices.front());
    set.emplace(plan, std::move(devices), connector,
                SetOptions{.world = world,
                           .weights = weights,
                           .accumulate_steps = kMicroBatches,
                           .batch_sizes = {kPositions},
                           .optimizer = sgd(),
                           .seed = 5});
    set->push(model);
  }

  BatchView own(const LeftRows& batch) const { return batch.of(world, local_ranks, weights); }

  World world;
  int local_ranks;
  std::vector<double> weights;
  graph::Model model;
  plan::Plan plan;
  IndependentConnector connector;
  std::optional<ReplicaSet> set;
};

std::vector<std::unique_ptr<Process>> processes_of(const std::vector<int>& local_ranks,
                                                   const std::vector<double>& weights) {
  std::vector<std::unique_ptr<Process>> all;
  World world{.processes = static_cast<int>(local_ranks.size()), .ranks = static_cast<int>(weights.size())};
  for (const int count : local_ranks) {
    all.push_back(std::make_unique<Process>(world, count, weights));
    ++world.process;
    world.first_rank += count;
  }
  return all;
}

/// The rows and results of each replica, by rank.
struct ShareOutcome {
  std::vector<std::int64_t> first_rows, rows;
  std::vector<std::vector<float>> inputs;
  std::vector<std::uint64_t> hashes;  ///< of the weights after some steps, with dropout
  std::vector<float> predictions;
  std::vector<double> losses;  ///< of an evaluation, per process
  std::int64_t samples = 0;
};

ShareOutcome run_shares(const std::vector<int>& local_ranks, const std::vector<double>& weights,
                        const LeftRows& batch) {
  ShareOutcome out;
  for (const auto& process : processes_of(local_ranks, weights)) {
    const BatchView own = process->own(batch);
    for (int local_rank = 0; local_rank < process->local_ranks; ++local_rank) {
      const BatchView share = process->set->share(own, local_rank);
      out.first_rows.push_back(share.first_row);
      out.rows.push_back(share.rows);
      const auto* const first = share.inputs[0].as<float>();
      out.inputs.emplace_back(first, first + share.rows * kSmallNetInput);
    }
    std::vector<float> predictions(static_cast<std::size_t>(own.rows * 3));
    process->set->predict(own, predictions.data());
    out.predictions.insert(out.predictions.end(), predictions.begin(), predictions.end());
    const StepSums sums = process->set->evaluate(own);
    out.samples += sums.samples;
    out.losses.push_back(sums.loss);
    for (std::int64_t step = 0; step < 3; ++step)
      process->set->step(own, {.number = step, .learning_rate = 0.1, .global_samples = batch.rows()});
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(process->local_ranks));
    process->set->on_each([&](int local_rank, Replica& replica) {
      hashes[static_cast<std::size_t>(local_rank)] = replica.arenas().hash();
    });
    out.hashes.insert(out.hashes.end(), hashes.begin(), hashes.end());
  }
  return out;
}

TEST(Shares, ReplicasDoTheSameInOneProcessAndInSeveral) {
  const std::vector<std::vector<double>> splits{{1, 1, 1, 1}, {3, 3, 1, 2}};
  // The replicas have 3, 3, 3 and 2 of 11 positions, or 4, 4, 1 and 2.
  const std::vector<std::vector<std::int64_t>> gaps{{}, {0, 3, 5, 8, 10}, {3, 4, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
  for (const std::vector<double>& weights : splits)
    for (const std::vector<std::int64_t>& missing : gaps) {
      SCOPED_TRACE(::testing::PrintToString(weights) + " without " + ::testing::PrintToString(missing));
      const LeftRows batch(missing);
      const ShareOutcome whole = run_shares({4}, weights, batch);
      EXPECT_EQ(whole.samples, batch.rows());
      std::int64_t first = 0;
      for (std::size_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(whole.first_rows[rank], first);
        first += whole.rows[rank];
      }
      EXPECT_EQ(first, batch.rows());
      for (const std::vector<int>& local_ranks : {std::vector{2, 2}, {1, 3}, {1, 1, 1, 1}}) {
        const ShareOutcome several = run_shares(local_ranks, weights, batch);
        EXPECT_EQ(several.first_rows, whole.first_rows);
        EXPECT_EQ(several.rows, whole.rows);
        EXPECT_EQ(several.inputs, whole.inputs);
        EXPECT_EQ(several.hashes, whole.hashes);
        EXPECT_EQ(several.predictions, whole.predictions);
        EXPECT_EQ(several.samples, whole.samples);
        double loss = 0;
        for (const double one : several.losses) loss += one;
        EXPECT_NEAR(loss, whole.losses[0], 1e-12 * whole.losses[0]);
      }
    }
}

TEST(Shares, MissingRowsDoNotChangeOtherShares) {
  const ShareOutcome all = run_shares({4}, {1, 1, 1, 1}, LeftRows({})),
                     some = run_shares({4}, {1, 1, 1, 1}, LeftRows({4}));
  EXPECT_EQ(all.rows, (std::vector<std::int64_t>{3, 3, 3, 2}));
  EXPECT_EQ(some.rows, (std::vector<std::int64_t>{3, 2, 3, 2}));
  EXPECT_EQ(some.first_rows, (std::vector<std::int64_t>{0, 3, 5, 8}));
}

TEST(Shares, RejectRowsOfOtherProcesses) {
  const LeftRows batch({});
  const auto processes = processes_of({2, 2}, {1, 1, 1, 1});
  try {
    processes[0]->set->evaluate(processes[1]->own(batch));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_THAT(error.what(), HasSubstr("of a batch of which 6 to 11 are here"));
  }
}

TEST(SharesOfBatches, AreWholeIfEveryReplicaHasItsUsualRows) {
  const SampleBatch twelve(12, kSmallNetInput, 3), eight(8, kSmallNetInput, 3);
  const auto whole = [](const BatchView& batch, std::int64_t valid, SetOptions options, int ranks = 2) {
    if (options.weights.empty()) options.weights.assign(static_cast<std::size_t>(ranks), 1.0);
    options.batch_sizes = {8, 12, 4};
    const World world = World::single_process(ranks);
    return Shares(options, world).is_full_batch(batch, valid);
  };
  EXPECT_TRUE(whole(twelve.view(), 12, {}));
  EXPECT_TRUE(whole(twelve.view(), 12, {}, 1));
  EXPECT_TRUE(whole(twelve.view(), 12, {.weights = {3, 1}}));
  EXPECT_FALSE(whole(eight.view(), 8, {})) << "the last batch";
  EXPECT_FALSE(whole(twelve.view(), 11, {})) << "samples that do not count";
  EXPECT_FALSE(whole(twelve.view(), 12, {.weights = {1, 0}})) << "a replica without rows";
  EXPECT_FALSE(whole(twelve.view(), 12, {.accumulate_steps = 2}));
  const auto balance = std::make_shared<Balance>(BalanceOptions{.ranks = 2, .batch = 12});
  EXPECT_FALSE(whole(twelve.view(), 12, {.balance = balance})) << "shares that change";
  BatchView gap = SampleBatch(11, kSmallNetInput, 3).view();
  gap.batch = BatchPositions{.count = 12, .missing = {5}};
  EXPECT_FALSE(whole(gap, 12, {})) << "a row that could not be read";
}

/// The slices of an inference over all rows, as pairs of first row and count.
std::vector<std::pair<std::int64_t, std::int64_t>> inference_rows(int ranks, int virtual_shards) {
  const SetOptions options{.weights = std::vector<double>(static_cast<std::size_t>(ranks), 1.0),
                           .virtual_shards = virtual_shards,
                           .batch_sizes = {37}};
  const World world{.ranks = ranks};
  const Shares shares(options, world);
  const SampleBatch batch(75, kSmallNetInput, 3);  // larger than any announced batch
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t pieces = shares.inference_pieces(batch.view(), rank, shares.max_rows(rank));
    for (const BatchView& slice : shares.slices(batch.view(), rank, pieces)) {
      EXPECT_LE(slice.rows, shares.max_rows(rank));
      all.emplace_back(slice.first_row, slice.rows);
    }
  }
  return all;
}

TEST(Shares, EqualReplicasInferTheSlicesOfAsManyShards) {
  EXPECT_EQ(inference_rows(8, 0), inference_rows(1, 8));
  EXPECT_EQ(inference_rows(4, 8), inference_rows(1, 8));
}

}  // namespace
}  // namespace dptrain::runtime
