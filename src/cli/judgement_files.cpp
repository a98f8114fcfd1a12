#include "cli/judgement_files.h"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

#include "cli/eval_pictures.h"
#include "cli/worst_pictures.h"
#include "core/format.h"
#include "core/text.h"
#include "experiment/run_files.h"
#include "picture/file.h"
#include "train/line_file.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

std::string file_of(const Judged& judged, const std::string& stem, const std::string& output,
                    const std::string& suffix) {
  const std::string& on = judged.judgement.on;
  return experiment::evaluation_file(stem, output, on == usual_set(judged.experiment) ? "" : on, suffix);
}

/// A number, or a list of several.
Json numbers(std::span<const float> values) {
  if (values.size() == 1) return values.front();
  return std::vector<float>(values.begin(), values.end());
}

/// Columns of a table, a text: short enough to be read.
Json lines_of(const data::Source& source, std::int64_t index) {
  constexpr std::size_t kMostLines = 12, kMostLetters = 300;
  Json lines = Json::array();
  for (std::string& line : source.cell_lines(index)) {
    if (lines.size() == kMostLines) {
      lines.push_back("...");
      break;
    }
    std::size_t letters = std::min(line.size(), kMostLetters);
    while (letters > 0 && letters < line.size() && (static_cast<unsigned char>(line[letters]) & 0xC0U) == 0x80U)
      --letters;
    if (letters < line.size()) line = line.substr(0, letters) + " ...";
    lines.push_back(std::move(line));
  }
  return lines;
}

Json worst_json(const OutputJudgement& output, const data::Source* source) {
  Json list = Json::array();
  for (const WorstSample& sample : output.worst) {
    Json one{{"sample", source != nullptr ? source->label_place(sample.index) : std::to_string(sample.index)}};
    if (output.classes.one_per_sample()) {
      one["label"] = output.classes.name(sample.label);
      one["answer"] = output.classes.name(sample.answer);
      one["probability"] = sample.probability;
    } else if (output.confusion) {
      one["wrong"] = sample.wrong;
      one["positions"] = sample.positions;
    } else if (sample.values > 0) {
      one["label"] = numbers(std::span(sample.labels).first(sample.values));
      one["answer"] = numbers(std::span(sample.answers).first(sample.values));
    }
    one[output.confusion ? "loss" : "error"] = sample.loss;
    if (source != nullptr)
      if (Json lines = lines_of(*source, sample.index); !lines.empty()) one["holds"] = std::move(lines);
    list.push_back(std::move(one));
  }
  return list;
}

std::string title_of(const Judged& judged, const OutputJudgement& output) {
  return fmt::format("{}{} on {}", judged.experiment.config.name, output.name.empty() ? "" : ", " + output.name,
                     judged.judgement.on);
}

}  // namespace

std::string usual_set(const experiment::Experiment& experiment) {
  const experiment::DataSection& data = experiment.config.data;
  if (data.test) return "test";
  return data.validation ? "validation" : "";
}

std::string score_name(const std::string& output, const std::string& score) {
  return output.empty() ? score : output + "_" + score;
}

const std::vector<std::string>& score_names() {
  static const std::vector<std::string> names{"precision", "recall", "f1"};
  return names;
}

std::string judgement_json(const Judged& judged) {
  const Judgement& judgement = judged.judgement;
  Json json{{"checkpoint", judged.checkpoint}, {"on", judgement.on}, {"n", judgement.samples}};
  for (const auto& [name, value] : judgement.values) json[name] = value;
  json["examples_per_second"] = judgement.samples_per_second;
  for (const OutputJudgement& output : judgement.outputs) {
    Json& place = output.name.empty() ? json : json["outputs"][output.name];
    if (output.confusion) place.update(scores_json(output.scores));
    place["worst"] = worst_json(output, judged.samples.get());
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> write_numbers(const Judged& judged, const fs::path& folder) {
  std::error_code ignored;
  for (const OutputJudgement& output : judged.judgement.outputs)  // pictures of other samples than those listed now
    for (const char* const stem : {"worst", "predicted", "residuals"})
      fs::remove(folder / file_of(judged, stem, output.name, ".svg"), ignored);
  std::vector<std::string> written{(folder / file_of(judged, "eval", "", ".json")).string()};
  for (const OutputJudgement& output : judged.judgement.outputs) {
    if (!output.value_answers.empty()) {
      written.push_back((folder / file_of(judged, "predicted", output.name, ".csv")).string());
      train::write_text(written.back(), values_csv(output.value_answers, output.values));
    }
    if (!output.confusion) continue;
    written.push_back((folder / file_of(judged, "confusion", output.name, ".csv")).string());
    train::write_text(written.back(), output.confusion->csv(output.classes));
    if (!output.answers) continue;
    written.push_back((folder / file_of(judged, "answers", output.name, ".csv")).string());
    train::write_text(written.back(), answers_csv(*output.answers, output.classes));
  }
  train::write_text(written.front(), judgement_json(judged) + "\n");
  return written;
}

std::vector<std::string> write_pictures(const Judged& judged, const fs::path& folder) {
  std::vector<std::string> drawn;
  const auto draw = [&](const std::string& kind, const OutputJudgement& output, const picture::Drawing& drawing) {
    drawn.push_back((folder / file_of(judged, kind, output.name, ".svg")).string());
    picture::write(drawn.back(), drawing);
  };
  for (const OutputJudgement& output : judged.judgement.outputs) {
    const std::string title = title_of(judged, output);
    if (output.confusion) {
      draw("confusion", output, draw_confusion(title, *output.confusion, output.classes));
      draw("scores", output, draw_scores(title, output.scores));
    }
    if (const auto values = draw_values(title, value_pairs(output.value_answers, output.values))) {
      draw("predicted", output, values->predicted);
      draw("residuals", output, values->residuals);
    }
    if (!judged.samples) continue;
    if (const auto sheet = worst_sheet(title, output, judged.samples, judged.experiment))
      draw("worst", output, picture::contact_sheet(*sheet));
  }
  return drawn;
}

}  // namespace dptrain::cli
