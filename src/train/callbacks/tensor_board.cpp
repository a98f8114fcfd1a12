#include "train/callbacks/tensor_board.h"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include "config/json_fragment.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "experiment/run_files.h"
#include "train/callback_def.h"
#include "train/tensorboard/board.h"

namespace dptrain::train {
namespace {
namespace fs = std::filesystem;

using tensorboard::Board;
using tensorboard::HyperParameter;

HyperParameter hyper_parameter(const std::string& name, const config::Node& value) {
  char* end = nullptr;
  const double number = std::strtod(value.str().c_str(), &end);
  if (!value.quoted() && !value.str().empty() && *end == '\0') return {name, number};
  if (!value.quoted() && (value.str() == "true" || value.str() == "false")) return {name, value.str() == "true"};
  return {name, value.str()};
}

/// Collects each scalar below a mapping, named by its path: "optimizer.Adam.learning_rate".
void gather_scalars(const std::string& path, const config::Node& node, std::vector<HyperParameter>& all) {
  if (node.is_scalar()) all.push_back(hyper_parameter(path, node));
  if (!node.is_map()) return;
  for (const config::Node::Entry& entry : node.entries())
    gather_scalars(path.empty() ? entry.key : path + "." + entry.key, entry.value, all);
}

/// Settings that distinguish runs: optimizer, learning rate or schedule, seed, and non-default values of `train`.
std::vector<HyperParameter> hyper_parameters(const config::Node& config, const config::Node& minimal) {
  std::vector<HyperParameter> all;
  if (const config::Node* const seed = config.find("seed")) gather_scalars("seed", *seed, all);
  const config::Node* const train = config.find("train");
  const config::Node* const optimizer = train != nullptr ? train->find("optimizer") : nullptr;
  if (optimizer != nullptr && optimizer->is_map()) {
    all.push_back({"optimizer", optimizer->entries().front().key});
    const config::Node* const rate = optimizer->entries().front().value.find("learning_rate");
    if (rate != nullptr && rate->is_scalar()) all.push_back(hyper_parameter("learning_rate", *rate));
    if (rate != nullptr && rate->is_map()) all.push_back({"learning_rate", rate->entries().front().key});
  }
  const config::Node* const own = minimal.find("train");
  std::vector<HyperParameter> others;
  if (own != nullptr) gather_scalars("", *own, others);
  for (HyperParameter& other : others)
    if (other.name != "optimizer" && !other.name.ends_with(".learning_rate") && other.name != "log_every")
      all.push_back(std::move(other));
  return all;
}

class TensorBoard final : public Callback {
 public:
  explicit TensorBoard(const TensorBoardSpec& spec) : spec_(spec) {}

  std::string name() const override { return "TensorBoard"; }
  std::string subject() const override { return spec_.log_dir; }

  void train_begin(TrainingControl& control, bool resumed) override {
    sink_ =
        control.sink_if_first(std::make_unique<Board>((fs::path(control.run_directory()) / spec_.log_dir).string()));
    board_ = dynamic_cast<Board*>(sink_.get());
    if (board_ == nullptr) return;
    restored_ = resumed;
    if (!resumed) begin_files(control, 0, 0);
  }

  void epoch_begin(TrainingControl&, std::int64_t) override { restart_clock(); }

  void step_end(TrainingControl& control, const StepReport& report) override {
    if (board_ == nullptr) return;
    if (restored_) begin_files(control, report.epoch, report.step - 1);
    ++steps_;
    if (spec_.update_freq.steps == 0 || report.step % spec_.update_freq.steps != 0) return;
    board_->training("batch_", report.step, report.logs);
    board_->scalar("batch_learning_rate", report.step, report.learning_rate);
    const double rate = static_cast<double>(steps_) / watch_.seconds();
    board_->scalar("batch_samples_per_second", report.step, rate * static_cast<double>(control.global_batch()));
    if (spec_.write_steps_per_second) board_->scalar("batch_steps_per_second", report.step, rate);
    restart_clock();
  }

  void validation_end(TrainingControl& control, const ValidationReport& report) override {
    if (board_ == nullptr) return;
    if (restored_) begin_files(control, report.epoch, report.step - 1);
    board_->validation("evaluation_", "_vs_iterations", report.step, report.logs);
    restart_clock();
  }

  void epoch_end(TrainingControl& control, EpochReport& report) override {
    if (board_ == nullptr) return;
    if (restored_) begin_files(control, report.epoch, report.step);
    board_->training("epoch_", report.epoch, report.logs);
    board_->validation("epoch_", "", report.epoch, report.logs);
    if (report.logs.find("learning_rate") == nullptr)
      board_->scalar("epoch_learning_rate", report.epoch, report.learning_rate);
    board_->scalar("epoch_samples_per_second", report.epoch, report.examples_per_second());
    if (spec_.write_steps_per_second)
      board_->scalar("epoch_steps_per_second", report.epoch,
                     static_cast<double>(control.steps_per_epoch()) / report.train_seconds);
    if (spec_.histogram_freq > 0 && report.epoch % spec_.histogram_freq == 0) write_histograms(control, report.epoch);
    if (spec_.write_samples > 0)
      if (const auto sheet = control.sample_sheet(spec_.write_samples, report.epoch))
        board_->image("samples", report.epoch, *sheet);
    board_->flush();
    restart_clock();
  }

