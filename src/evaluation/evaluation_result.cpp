#include "evaluation/evaluation_result.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/clock.h"
#include "evaluation/evaluation_files.h"
#include "nn/metric.h"
#include "session/evaluation.h"
#include "session/session.h"

namespace dptrain::evaluation {
namespace {

/// The true class of a position: a number, a value thresholded at 0.5, or the argmax of a row of values.
std::int64_t label_of(const void* labels, std::int64_t row, nn::LabelKind kind, const Classes& classes) {
  if (kind == nn::LabelKind::kClass) return static_cast<const std::int32_t*>(labels)[row];
  const float* values = static_cast<const float*>(labels) + row * classes.row_width();
  if (classes.row_width() == 1) return *values >= 0.5F ? 1 : 0;
  return argmax(values, classes.row_width());
}

/// Whether a position has the class that the loss ignores.
bool is_ignored(const plan::LossStep& loss, const void* labels, std::int64_t row, std::int64_t width) {
  if (!loss.ignore_class) return false;
  if (loss.labels == nn::LabelKind::kClass) return static_cast<const std::int32_t*>(labels)[row] == *loss.ignore_class;
  return static_cast<const float*>(labels)[row * width] < 0;
}

/// Collects the answers of one output.
struct Gathered {
  const plan::LossStep* loss = nullptr;
  const Classes* classes = nullptr;
  int label = 0;  ///< index among the labels of a batch
  std::vector<std::uint8_t> mask{};
  std::optional<Confusion> confusion{};
  WorstSamples worst{};
  std::vector<Answer> kept{};                ///< every answer
  std::vector<ValueAnswer> value_answers{};  ///< of samples for which is_chosen()
  std::int64_t samples = 0;                  ///< in the data set

  void add(const data::Batch& batch, const std::vector<float>& output) {
    for (std::int64_t sample = 0; sample < batch.own().count; ++sample) {
      WorstSample found{.index = batch.own_indices()[static_cast<std::size_t>(sample)]};
      const bool counts =
          classes->known() ? add_classes(batch, output, sample, found) : add_values(batch, output, sample, found);
      if (counts && classes->map().rank() == 0) worst.add(found);
      if (counts && classes->map().rank() > 0 && worst.accepts(found)) worst.add(found, maps_of(batch, output, sample));
      if (counts && classes->one_per_sample())
        kept.push_back({.sample = found.index, .label = found.label, .answer = found.answer});
      if (counts && found.values > 0 && is_chosen(found.index, samples))
        value_answers.push_back({.sample = found.index, .labels = found.labels, .answers = found.answers});
    }
  }

 private:
  /// Whether the position counts: a mask or an ignored class leaves it out.
  bool is_valid(const data::Batch& batch, std::int64_t row) const {
    if (loss->has_mask_tensor() && mask[static_cast<std::size_t>(row)] == 0) return false;
    return !is_ignored(*loss, batch.labels(label), row, classes->row_width());
  }

  SampleMaps maps_of(const data::Batch& batch, const std::vector<float>& output, std::int64_t sample) const {
    const Shape size = classes->map();
    const std::int64_t each = classes->positions();
    plot::ClassMap labels{.height = size[0], .width = size[1]};
    labels.classes.assign(static_cast<std::size_t>(each), plot::ClassMap::kIgnored);
    plot::ClassMap answers = labels;
    for (std::int64_t i = 0; i < each; ++i) {
      const std::int64_t row = sample * each + i;
      if (!is_valid(batch, row)) continue;
      const auto at = static_cast<std::size_t>(i);
      labels.classes[at] = static_cast<std::int32_t>(label_of(batch.labels(label), row, loss->labels, *classes));
      answers.classes[at] = static_cast<std::int32_t>(classes->class_of(output.data() + row * classes->row_width()));
    }
    return {.label = shrunk(labels, SampleMaps::kMaxPixels), .answer = shrunk(answers, SampleMaps::kMaxPixels)};
  }

  bool add_classes(const data::Batch& batch, const std::vector<float>& output, std::int64_t sample,
                   WorstSample& found) {
    const std::int64_t each = classes->positions();
    for (std::int64_t row = sample * each; row < (sample + 1) * each; ++row) {
      if (!is_valid(batch, row)) continue;
      const std::vector<float> p = classes->probabilities(output.data() + row * classes->row_width());
      found.label = label_of(batch.labels(label), row, loss->labels, *classes);
      found.answer = argmax(p.data(), classes->count());
      found.probability = p[static_cast<std::size_t>(found.answer)];
      found.loss += class_loss(p[static_cast<std::size_t>(found.label)]);
      found.wrong += found.answer != found.label ? 1 : 0;
      ++found.positions;
      confusion->add(found.label, found.answer);
    }
    found.loss /= static_cast<double>(std::max<std::int64_t>(1, found.positions));
    return found.positions > 0;
  }

