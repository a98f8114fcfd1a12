// A table whose gradient is only the rows that a step read has the same bits as one with a whole gradient, also if it
// is read in between.

#include <gtest/gtest.h>

#include <limits>

#include "core/random.h"
#include "distributed/connector.h"
#include "runtime/small_net.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kWordCount = 50, kStepsOfRow = 3;

/// A table, and an Embedding that is too small to be one.
constexpr const char* kOneCall = R"(
layers:
  - Input: {name: a, shape: [3], dtype: int32}
  - Input: {name: b, shape: [3], dtype: int32}
  - Embedding: {name: words, input_dim: 50, output_dim: 5, inputs: a}
  - Flatten: {name: of_a}
  - Embedding: {name: few, input_dim: 50, output_dim: 2, inputs: b}
  - Flatten: {name: of_b}
  - Concatenate: {inputs: [of_a, of_b]}
  - Dense: {name: kind, units: 3, activation: softmax}
)";
/// One table that two branches read.
constexpr const char* kTwoCalls = R"(
shared: {words: {Embedding: {input_dim: 50, output_dim: 5}}}
layers:
  - Input: {name: a, shape: [3], dtype: int32}
  - Input: {name: b, shape: [3], dtype: int32}
  - words: {name: of_a, inputs: a}
  - words: {name: of_b, inputs: b}
  - Concatenate: {inputs: [of_a, of_b]}
  - Flatten
  - Dense: {name: kind, units: 3, activation: softmax}
)";

/// Ids of two inputs, and labels. Few ids per batch, which differ between batches, so that most rows have several
/// pending steps.
struct WordBatch {
  WordBatch(std::int64_t rows_, std::uint64_t seed) : rows(rows_) {
    RandomStream random(seed, 5);
    const std::uint64_t first = random.below(kWordCount - 9);
    for (auto* ids : {&a, &b})
      for (std::int64_t i = 0; i < rows * kStepsOfRow; ++i)
        ids->push_back(static_cast<std::int32_t>(first + random.below(9)));
    for (std::int64_t i = 0; i < rows; ++i) labels.push_back(static_cast<std::int32_t>(random.below(3)));
  }
  BatchView view() const {
    return {.rows = rows,
            .inputs = {column(a.data(), kStepsOfRow), column(b.data(), kStepsOfRow)},
            .labels = {column(labels.data())}};
  }

  std::int64_t rows;
  std::vector<std::int32_t> a, b, labels;
};

struct TableRun {
  const char* net = kOneCall;
  std::string optimizer = "Adam";
  bool tables = true;
  int replicas = 1;
  std::int64_t accumulate = 1;
  bool interrupted = false;  ///< weights, state and gradients are read and written during training
  std::int64_t steps = 14;
  std::int64_t skipped_step = -1;  ///< number of a step whose loss is not finite
};

struct TableOutcome {
  graph::Model model;
  std::vector<std::vector<float>> state;
  std::vector<double> losses;
};

/// State per parameter, because the two kinds of plans order parameters differently.
std::vector<std::vector<float>> state_by_weight(const plan::Plan& plan, const std::vector<std::vector<float>>& flat) {
  std::vector<std::vector<float>> all(plan.parameters.size() * flat.size());
  for (const plan::Parameter& p : plan.parameters)
    for (std::size_t s = 0; s < flat.size(); ++s) {
      const auto first = flat[s].begin() + plan.slot_offset(p);
      all[static_cast<std::size_t>(p.weight) * flat.size() + s].assign(first, first + p.elements());
    }
  return all;
}

