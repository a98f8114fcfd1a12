#include "evaluation/gates.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include <nlohmann/json.hpp>

#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "evaluation/assertion.h"
#include "evaluation/evaluation_result.h"
#include "experiment/run_files.h"
#include "train/line_file.h"

namespace dptrain::evaluation {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

std::string of_output(const std::string& output, const std::string& what) {
  return output.empty() ? what : output + ": " + what;
}

void append(std::vector<Verdict>& all, std::vector<Verdict> more) { std::ranges::move(more, std::back_inserter(all)); }

bool needs_classes(const experiment::GatesSection& section) {
  return section.class_recall || section.class_precision || section.class_iou || !section.classes.classes.empty() ||
         section.pairs();
}

Json json_of(const Verdict& verdict) {
  Json one{{"gate", verdict.gate},
           {"found", verdict.found},
           {"limit", verdict.limit},
           {"passed", !verdict.failed},
           {"verdict", verdict.failed ? "failed" : word_of(verdict)}};
  if (verdict.interval) one["interval"] = {verdict.interval->low, verdict.interval->high};
  if (verdict.failed) one["message"] = verdict.message;
  if (verdict.place.known()) {
    one["file"] = verdict.place.source->name;
    one["line"] = verdict.place.line;
  }
  return one;
}

/// The limit of a class: its own, else the one of all classes.
std::optional<experiment::Limit> limit_of(const experiment::GatesSection& section, const std::string& name,
                                          std::optional<experiment::Limit> experiment::ClassLimits::*score,
                                          const std::optional<experiment::Limit>& of_all) {
  for (const auto& [own, limits] : section.classes.classes)
    if (own == name && limits.*score) return limits.*score;
  return of_all;
}

}  // namespace

Gates::Gates(const GateOptions& flags, const experiment::Experiment& experiment, const std::string& data_set,
             bool has_evaluation)
    : flags_(flags),
      section_(flags.file ? std::optional(experiment::load_gates(*flags.file)) : experiment.config.gates),
      set_(data_set == default_set(experiment) ? "" : data_set) {
  if (!has_evaluation) section_.reset();
  if (!section_) return;
  for (const config::Path& folder : section_->baseline) runs_.push_back({.folder = folder, .of_baseline = true});
  for (const config::Path& folder : section_->runs) runs_.push_back({.folder = folder});
  std::error_code ignored;
  for (const Run& run : runs_)
    if (!fs::is_directory(run.folder.value, ignored))
      throw config::error_at(
          ErrorKind::kUsage, run.folder.mark,
          fmt::format("gates: {}: there is no such folder; expected that of a run", run.folder.value));
  if (section_->speed && section_->speed->of_baseline) baseline_speed();
}

void Gates::check(const plan::Plan& plan, const std::vector<Classes>& classes) const {
  if (!section_) return;
  config::Diagnostics diagnostics;
  const std::vector<std::string> names = result_names(plan, classes);
  for (const auto& [name, limit] : section_->metrics.limits)
    if (std::ranges::find(names, name) == names.end())
      diagnostics.error(limit.mark, fmt::format("gates: there is no '{}' among {}{}", name, join(names, ", "),
                                                did_you_mean(name, names)));
  std::vector<std::string> known;
  bool has_classes = false, pairs = false, maps = false;
  for (const plan::LossStep& loss : plan.losses) {
    const Classes& one = classes[static_cast<std::size_t>(loss.output)];
    has_classes = has_classes || one.known();
    pairs = pairs || one.one_per_sample();
    maps = maps || (one.known() && one.positions() > 1);
    for (std::int64_t c = 0; one.known() && c < one.count(); ++c) known.push_back(one.name(c));
  }
  if (needs_classes(*section_) && !has_classes)
    diagnostics.error({},
                      "gates: class_recall, class_precision, class_iou, classes, drop and class_drop need an output "
                      "with classes; this model has none");
  else if (section_->pairs() && !pairs)
    diagnostics.error({}, "gates: drop and class_drop need an output with one class per sample; this model has none");
  else if (section_->limits_iou() && !maps)
    diagnostics.error({},
                      "gates: class_iou and the iou of classes need an output with a class per position; this "
                      "model has none");
  for (std::size_t i = 0; has_classes && i < section_->classes.classes.size(); ++i) {
    const std::string& name = section_->classes.classes[i].first;
    if (std::ranges::find(known, name) == known.end())
      diagnostics.error(section_->classes.marks[i], fmt::format("gates: there is no class '{}'{}; the classes are {}",
                                                                name, did_you_mean(name, known), join(known, ", ")));
  }
  diagnostics.throw_if_errors();
}

std::vector<Verdict> Gates::verdicts(const EvaluatedModel& evaluated, const plan::Plan& plan, std::int64_t parameters) {
  std::vector<Verdict> verdicts = check_limits(evaluated, plan);
  append(verdicts, compare_with_baseline(evaluated));
  append(verdicts, check_speed_and_size(evaluated, parameters));
  return verdicts;
}