  bool add_values(const data::Batch& batch, const std::vector<float>& output, std::int64_t sample,
                  WorstSample& found) const {
    if (loss->labels != nn::LabelKind::kDense || loss->has_mask_tensor()) return false;
    const std::int64_t width = classes->width(), each = classes->row_width();
    const float* const answers = output.data() + sample * width;
    const float* const labels = static_cast<const float*>(batch.labels(label)) + sample * width;
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      if (is_ignored(*loss, labels, i / each, each)) continue;
      found.loss += std::abs(static_cast<double>(answers[i]) - labels[i]);
      ++counted;
    }
    if (counted == 0) return false;
    found.loss /= static_cast<double>(counted);
    if (!std::isfinite(found.loss)) found.loss = std::numeric_limits<double>::max();  // largest, and valid in JSON
    if (loss->ignore_class || width > static_cast<std::int64_t>(WorstSample::kMaxValues)) return true;
    found.values = static_cast<std::size_t>(width);
    std::copy_n(labels, width, found.labels.begin());
    std::copy_n(answers, width, found.answers.begin());
    return true;
  }
};

/// Whether all processes continue. They exchange their answers after every kBatches batches.
std::function<bool()> agreement(distributed::Processes* processes, const std::function<bool()>& should_continue) {
  constexpr std::int64_t kBatches = 8;
  if (processes == nullptr) return should_continue;
  return [processes, &should_continue, calls = std::int64_t{0}, stop_requested = false]() mutable {
    stop_requested = !should_continue() || stop_requested;
    if (++calls % kBatches != 0) return true;
    const std::vector<std::string> all = processes->gather(stop_requested ? "stop" : "");
    return std::ranges::all_of(all, [](const std::string& one) { return one.empty(); });
  };
}

std::vector<Gathered> make_gathered(const session::Session& session, const plan::Plan& plan,
                                    const std::vector<Classes>& classes, std::int64_t samples) {
  std::vector<Gathered> all;
  for (const plan::LossStep& loss : plan.losses) {
    Gathered& one = all.emplace_back();
    one.loss = &loss;
    one.classes = &classes[static_cast<std::size_t>(loss.output)];
    one.label = static_cast<int>(all.size()) - 1;
    one.samples = samples;
    one.mask.resize(static_cast<std::size_t>(session.global_batch() * loss.masked_positions));
    if (one.classes->map().rank() > 0) one.worst = WorstSamples(WorstSamples::kMostMaps);
    if (one.classes->known()) one.confusion.emplace(one.classes->count());
  }
  return all;
}

/// The second pass: collects the model's answer to each sample. Returns false if it was stopped.
bool gather_answers(session::Session& session, data::Loader& loader, const std::vector<Classes>& classes,
                    const std::function<bool()>& should_continue, std::vector<Gathered>& gathered) {
  std::vector<std::vector<float>> outputs;
  std::vector<void*> places;
  for (const Classes& one : classes)
    places.push_back(outputs.emplace_back(static_cast<std::size_t>(session.global_batch() * one.width())).data());
  for (Gathered& one : gathered)
    if (one.loss->has_mask_tensor()) places.push_back(one.mask.data());
  loader.seek(0, 0);
  for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
    if (!should_continue()) return false;
    session.replicas().predict(batch.view(), places);
    for (Gathered& one : gathered) one.add(batch, outputs[static_cast<std::size_t>(one.loss->output)]);
  }
  return true;
}

}  // namespace

