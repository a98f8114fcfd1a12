#include <algorithm>

#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"
#include "data/mixing.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {

config::Family& transform_family() {
  static config::Family family("transform");
  return family;
}

std::unique_ptr<Transform> make_transform(const config::Typed& spec) {
  return static_cast<const TransformDef&>(spec.def()).make(spec.spec());
}

bool expect_pixels(const std::vector<config::Typed>& transforms) {
  return std::ranges::any_of(transforms,
                             [](const config::Typed& spec) { return make_transform(spec)->expects_pixels(); });
}

void Transform::write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array& spare,
                      float* out) const {
  apply(in, spare, key, index);
  finish_image(view_of(spare), finish, out);
}

void Transform::apply_to_map(const ImageView&, float, Array&, const DrawKey&, std::uint32_t) const {
  throw Error(ErrorKind::kInternal, "the transform does not move pixels");
}

Error Pipeline::Step::error(ErrorKind kind, const std::string& message) const {
  return config::error_at(kind, mark, name + ": " + message);
}

Pipeline::Pipeline(const std::vector<config::Typed>& transforms, bool evaluation) : training_(!evaluation) {
  for (const config::Typed& spec : transforms) {
    Step step{.transform = make_transform(spec),
              .mark = spec.mark(),
              .name = spec.name(),
              .text = config::to_yaml(spec.write()),
              .index = 0,
              .folds = false};
    step.index = static_cast<std::uint32_t>(steps_.size());
    step.folds = step.transform->channel_map() || step.transform->mirror({}, 0);
    if (evaluation && step.transform->random())
      throw step.error(ErrorKind::kUsage,
                       "random transforms cannot be used in evaluation; write transforms as {train: [...], eval: "
                       "[...]} and leave it out of eval");
    if (!steps_.empty() && step.transform->hint().min_height > 0)
      throw step.error(ErrorKind::kUsage,
                       "scaled_decode changes how images are read and works in the first transform only, found in "
                       "number " +
                           std::to_string(steps_.size() + 1));
    steps_.push_back(std::move(step));
  }
}

Shape Pipeline::output(const Shape& input) const {
  if (is_clip(input)) {
    const Shape frame = output(frame_shape(input));
    return frame.rank() == 3 ? Shape{input[0], frame[0], frame[1], frame[2]} : Shape();
  }
  Shape shape = input;
  for (const Step& step : steps_) {
    try {
      shape = step.transform->output(shape);
    } catch (const Error& error) {
      throw step.error(error.kind(), error.message());
    }
  }
  return shape;
}

std::size_t Pipeline::unfolded() const {
  std::size_t count = steps_.size();
  while (count > 0 && steps_[count - 1].folds) --count;
  return count;
}

void Pipeline::write(const ImageView& in, const DrawKey& key, Scratch& scratch, const Shape& expected,
                     float* out) const {
  if (const Shape made = output(in.shape); made != expected) {
    const int rank = expected.rank();
    const bool size = made.rank() == expected.rank() && rank >= 3 && made.back() == expected.back() &&
                      (!is_clip(expected) || made[0] == expected[0]);
    throw Error(
        ErrorKind::kData,
        fmt::format(
            "sample {} is {} after the transforms, the model expects {}{}", key.sample, made.str(), expected.str(),
            size ? fmt::format("; `Resizing: {{height: {}, width: {}}}` in data.transforms makes all of one size",
                               expected[rank - 3], expected[rank - 2])
                 : ""));
  }
  if (!is_clip(in.shape)) return write_image(in, key, scratch, out);
  for (std::int64_t f = 0; f < in.shape[0]; ++f)
    write_image(frame_of(in, f), key, scratch, out + f * (expected.elements() / expected[0]));
}

/// Combines the transforms from index `count` on, which only map channels or mirror.
Finish Pipeline::finish_after(std::size_t count, const DrawKey& key) const {
  Finish finish;
  for (std::size_t i = count; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (const auto mirror = step.transform->mirror(key, step.index)) {
      finish.mirror.x ^= mirror->x;
      finish.mirror.y ^= mirror->y;
    } else {
      finish.map = *step.transform->channel_map() * finish.map;
    }
  }
  return finish;
}

void Pipeline::write_image(const ImageView& in, const DrawKey& key, Scratch& scratch, float* out) const {
  const std::size_t count = unfolded();
  const Finish finish = finish_after(count, key);
  ImageView view = in;
  Array *next = &scratch.even, *other = &scratch.odd;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    steps_[i].transform->apply(view, *next, key, steps_[i].index);
    view = view_of(*next);
    std::swap(next, other);
  }
  if (count == 0) {
    finish_image(view, finish, out);
  } else {
    steps_[count - 1].transform->write(view, key, steps_[count - 1].index, finish, *next, out);
  }
}

void Pipeline::apply(Array& image, Array& spare, const DrawKey& key) const {
  Scratch scratch;
  const Shape made = output(image.shape);
  spare.f32.resize(static_cast<std::size_t>(made.elements()));
  write(view_of(image), key, scratch, made, spare.f32.data());
  image.f32.swap(spare.f32);
  image.shape = made;
  image.type = DType::kF32;
}

void Pipeline::run(Array& image, Array& spare, const DrawKey& key) const {
  if (is_clip(image.shape)) {
    Scratch scratch;
    run(view_of(image), scratch, spare, key);
    return std::swap(image, spare);
  }
  for (const Step& step : steps_) {
    step.transform->apply(view_of(image), spare, key, step.index);
    std::swap(image, spare);
  }
}