std::vector<Verdict> Gates::check_limits(const EvaluatedModel& evaluated, const plan::Plan& plan) {
  const EvaluationResult& evaluation_result = evaluated.evaluation_result;
  const std::vector<std::string> shares = sample_shares(plan);
  const auto samples = static_cast<double>(evaluation_result.samples);
  const std::vector<std::pair<std::string, double>> values = result_values(evaluation_result);
  std::vector<ShareGate> of_shares;
  std::vector<Verdict> of_values;
  for (const auto& [name, limit] : section_->metrics.limits) {
    const auto found = std::ranges::find(values, name, &std::pair<std::string, double>::first);
    const double value = found == values.end() ? std::nan("") : found->second;
    if (std::ranges::find(shares, name) != shares.end() && samples > 0 && std::isfinite(value))
      of_shares.push_back({name, value, samples, limit});
    else
      append(of_values, check_limit(name, value, limit));
  }
  const auto add = [&](const OutputResult& output, const std::string& gate, const std::optional<double>& score,
                       double count, const std::optional<experiment::Limit>& limit) {
    if (!limit) return;
    if (count == 0) {  // no samples
      notes_.push_back(gate + ": skipped, because it has no samples");
      return;
    }
    if (score && count > 0 && output.classes.one_per_sample())
      of_shares.push_back({gate, *score, count, *limit});
    else  // no interval: the positions of a sample are not independent
      append(of_values, check_limit(gate, score.value_or(std::nan("")), *limit));
  };
  for (const OutputResult& output : evaluation_result.outputs)
    for (std::size_t c = 0; c < output.scores.size(); ++c) {
      const ClassScore& score = output.scores[c];
      std::int64_t predicted = 0;
      for (std::int64_t label = 0; label < output.classes.count(); ++label)
        predicted += output.confusion->count(label, static_cast<std::int64_t>(c));
      const auto support = static_cast<double>(score.support);
      add(output, class_score_name(output.name, "recall", score.name), score.recall, support,
          limit_of(*section_, score.name, &experiment::ClassLimits::recall, section_->class_recall));
      add(output, class_score_name(output.name, "precision", score.name), score.precision,
          static_cast<double>(predicted),
          limit_of(*section_, score.name, &experiment::ClassLimits::precision, section_->class_precision));
      if (output.classes.positions() > 1)
        add(output, class_score_name(output.name, "iou", score.name), score.iou, support,
            limit_of(*section_, score.name, &experiment::ClassLimits::iou, section_->class_iou));
    }
  if (!section_->confidence && !of_shares.empty())
    notes_.push_back(
        "gates without confidence compare the value itself; earlier versions compared an interval, as with confidence: "
        "0.99");
  std::vector<Verdict> verdicts = check_share_gates(of_shares, section_->confidence);
  append(verdicts, std::move(of_values));
  return verdicts;
}

const SavedAnswers& Gates::saved_answers(Run& run, const std::string& output) const {
  for (const auto& [of, answers] : run.answers)
    if (of == output) return answers;
  const fs::path file = fs::path(run.folder.value) / experiment::evaluation_file("answers", output, set_, ".csv");
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    throw config::error_at(ErrorKind::kData, run.folder.mark,
                           fmt::format("gates: {} does not exist; 'dptrain eval {}{}' writes it", file.string(),
                                       shell_quoted(run.folder.value), set_.empty() ? "" : " --on " + set_));
  return run.answers.emplace_back(output, read_answers(file.string())).second;
}

std::vector<Verdict> Gates::compare_with_baseline(const EvaluatedModel& evaluated) {
  if (!section_->pairs()) return {};
  const auto baseline_runs = static_cast<int>(section_->baseline.size());
  const auto runs = static_cast<int>(section_->runs.size()) + 1;
  std::vector<DropGate> drops;
  const bool of_trainings = section_->compare == experiment::ComparisonMode::kTrainings;
  for (const OutputResult& output : evaluated.evaluation_result.outputs) {
    if (!output.answers) continue;
    std::vector<const SavedAnswers*> others;
    for (Run& run : runs_) others.push_back(&saved_answers(run, output.name));
    const PairedAnswers paired = pair_answers(*output.answers, output.classes, others);
    for (const std::string& note : paired.notes) notes_.push_back(of_output(output.name, note));
    PairedCounts whole(baseline_runs, runs);
    std::vector<PairedCounts> by_class(static_cast<std::size_t>(output.classes.count()), whole);
    std::vector<char> right(static_cast<std::size_t>(baseline_runs + runs));
    for (const PairedAnswer& pair : paired.pairs) {
      for (std::size_t run = 0; run < pair.others.size(); ++run)
        right[run] = pair.others[run].answer == pair.others[run].label ? 1 : 0;
      right.back() = pair.mine.answer == pair.mine.label ? 1 : 0;
      by_class[static_cast<std::size_t>(pair.mine.label)].add(right);
    }
    for (const PairedCounts& one : by_class) whole.add(one);
    std::vector<Dispersion> dispersions(by_class.size());
    if (of_trainings) dispersions = evaluation::dispersions(by_class);
    if (section_->drop && whole.samples() > 0)
      drops.push_back({of_output(output.name, "right answers"), whole, *section_->drop,
                       of_trainings ? dispersion(whole) : Dispersion()});
    for (std::size_t c = 0; section_->class_drop && c < by_class.size(); ++c)
      if (by_class[c].samples() > 0)
        drops.push_back({of_output(output.name, "recall of " + output.classes.name(static_cast<std::int64_t>(c))),
                         by_class[c], *section_->class_drop, dispersions[c]});
  }
  DropVerdicts drop_verdicts = check_drop_gates(drops, *section_->confidence);
  std::ranges::move(drop_verdicts.notes, std::back_inserter(notes_));
  return std::move(drop_verdicts.verdicts);
}