std::optional<EvaluationResult> evaluate(session::Session& session, const std::vector<Classes>& classes,
                                         const std::string& on, train::ProgressMode progress,
                                         const std::function<bool()>& should_continue) {
  data::Loader& loader = *session.loader(on);
  distributed::Processes* const processes = session.processes();
  train::Progress drawn(progress);
  const Stopwatch watch;
  train::BarState bar{
      .total = 2 * loader.batches_per_epoch(), .unit = train::BarState::Unit::kSteps, .values = " - " + on};
  const std::function<bool()> all_continue = agreement(processes, should_continue);
  const auto show = [&] {
    ++bar.done;
    bar.seconds = watch.seconds();
    drawn.draw(bar);
    return all_continue();
  };
  loader.seek(0, 0);
  const double begun = watch.seconds();
  const std::optional<runtime::StepSums> sums = session::evaluate(session, loader, show);
  const double seconds = watch.seconds() - begun;
  std::vector<Gathered> gathered = make_gathered(session, session.plan(), classes, session.source(on)->size());
  const bool whole = sums && gather_answers(session, loader, classes, show, gathered);
  drawn.clear();
  if (!whole) return std::nullopt;

  EvaluationResult evaluation_result{
      .on = on, .samples = sums->samples, .samples_per_second = 0, .values = session::values_of(session.plan(), *sums)};
  const std::shared_ptr<const data::Source> source = session.source(on);
  evaluation_result.samples_per_second = static_cast<double>(sums->samples) / std::max(seconds, 1e-9);
  for (Gathered& one : gathered) {
    if (processes != nullptr && one.classes->one_per_sample()) add_processes(one.kept, *processes);
    if (processes != nullptr && one.confusion) one.confusion->add_processes(*processes);
    if (processes != nullptr) one.worst.add_processes(*processes);
    if (processes != nullptr && !one.classes->known()) add_processes(one.value_answers, *processes);
    OutputResult output{.name = one.loss->name, .classes = *one.classes, .confusion = one.confusion};
    if (output.confusion) output.scores = class_scores(*output.confusion, output.classes);
    output.worst = one.worst.sorted();
    output.worst_maps = one.worst.maps();
    if (!one.value_answers.empty()) {
      output.value_answers = std::move(one.value_answers);
      output.values = static_cast<std::size_t>(output.classes.width());
    }
    if (one.classes->one_per_sample()) {
      for (Answer& answer : one.kept) answer.id = source->whole_index(answer.sample);
      output.answers = std::move(one.kept);
    }
    evaluation_result.outputs.push_back(std::move(output));
  }
  return evaluation_result;
}

std::vector<std::string> result_names(const plan::Plan& plan, const std::vector<Classes>& classes) {
  std::vector<std::string> known = session::sum_names(plan);
  for (const plan::LossStep& loss : plan.losses)
    if (const Classes& one = classes[static_cast<std::size_t>(loss.output)]; one.known())
      for (const auto& [score, value] : named_scores({}, one)) known.push_back(score_name(loss.name, score));
  return known;
}

std::vector<std::pair<std::string, double>> result_values(const EvaluationResult& evaluation_result) {
  std::vector<std::pair<std::string, double>> values = evaluation_result.values;
  for (const OutputResult& output : evaluation_result.outputs) {
    if (!output.confusion) continue;
    for (const auto& [score, mean] : named_scores(macro_average(output.scores), output.classes)) {
      const std::string name = score_name(output.name, score);
      if (std::ranges::none_of(values, [&](const auto& value) { return value.first == name; }))
        values.emplace_back(name, mean.value_or(std::nan("")));
    }
  }
  return values;
}

std::vector<std::string> class_score_names(const plan::Plan& plan, const std::vector<Classes>& classes) {
  std::vector<std::string> names;
  for (const plan::LossStep& loss : plan.losses) {
    const Classes& one = classes[static_cast<std::size_t>(loss.output)];
    for (std::int64_t c = 0; one.known() && c < one.count(); ++c)
      for (const auto& [score, value] : named_scores({}, one))
        names.push_back(class_score_name(loss.name, score, one.name(c)));
  }
  return names;
}

std::vector<std::pair<std::string, double>> class_score_values(const EvaluationResult& evaluation_result) {
  std::vector<std::pair<std::string, double>> values;
  for (const OutputResult& output : evaluation_result.outputs)
    for (const ClassScore& one : output.scores)
      for (const auto& [score, value] : named_scores(one, output.classes))
        values.emplace_back(class_score_name(output.name, score, one.name), value.value_or(std::nan("")));
  return values;
}

std::vector<std::string> sample_shares(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const plan::LossStep& loss : plan.losses)
    for (const nn::ResolvedMetric& metric : loss.metrics)
      if (!metric.masked && metric.type().is_share(metric.subject))
        names.push_back(score_name(loss.name, metric.names.front()));
  return names;
}

}  // namespace dptrain::evaluation
