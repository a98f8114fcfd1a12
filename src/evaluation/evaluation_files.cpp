#include "evaluation/evaluation_files.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/source.h"
#include "evaluation/evaluation_result.h"
#include "experiment/experiment.h"
#include "experiment/model_side.h"
#include "experiment/run_files.h"
#include "plot/class_results.h"
#include "plot/contact_sheet.h"
#include "plot/file.h"
#include "session/sample_images.h"
#include "train/line_file.h"

namespace dptrain::evaluation {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

plot::ClassBar bar_of(const ClassScore& score) {
  return {.name = score.name,
          .samples = score.support,
          .precision = score.precision,
          .recall = score.recall,
          .f1 = score.f1,
          .iou = score.iou};
}

plot::Drawing draw_confusion(const std::string& title, const Confusion& confusion, const Classes& classes) {
  plot::ConfusionCounts counts{.title = title, .names = {}, .counts = {}};
  for (std::int64_t label = 0; label < classes.count(); ++label) {
    counts.names.push_back(classes.name(label));
    for (std::int64_t predicted = 0; predicted < classes.count(); ++predicted)
      counts.counts.push_back(confusion.count(label, predicted));
  }
  return plot::confusion_matrix(counts);
}

plot::Drawing draw_scores(const std::string& title, const std::vector<ClassScore>& scores) {
  std::vector<plot::ClassBar> bars;
  for (const ClassScore& score : scores) bars.push_back(bar_of(score));
  return plot::class_bars(title, bars, bar_of(macro_average(scores)));
}

struct ValuePictures {
  plot::Drawing predicted, residuals;
};
/// One panel for each value; nothing if no value is_drawable().
std::optional<ValuePictures> draw_values(const std::string& title, const std::vector<plot::ValuePairs>& values) {
  plot::Chart predicted{.title = title}, residuals{.title = title};
  for (const plot::ValuePairs& pairs : values) {
    if (!plot::is_drawable(pairs)) continue;
    predicted.panels.push_back(plot::predicted_panel(pairs));
    residuals.panels.push_back(plot::residuals_panel(pairs));
  }
  if (predicted.panels.empty()) return std::nullopt;
  return ValuePictures{plot::draw(predicted), plot::draw(residuals)};
}

/// The captions: label and answer of a single class, else the error, or the number of wrong positions or pixels.
plot::SheetRow captions(const OutputResult& output, const WorstSample& sample) {
  plot::SheetRow row{};
  if (!output.confusion) {
    row.label = fmt::format("error {:.4g}", sample.loss);
  } else if (output.classes.map().rank() > 0) {
    row.label = fmt::format("loss {:.4g}, {:.1f} % of {} pixels wrong", sample.loss,
                            100.0 * static_cast<double>(sample.wrong) / static_cast<double>(sample.positions),
                            with_commas(sample.positions));
  } else if (!output.classes.one_per_sample()) {
    row.label = fmt::format("{} of {} wrong", with_commas(sample.wrong), with_commas(sample.positions));
  } else {
    row.label = output.classes.name(sample.label);
    row.answer = output.classes.name(sample.answer);
    row.answer_value = fmt::format("{:.2f}", sample.probability);
    row.answer_ink = sample.answer == sample.label ? plot::Ink::kRight : plot::Ink::kWrong;
  }
  return row;
}

std::string file_or_number(const data::Source& source, std::int64_t index) {
  return holds_files(source) ? fs::path(source.label_place(index)).filename().string() : fmt::format("#{}", index);
}

/// Adds label and answer to each row, as colors over the picture in gray, and the legend.
void add_maps(const OutputResult& output, plot::Sheet& sheet) {
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < output.classes.count(); ++c) names.push_back(output.classes.name(c));
  const std::vector<std::optional<plot::Rgb>> colors = session::class_colors(names);
  std::vector<const plot::ClassMap*> drawn;
  for (std::size_t i = 0; i < sheet.rows.size(); ++i) {
    const SampleMaps& maps = output.worst_maps.at(output.worst[i].index);
    const plot::RgbImage picture = plot::gray(*sheet.rows[i].images.front());
    for (const plot::ClassMap* const map : {&maps.label, &maps.answer}) {
      sheet.rows[i].images.push_back(std::make_shared<plot::RgbImage>(plot::overlaid(picture, *map, colors)));
      drawn.push_back(map);
    }
  }
  sheet.columns = {"picture", "label", "answer"};
  sheet.min_image = SampleMaps::kMaxPixels;
  sheet.legend = session::legend_of(drawn, names);
}