  void train_end(TrainingControl&) override { static_cast<void>(flush()); }
  bool flush() override { return sink_ == nullptr || sink_->flush(); }

  /// Also called when a run rolls back.
  void restore(const nlohmann::json&) override { restored_ = true; }

 private:
  /// Begins new files after `epochs` whole epochs and `steps` steps.
  void begin_files(TrainingControl& control, std::int64_t epochs, std::int64_t steps) {
    restored_ = false;
    try {
      board_->cut(epochs, steps);
    } catch (const Error& error) {
      log::warn(fmt::format("TensorBoard: {}; steps that the run repeats appear twice", error.what()));
    }
    if (spec_.write_graph) board_->graph(control.pulled_model());
    if (!spec_.write_hparams) return;
    const std::vector<HyperParameter> all =
        hyper_parameters(control.resolved_config(false), control.resolved_config(true));
    const fs::path run = fs::absolute(control.run_directory());
    board_->hyper_parameters(all, (run.parent_path().filename() / run.filename()).string());
  }

  void write_histograms(TrainingControl& control, std::int64_t epoch) {
    const graph::Model& model = control.pulled_model();
    for (const graph::Weight& weight : model.weights)
      board_->histogram(weight.path(model.graph) + "/histogram", epoch, weight.values);
    if (!spec_.write_grads) return;
    for (const NamedValues& gradient : control.gradients())
      board_->histogram(gradient.name + "_grad/histogram", epoch, gradient.values);
  }

  void restart_clock() {
    watch_.restart();
    steps_ = 0;
  }

  const TensorBoardSpec spec_;
  std::unique_ptr<RunSink> sink_;
  Board* board_ = nullptr;  ///< the sink; null if another process writes
  bool restored_ = false;   ///< to an earlier state, which the next report identifies
  Stopwatch watch_;         ///< since steps_ was 0
  std::int64_t steps_ = 0;
};

void check_log_dir(const TensorBoardSpec& spec, experiment::CallbackCheck& check) {
  if (!experiment::is_inside_folder(spec.log_dir))
    return check.error(
        fmt::format("log_dir '{}' must be the name of a folder below the run's folder, which "
                    "`tensorboard --logdir` finds by itself",
                    spec.log_dir));
  if (experiment::is_taken_by_run(spec.log_dir))
    return check.error(fmt::format("log_dir '{}' is what the run writes itself; choose another", spec.log_dir));
  if (!check.claim(fs::path(spec.log_dir).lexically_normal().string()))
    return check.error(fmt::format("another callback writes '{}'; choose another log_dir", spec.log_dir));
  if (spec.write_grads && spec.histogram_freq == 0)
    check.error("write_grads needs histogram_freq, the epochs between two histograms; write 1 for every epoch");
}

const RegisteredCallback kTensorBoard =
    callback<TensorBoardSpec>("TensorBoard")
        .doc("writes event files for TensorBoard, with the folders and tags of Keras")
        .positional(key("log_dir", &TensorBoardSpec::log_dir).doc("folder of the event files, in the run's folder"))
        .key(key("histogram_freq", &TensorBoardSpec::histogram_freq)
                 .at_least(0)
                 .doc("epochs between two histograms of every weight; 0: none"))
        .key(key("write_grads", &TensorBoardSpec::write_grads)
                 .doc("whether to write histograms of the gradients as well"))
        .key(key("write_graph", &TensorBoardSpec::write_graph).doc("whether to write the network, for the tab Graphs"))
        .key(key("write_steps_per_second", &TensorBoardSpec::write_steps_per_second)
                 .doc("whether to write steps per second"))
        .key(key("write_hparams", &TensorBoardSpec::write_hparams)
                 .doc("whether to write the table HParams: seed, optimizer, learning_rate and keys of train without "
                      "default values"))
        .key(key("write_samples", &TensorBoardSpec::write_samples)
                 .at_least(0)
                 .at_most(256)
                 .doc("number of training images or clips to show per epoch, as augmented in that epoch; 0: none"))
        .key(key("update_freq", &TensorBoardSpec::update_freq)
                 .doc("points of the training curves: `epoch`, also each `batch`, or also every N steps"))
        .check(check_log_dir)
        .files([](const TensorBoardSpec& spec) { return std::vector{spec.log_dir}; })
        .runs<TensorBoard>();

}  // namespace
}  // namespace dptrain::train

namespace dptrain::config {

bool Value<train::UpdateFrequency>::read(const Node& node, Reader& reader, train::UpdateFrequency& out) {
  const Node found = reader.substituted(node);
  if (found.is_scalar() && (found.str() == "epoch" || found.str() == "batch")) {
    out.steps = found.str() == "batch" ? 1 : 0;
    return true;
  }
  out.steps = parse_number<std::int64_t>(found.str()).value_or(0);
  if (!found.is_scalar() || out.steps < 1)
    return reader.expected(found, "epoch, batch, or the steps between two points, >= 1"), false;
  return true;
}
Node Value<train::UpdateFrequency>::write(const train::UpdateFrequency& value) {
  if (value.steps <= 1) return Node::scalar(value.steps == 0 ? "epoch" : "batch");
  return Node::integer(value.steps);
}
Node Value<train::UpdateFrequency>::schema() {
  return fragment::any_of({fragment::one_of_words({"epoch", "batch"}), fragment::number("integer")});
}

}  // namespace dptrain::config
