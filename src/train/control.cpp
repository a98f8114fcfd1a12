#include "train/control.h"

#include <algorithm>
#include <filesystem>

#include "core/format.h"
#include "core/log.h"
#include "distributed/processes.h"
#include "experiment/model_side.h"
#include "runtime/arenas.h"
#include "runtime/replica_set.h"
#include "session/session.h"

namespace dptrain::train {

bool Control::has_checkpoint(const std::string& name) {
  std::error_code ignored;
  const bool mine = std::filesystem::exists(run_.directory.checkpoint(name), ignored);
  distributed::Processes* const processes = run_.session.processes();
  return processes == nullptr ? mine : processes->broadcast(mine ? "yes" : "no") == "yes";
}

std::vector<NamedValues> Control::gradients() {
  runtime::ReplicaSet& replicas = run_.session.replicas();
  std::vector<float> arena;
  double scale = 1;  // loss scale of mixed_float16
  replicas.on_each([&](int local_rank, runtime::Replica& replica) {
    if (local_rank == 0) arena = replica.arenas().pull_gradients();
  });
  if (run_.session.plan().compute == DType::kF16)
    if (const auto loss_scale = replicas.pull_loss_scale()) scale = loss_scale->scale;
  std::vector<NamedValues> all;
  for (const plan::Parameter& parameter : run_.session.plan().parameters) {
    if (!plan::is_trained(parameter.kind)) continue;
    const auto first = arena.begin() + parameter.offset;
    all.push_back({parameter.path, {first, first + parameter.elements()}});
    if (scale != 1)
      for (float& value : all.back().values) value = static_cast<float>(value / scale);
  }
  return all;
}

std::optional<plot::RgbImage> Control::sample_sheet(std::int64_t samples, std::int64_t epoch) {
  constexpr std::int64_t kColumns = 8, kMaxPixels = 128, kSmall = 64, kGap = 4, kMaxFrames = 8;
  const experiment::Experiment& experiment = run_.session.experiment();
  const data::ModelSide model = experiment::input_side(experiment.graph);
  const std::optional<std::size_t> input = session::picture_input(model);
  const std::shared_ptr<const data::Source> source = run_.session.source("train");
  if (!input || !source) return std::nullopt;
  std::vector<std::vector<float>> values;
  try {
    if (!samples_) samples_ = std::make_unique<session::SampleReader>(source, experiment, model, *input, false);
    samples = std::min(samples, source->size());
    for (std::int64_t i = 0; i < samples; ++i) values.push_back(samples_->read(i * source->size() / samples, epoch));
  } catch (const std::exception& unreadable) {
    log::warn(fmt::format("cannot draw samples: {}", unreadable.what()));
    return std::nullopt;
  }
  const Shape& shape = model.input_shapes[*input];
  const session::Shades shades = session::shades_of(values);
  const std::vector<std::int64_t> frames = session::shown_frames(shape, kMaxFrames);
  std::vector<plot::RgbImage> images;
  for (const std::vector<float>& sample : values)
    for (const auto& image : session::images_of(sample, shape, frames, shades)) {
      const plot::RgbImage shown = plot::shrunk(*image, kMaxPixels);
      images.push_back(plot::enlarged(shown, std::max<std::int64_t>(1, kSmall / std::max(shown.height, shown.width))));
    }
  return plot::tiled(images, frames.size() > 1 ? static_cast<std::int64_t>(frames.size()) : kColumns, kGap);
}

}  // namespace dptrain::train