/// One row for each sample in order; clips show frames side by side, maps the picture, the label and the answer. Images
/// pass the eval transforms and are small. Nothing if the model takes no images or a sample cannot be read.
std::optional<plot::Sheet> worst_sheet(const std::string& title, const OutputResult& output,
                                       const std::shared_ptr<const data::Source>& samples,
                                       const experiment::Experiment& experiment) {
  const bool has_maps = !output.worst_maps.empty();
  const std::int64_t max_frames = has_maps ? 1 : 4, max_pixels = has_maps ? SampleMaps::kMaxPixels : 160;
  const data::ModelSide model = experiment::model_side(experiment);
  const std::optional<std::size_t> input = session::picture_input(model);
  if (!input || output.worst.empty()) return std::nullopt;
  const Shape& shape = model.input_shapes[*input];
  std::vector<std::vector<float>> all;
  try {
    session::SampleReader reader(samples, experiment, model, *input, true);
    for (const WorstSample& sample : output.worst) all.push_back(reader.read(sample.index, 0));
  } catch (const std::exception& unreadable) {
    log::warn(fmt::format("cannot draw the worst samples: {}", unreadable.what()));
    return std::nullopt;
  }
  const session::Shades shades = session::shades_of(all);
  const std::vector<std::int64_t> frames = session::shown_frames(shape, max_frames);
  plot::Sheet sheet{.title = title + ": the worst samples",
                    .note = !output.confusion                 ? "the largest mean absolute error first"
                            : output.classes.one_per_sample() ? "the largest loss first; label, answer, probability"
                                                              : "the largest loss first",
                    .columns = {},
                    .rows = {}};
  for (std::size_t i = 0; frames.size() > 1 && i < frames.size(); ++i)
    sheet.columns.push_back(fmt::format("frame {}", frames[i] + 1));
  for (std::size_t i = 0; i < all.size(); ++i) {
    plot::SheetRow row = captions(output, output.worst[i]);
    row.note = file_or_number(*samples, output.worst[i].index);
    for (const auto& image : session::images_of(all[i], shape, frames, shades))
      row.images.push_back(std::make_shared<plot::RgbImage>(plot::shrunk(*image, max_pixels)));
    sheet.rows.push_back(std::move(row));
  }
  if (has_maps) add_maps(output, sheet);
  return sheet;
}

std::string file_of(const EvaluatedModel& evaluated, const std::string& stem, const std::string& output,
                    const std::string& suffix) {
  const std::string& on = evaluated.evaluation_result.on;
  return experiment::evaluation_file(stem, output, on == default_set(evaluated.experiment) ? "" : on, suffix);
}

/// A number for one value, a list for several.
Json numbers(std::span<const float> values) {
  if (values.size() == 1) return values.front();
  return std::vector<float>(values.begin(), values.end());
}

/// The cells of a table row or the lines of a text, truncated to a readable length.
Json lines_of(const data::Source& source, std::int64_t index) {
  constexpr std::size_t kMaxLines = 12, kMaxLetters = 300;
  Json lines = Json::array();
  for (std::string& line : source.cell_lines(index)) {
    if (lines.size() == kMaxLines) {
      lines.push_back("...");
      break;
    }
    std::size_t letters = std::min(line.size(), kMaxLetters);
    while (letters > 0 && letters < line.size() && (static_cast<unsigned char>(line[letters]) & 0xC0U) == 0x80U)
      --letters;
    if (letters < line.size()) line = line.substr(0, letters) + " ...";
    lines.push_back(std::move(line));
  }
  return lines;
}