double Gates::baseline_speed() const {
  double sum = 0;
  for (const Run& run : runs_) {
    if (!run.of_baseline) continue;
    const fs::path file = fs::path(run.folder.value) / experiment::evaluation_file("eval", "", set_, ".json");
    const Json json = Json::parse(train::read_text(file.string()), nullptr, false);
    const auto speed = json.is_object() ? json.find("examples_per_second") : json.end();
    if (!json.is_object() || speed == json.end() || !speed->is_number())
      throw config::error_at(
          ErrorKind::kData, run.folder.mark,
          fmt::format("gates: speed.of_baseline needs examples_per_second in {}; 'dptrain eval {}{}' writes it",
                      file.string(), shell_quoted(run.folder.value), set_.empty() ? "" : " --on " + set_));
    sum += speed->get<double>();
  }
  return sum / static_cast<double>(section_->baseline.size());
}

std::vector<Verdict> Gates::check_speed_and_size(const EvaluatedModel& evaluated, std::int64_t parameters) const {
  std::vector<Verdict> verdicts;
  if (section_->speed) {
    const experiment::SpeedLimit& speed = *section_->speed;
    double least = speed.at_least.value_or(0);
    if (speed.of_baseline) least = std::max(least, *speed.of_baseline * baseline_speed());
    append(verdicts, check_limit("samples a second", evaluated.evaluation_result.samples_per_second,
                                 {.at_least = least >= 100 ? std::round(least) : least, .mark = speed.mark}));
  }
  if (!section_->size) return verdicts;
  const experiment::SizeLimit& size = *section_->size;
  if (size.parameters)
    append(verdicts, check_limit("parameters", static_cast<double>(parameters),
                                 {.at_most = static_cast<double>(*size.parameters), .mark = size.mark}));
  if (size.file) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(evaluated.checkpoint, error);
    append(verdicts, check_limit("bytes of the file", error ? std::nan("") : static_cast<double>(bytes),
                                 {.at_most = static_cast<double>(size.file->bytes), .mark = size.mark}));
  }
  return verdicts;
}

std::vector<Verdict> Gates::verdicts_without_evaluation() const {
  return {
      {.gate = "evaluation",
       .found = std::nan(""),
       .limit = "done",
       .failed = true,
       .message =
           "gates could not be checked: the evaluation at the end of the run was stopped or failed; check them with "
           "dptrain eval --gates"}};
}

void Gates::conclude(const std::vector<Verdict>& verdicts, const experiment::Experiment& experiment,
                     const std::string& folder) const {
  if (section_) {
    if (!log::is_json() && !verdicts.empty()) log::info(table_of(verdicts));
    for (const std::string& note : notes_) log::info(note);
    const Json passed = skipped_ ? Json() : Json(!any_failed(verdicts));
    Json json{{"passed", passed},
              {"confidence", section_->confidence ? Json(*section_->confidence) : Json()},
              {"gates", Json::array()}};
    for (const Verdict& verdict : verdicts) json["gates"].push_back(json_of(verdict));
    json["notes"] = notes_;
    train::write_text((fs::path(folder) / experiment::evaluation_file("gates", "", set_, ".json")).string(),
                      json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  const std::optional<std::string> junit = flags_.junit                  ? flags_.junit
                                           : section_ && section_->junit ? std::optional(section_->junit->value)
                                                                         : std::nullopt;
  if (junit)
    train::write_text(
        *junit, junit_of(verdicts, "dptrain " + experiment.config.name, skipped_ ? "the run did not complete" : ""));
  const char* const actions = std::getenv("GITHUB_ACTIONS");
  if (!log::is_json() && (flags_.annotations || (actions != nullptr && std::string_view(actions) == "true")))
    for (const std::string& line : annotations_of(verdicts)) log::print(line);
  require(verdicts);
}

}  // namespace dptrain::evaluation