TableOutcome train_words(const TableRun& run) {
  TableOutcome outcome{.model = model_of(run.net), .state = {}, .losses = {}};
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int r = 0; r < run.replicas; ++r) devices.push_back(backend::make_cpu_device(r, 1 + r % 2, {}));
  plan::PlanOptions options = options_for("sparse_categorical_crossentropy");
  if (run.tables) options.tables_from = 200;
  const plan::Plan plan = plan::make_plan(outcome.model, options, *devices.front());
  const auto tables = std::ranges::count(plan.parameters, plan::ParameterKind::kTable, &plan::Parameter::kind);
  EXPECT_EQ(tables, run.tables ? 1 : 0);
  const auto connector = make_local(run.replicas);
  constexpr std::int64_t kBatchOfWords = 7;
  runtime::ReplicaSet set(plan, std::move(devices), *connector,
                          {.weights = std::vector<double>(static_cast<std::size_t>(run.replicas), 1.0),
                           .accumulate_steps = run.accumulate,
                           .batch_sizes = {kBatchOfWords},
                           .optimizer = value_of(nn::optimizer_family(), run.optimizer),
                           .check_every = run.interrupted ? 3 : 0,
                           .continue_after_nonfinite = true});
  set.push(outcome.model);
  for (std::int64_t number = 0; number < run.steps; ++number) {
    WordBatch batch(kBatchOfWords, static_cast<std::uint64_t>(number));
    double rate = 0.01 / static_cast<double>(1 + number % 4);
    std::vector<float> weights(static_cast<std::size_t>(kBatchOfWords), 1.0F);
    if (number == run.skipped_step) weights[2] = std::numeric_limits<float>::infinity();
    BatchView rows = batch.view();
    rows.sample_weights = column(weights.data());
    outcome.losses.push_back(
        set.step(rows, {.number = number, .learning_rate = rate, .global_samples = kBatchOfWords}).loss);
    if (!run.interrupted) continue;
    if (number == 4) set.evaluate(WordBatch(kBatchOfWords, 99).view());
    if (number == 6) set.pull(outcome.model);
    if (number == 7) set.push(outcome.model);  // older weights with the current slots, before any check has caught up
    if (number == 9) set.push_state(set.pull_state());
  }
  set.check_equal(run.steps);
  set.pull(outcome.model);
  outcome.state = state_by_weight(plan, set.pull_state());
  return outcome;
}

void expect_same_bits(const TableOutcome& a, const TableOutcome& b) {
  for (std::size_t w = 0; w < a.model.weights.size(); ++w)
    EXPECT_EQ(a.model.weights[w].values, b.model.weights[w].values) << a.model.weights[w].path(a.model.graph);
  EXPECT_EQ(a.state, b.state);
}

/// Every element-wise optimizer, with all variants of its update.
std::vector<std::string> optimizers_by_element() {
  std::vector<std::string> all;
  for (const config::TypeDef* def : nn::optimizer_family().types()) {
    const auto& type = static_cast<const nn::OptimizerType&>(*def);
    if (!type.by_element) continue;
    std::vector<std::string> arguments = type.variants;
    arguments.emplace_back("clipvalue: 0.002");
    arguments.emplace_back("weight_decay: 0.01");
    for (const std::string& one : arguments) all.push_back(def->name + ": {" + one + "}");
  }
  return all;
}

TEST(RowTables, GiveTheBitsOfWholeGradients) {
  const std::vector<std::string> optimizers = optimizers_by_element();
  ASSERT_GE(optimizers.size(), 16U);
  for (const std::string& optimizer : optimizers) {
    SCOPED_TRACE(optimizer);
    expect_same_bits(train_words({.optimizer = optimizer}), train_words({.optimizer = optimizer, .tables = false}));
  }
}

TEST(RowTables, GiveTheBitsOfWholeGradientsWhateverReadsThemInBetween) {
  for (const char* optimizer : {"Adam", "AdamW", "SGD: {momentum: 0.9}"}) {
    SCOPED_TRACE(optimizer);
    expect_same_bits(train_words({.optimizer = optimizer, .interrupted = true}),
                     train_words({.optimizer = optimizer, .tables = false, .interrupted = true}));
  }
}

TEST(RowTables, IgnoreSkippedSteps) {
  const TableOutcome found = train_words({.skipped_step = 5});
  expect_same_bits(found, train_words({.tables = false, .skipped_step = 5}));
  EXPECT_LT(distance(found.model, train_words({}).model), 0.5) << "all finite";
}

TEST(RowTables, AddUpOverCallsReplicasAndMicroBatches) {
  const TableOutcome one = train_words({.net = kTwoCalls, .tables = false});
  for (const auto& [replicas, accumulate] : {std::pair{1, 1}, {3, 1}, {1, 3}, {2, 2}}) {
    SCOPED_TRACE(fmt::format("{} replicas, {} micro-batches", replicas, accumulate));
    const TableOutcome many = train_words({.net = kTwoCalls, .replicas = replicas, .accumulate = accumulate});
    EXPECT_LT(distance(one.model, many.model), 2e-5);
    for (std::size_t i = 0; i < one.losses.size(); ++i) EXPECT_NEAR(one.losses[i], many.losses[i], 1e-5);
  }
}

/// More steps than a row may have pending.
TEST(RowTables, ApplyAllStepsOfALongRun) {
  const std::int64_t steps = backend::RowTable::kMaxDeferred * 5 / 2;
  expect_same_bits(train_words({.steps = steps}), train_words({.tables = false, .steps = steps}));
}

}  // namespace
}  // namespace dptrain::distributed