Json worst_json(const OutputResult& output, const data::Source* source) {
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

std::string title_of(const EvaluatedModel& evaluated, const OutputResult& output) {
  return fmt::format("{}{} on {}", evaluated.experiment.config.name, output.name.empty() ? "" : ", " + output.name,
                     evaluated.evaluation_result.on);
}

}  // namespace

std::string default_set(const experiment::Experiment& experiment) {
  const experiment::DataSection& data = experiment.config.data;
  if (data.test) return "test";
  return data.validation ? "validation" : "";
}

std::string score_name(const std::string& output, const std::string& score) {
  return output.empty() ? score : output + "_" + score;
}

std::string class_score_name(const std::string& output, const std::string& score, const std::string& name) {
  return fmt::format("{}{}{} of {}", output, output.empty() ? "" : ": ", score, name);
}

std::string evaluation_json(const EvaluatedModel& evaluated) {
  const EvaluationResult& evaluation_result = evaluated.evaluation_result;
  Json json{{"checkpoint", evaluated.checkpoint}, {"on", evaluation_result.on}, {"n", evaluation_result.samples}};
  for (const auto& [name, value] : evaluation_result.values) json[name] = value;
  json["examples_per_second"] = evaluation_result.samples_per_second;
  for (const OutputResult& output : evaluation_result.outputs) {
    Json& place = output.name.empty() ? json : json["outputs"][output.name];
    if (output.confusion) place.update(scores_json(output.scores));
    if (const Shape map = output.classes.map(); map.rank() > 0) place["map"] = {map[0], map[1]};
    place["worst"] = worst_json(output, evaluated.samples.get());
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> write_numbers(const EvaluatedModel& evaluated, const fs::path& folder) {
  std::error_code ignored;
  for (const OutputResult& output :
       evaluated.evaluation_result.outputs)  // remove stale pictures of an earlier evaluation
    for (const char* const stem : {"worst", "predicted", "residuals"})
      fs::remove(folder / file_of(evaluated, stem, output.name, ".svg"), ignored);
  std::vector<std::string> written{(folder / file_of(evaluated, "eval", "", ".json")).string()};
  for (const OutputResult& output : evaluated.evaluation_result.outputs) {
    if (!output.value_answers.empty()) {
      written.push_back((folder / file_of(evaluated, "predicted", output.name, ".csv")).string());
      train::write_text(written.back(), values_csv(output.value_answers, output.values));
    }
    if (!output.confusion) continue;
    written.push_back((folder / file_of(evaluated, "confusion", output.name, ".csv")).string());
    train::write_text(written.back(), output.confusion->csv(output.classes));
    if (!output.answers) continue;
    written.push_back((folder / file_of(evaluated, "answers", output.name, ".csv")).string());
    train::write_text(written.back(), answers_csv(*output.answers, output.classes));
  }
  train::write_text(written.front(), evaluation_json(evaluated) + "\n");
  return written;
}

std::vector<std::string> write_pictures(const EvaluatedModel& evaluated, const fs::path& folder) {
  std::vector<std::string> drawn;
  const auto draw = [&](const std::string& kind, const OutputResult& output, const plot::Drawing& drawing) {
    drawn.push_back((folder / file_of(evaluated, kind, output.name, ".svg")).string());
    plot::write(drawn.back(), drawing);
  };
  for (const OutputResult& output : evaluated.evaluation_result.outputs) {
    const std::string title = title_of(evaluated, output);
    if (output.confusion) {
      draw("confusion", output, draw_confusion(title, *output.confusion, output.classes));
      draw("scores", output, draw_scores(title, output.scores));
    }
    if (const auto values = draw_values(title, value_pairs(output.value_answers, output.values))) {
      draw("predicted", output, values->predicted);
      draw("residuals", output, values->residuals);
    }
    if (!evaluated.samples) continue;
    if (const auto sheet = worst_sheet(title, output, evaluated.samples, evaluated.experiment))
      draw("worst", output, plot::contact_sheet(*sheet));
  }
  return drawn;
}

}  // namespace dptrain::evaluation