void Pipeline::run(const ImageView& in, Scratch& scratch, Array& out, const DrawKey& key) const {
  if (steps_.empty()) return copy_image(in, out);
  if (!is_clip(in.shape)) return run_image(in, scratch, out, key);
  for (std::int64_t f = 0; f < in.shape[0]; ++f) {
    run_image(frame_of(in, f), scratch, scratch.frame, key);
    set_frame(scratch.frame, f, in.shape[0], out);
  }
}

void Pipeline::run_image(const ImageView& in, Scratch& scratch, Array& out, const DrawKey& key) const {
  ImageView view = in;
  Array *next = &scratch.even, *other = &scratch.odd;
  for (const Step& step : steps_) {
    const bool last = &step == &steps_.back();
    step.transform->apply(view, last ? out : *next, key, step.index);
    if (last) return;
    view = view_of(*next);
    std::swap(next, other);
  }
}

void Pipeline::run_on_map(const ImageView& in, float fill, Scratch& scratch, Array& out, const DrawKey& key) const {
  ImageView view = in;
  if (in.type == DType::kU8 && !(fill >= 0 && fill <= 255)) {
    copy_floats(in, scratch.frame);
    view = view_of(scratch.frame);
  }
  Array *next = &scratch.even, *other = &scratch.odd;
  for (const Step& step : steps_) {
    if (!step.transform->moves_pixels()) continue;
    step.transform->apply_to_map(view, fill, *next, key, step.index);
    view = view_of(*next);
    std::swap(next, other);
  }
  copy_image(view, out);
}

std::array<double, 4> Pipeline::covered(const Shape& image) const {
  std::array<double, 4> all{0, 0, 1, 1};  // of the image, per step a part of it
  Shape shape = image;
  for (const Step& step : steps_) {
    const Window window = step.transform->window(shape);
    const auto height = static_cast<double>(shape[0]), width = static_cast<double>(shape[1]);
    all = {all[0] + all[2] * static_cast<double>(window.top) / height,
           all[1] + all[3] * static_cast<double>(window.left) / width,
           all[2] * static_cast<double>(window.height) / height, all[3] * static_cast<double>(window.width) / width};
    shape = step.transform->output(shape);
  }
  return all;
}

std::vector<Pipeline::Part> Pipeline::parts() const {
  std::vector<Part> parts(1);
  for (const Step& step : steps_) {
    if (step.transform->mixing() != nullptr) {
      parts.push_back({.mixer = step.transform, .index = step.index, .rest = {}});
    } else {
      parts.back().rest.steps_.push_back(step);
    }
  }
  return parts;
}

bool Pipeline::mixes() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.transform->mixing() != nullptr; });
}

void Pipeline::check_mixing(bool sizes_differ) const {
  for (const Step& step : steps_) {
    if (sizes_differ && step.transform->mixing() != nullptr)
      throw step.error(ErrorKind::kUsage,
                       "samples of several sizes cannot be mixed; put `Resizing: {height: .., width: ..}` before it");
    if (step.transform->fixes_size()) return;
  }
}

void Pipeline::check_maps() const {
  std::string mixer;
  for (const Step& step : steps_) {
    if (step.transform->mixing() != nullptr) mixer = step.name;
    if (!mixer.empty() && step.transform->moves_pixels())
      throw step.error(ErrorKind::kUsage, fmt::format("label maps cannot follow it after {}; put it before", mixer));
  }
}

bool Pipeline::moves_pixels() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.transform->moves_pixels(); });
}

void Pipeline::check_fixed_labels(const std::string& output) const {
  for (const Step& step : steps_)
    if (step.transform->moves_pixels())
      throw step.error(
          ErrorKind::kUsage,
          fmt::format("moves the pixels of inputs but not the labels of output '{}', which have a value for each "
                      "position; remove it, or store a class for each pixel of the input: [height, width]",
                      output));
}

bool Pipeline::random() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.transform->random(); });
}

std::optional<ChannelMap> Pipeline::only_map() const {
  ChannelMap all;
  for (const Step& step : steps_) {
    const auto map = step.transform->channel_map();
    if (!map) return std::nullopt;
    all = *map * all;
  }
  return all;
}

ReadHint Pipeline::hint() const { return steps_.empty() ? ReadHint{} : steps_.front().transform->hint(); }

Window Pipeline::part(const Shape& image, const DrawKey& key) const {
  if (steps_.empty()) return {0, 0, image[0], image[1]};
  return steps_.front().transform->part(image, key, steps_.front().index);
}

bool Pipeline::fixes_size() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.transform->fixes_size(); });
}

std::pair<Pipeline, Pipeline> Pipeline::split() const {
  auto cut = std::find_if(steps_.begin(), steps_.end(), [](const Step& step) { return step.transform->random(); });
  while (cut != steps_.begin() && std::prev(cut)->transform->channel_map()) --cut;
  std::pair<Pipeline, Pipeline> parts;
  parts.first.steps_.assign(steps_.begin(), cut);
  parts.second.steps_.assign(cut, steps_.end());
  parts.second.training_ = training_;
  return parts;
}

std::string Pipeline::text() const {
  std::string text;
  for (const Step& step : steps_) text += step.text + "\n";
  return text;
}

}  // namespace dptrain::data
