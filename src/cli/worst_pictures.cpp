#include "cli/worst_pictures.h"

#include <filesystem>

#include "cli/data_sets.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "session/sample_images.h"

namespace dptrain::cli {
namespace {

/// The captions: label and answer of one class, else how wrong the model is.
picture::SheetRow captions(const OutputJudgement& output, const WorstSample& sample) {
  picture::SheetRow row{};
  if (!output.confusion) {
    row.label = fmt::format("error {:.4g}", sample.loss);
  } else if (!output.classes.one_per_sample()) {
    row.label = fmt::format("{} of {} wrong", with_commas(sample.wrong), with_commas(sample.positions));
  } else {
    row.label = output.classes.name(sample.label);
    row.answer = output.classes.name(sample.answer);
    row.answer_value = fmt::format("{:.2f}", sample.probability);
    row.answer_ink = sample.answer == sample.label ? picture::Ink::kRight : picture::Ink::kWrong;
  }
  return row;
}

std::string file_or_number(const data::Source& source, std::int64_t index) {
  return holds_files(source) ? std::filesystem::path(source.label_place(index)).filename().string()
                             : fmt::format("#{}", index);
}

}  // namespace

std::optional<picture::Sheet> worst_sheet(const std::string& title, const OutputJudgement& output,
                                          const std::shared_ptr<const data::Source>& samples,
                                          const experiment::Experiment& experiment) {
  constexpr std::int64_t kMostFrames = 4, kMostPixels = 160;
  const data::ModelSide model = model_side(experiment);
  const std::optional<std::size_t> input = session::picture_input(model);
  if (!input || output.worst.empty()) return std::nullopt;
  const Shape& shape = model.input_shapes[*input];
  std::vector<std::vector<float>> all;
  try {
    session::SampleReader reader(samples, experiment, model, *input, true);
    for (const WorstSample& sample : output.worst) all.push_back(reader.read(sample.index, 0));
  } catch (const std::exception& unreadable) {
    log::warn(fmt::format("the worst samples are not drawn: {}", unreadable.what()));
    return std::nullopt;
  }
  const session::Shades shades = session::shades_of(all);
  const std::vector<std::int64_t> frames = session::shown_frames(shape, kMostFrames);
  picture::Sheet sheet{.title = title + ": the worst samples",
                       .note = !output.confusion                 ? "the largest mean absolute error first"
                               : output.classes.one_per_sample() ? "the largest loss first; label, answer, probability"
                                                                 : "the largest loss first",
                       .columns = {},
                       .rows = {}};
  for (std::size_t i = 0; frames.size() > 1 && i < frames.size(); ++i)
    sheet.columns.push_back(fmt::format("frame {}", frames[i] + 1));
  for (std::size_t i = 0; i < all.size(); ++i) {
    picture::SheetRow row = captions(output, output.worst[i]);
    row.note = file_or_number(*samples, output.worst[i].index);
    for (const auto& image : session::images_of(all[i], shape, frames, shades))
      row.images.push_back(std::make_shared<picture::RgbImage>(picture::shrunk(*image, kMostPixels)));
    sheet.rows.push_back(std::move(row));
  }
  return sheet;
}

}  // namespace dptrain::cli
