#include "data/mixing.h"

#include "core/error.h"
#include "core/format.h"
#include "data/batch_writer.h"
#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"

namespace dptrain::data {

void Mixing::apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const { copy_image(in, out); }

void Mixing::mix_samples(const ImageView& own, const ImageView& other, Array& out, const DrawKey& key,
                         std::uint32_t index) const {
  if (!is_clip(own.shape)) return mix(own, other, out, key, index);
  thread_local Array frame;  // reused by the thread
  for (std::int64_t f = 0; f < own.shape[0]; ++f) {
    mix(frame_of(own, f), frame_of(other, f), frame, key, index);
    set_frame(frame, f, own.shape[0], out);
  }
}

std::int64_t Mixing::partner(const DrawKey& key, std::uint32_t index, std::int64_t samples) const {
  RandomStream stream = draws(key, inner_index(index, kPartnerDraw));
  return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(samples)));
}

namespace {

// The functions of BatchWriter for pipelines that mix samples. The transforms up to the mixer apply to a sample and its
// partner, the others to the mixed result. Labels and sample weights are mixed in the same proportions.

/// A partner cannot be read. It is itself a sample of the epoch, and BadSamples records it as such.
class PartnerError : public Error {
 public:
  explicit PartnerError(const SampleError& bad) : Error(ErrorKind::kData, bad.what()) {}
};

/// own = weight * own + (1 - weight) * other.
void blend(float weight, const float* other, std::int64_t width, float* own) {
  for (std::int64_t i = 0; i < width; ++i) own[i] = weight * own[i] + (1 - weight) * other[i];
}

}  // namespace

/// If the partner cannot be read, image and label stay unmixed.
void BatchWriter::fill_mixed(std::int64_t index, std::int64_t epoch, std::int64_t row, Scratch& scratch,
                             Batch::Buffer& buffer) const {
  scratch.mixes.resize(parts_.size());
  const std::size_t last = parts_.size() - 1;
  bool mixed = true;
  try {
    for (std::size_t i = 0; i < buffer.inputs.size(); ++i) {
      const Input& input = inputs_[i];
      if (!input.is_transformed) {
        mix_numbers(input, last, index, epoch, scratch, float_row(buffer, i, row));
        continue;
      }
      Array& image = scratch.mixes[0].mixed;
      mix_input(input, last, index, epoch, scratch, image);
      parts_[last].rest.write(view_of(image), key_of(index, epoch), scratch.pipeline, input.model_shape,
                              float_row(buffer, i, row));
    }
  } catch (const PartnerError&) {
    mixed = false;
    for (std::size_t i = 0; i < buffer.inputs.size(); ++i)
      fill_input(inputs_[i], index, epoch, scratch, float_row(buffer, i, row));
  }
  fill_labels(index, epoch, row, mixed, scratch, buffer);
}

/// The input after `level` mixers, before the transforms that follow the last of them.
void BatchWriter::mix_input(const Input& input, std::size_t level, std::int64_t index, std::int64_t epoch,
                            Scratch& scratch, Array& out) const {
  const DrawKey key = key_of(index, epoch);
  const auto made = [&](std::int64_t sample, Array& result) {
    const DrawKey of = key_of(sample, epoch);
    if (level == 1) {
      const ImageView view = view_sample(input, sample, of, scratch.image);
      parts_[0].rest.run(view, scratch.pipeline, result, of);
      return;
    }
    mix_input(input, level - 1, sample, epoch, scratch, scratch.mixes[level - 1].mixed);
    parts_[level - 1].rest.run(view_of(scratch.mixes[level - 1].mixed), scratch.pipeline, result, of);
  };
  const Pipeline::Part& part = parts_[level];
  const Mixing& mixer = *part.mixer->mixing();
  Scratch::Mix& mix = scratch.mixes[level];
  made(index, mix.own);
  const std::int64_t partner = mixer.partner(key, part.index, source_->size());
  try {
    made(partner, mix.other);
  } catch (const SampleError& bad) {
    throw PartnerError(bad);
  }
  if (mix.own.shape != mix.other.shape)
    throw Error(ErrorKind::kData,
                fmt::format("sample {} is {}, its partner {} is {}; samples that are mixed have one shape", index,
                            mix.own.shape.str(), partner, mix.other.shape.str()));
  mixer.mix_samples(view_of(mix.own), view_of(mix.other), out, key, part.index);
}

void BatchWriter::mix_numbers(const Input& input, std::size_t level, std::int64_t index, std::int64_t epoch,
                              Scratch& scratch, float* out) const {
  if (level == 0) return fill_input(input, index, epoch, scratch, out);
  const Pipeline::Part& part = parts_[level];
  const Mixing& mixer = *part.mixer->mixing();
  const DrawKey key = key_of(index, epoch);
  std::vector<float>& other = scratch.mixes[level].row;
  other.resize(static_cast<std::size_t>(input.elements));
  mix_numbers(input, level - 1, index, epoch, scratch, out);
  mix_numbers(input, level - 1, mixer.partner(key, part.index, source_->size()), epoch, scratch, other.data());
  blend(mixer.weight(key, part.index), other.data(), input.elements, out);
}

void BatchWriter::mix_labels(const LabelWriter& label, std::size_t level, std::int64_t index, std::int64_t epoch,
                             Scratch& scratch, float* out) const {
  if (level == 0) return label.write(index, scratch.row, reinterpret_cast<std::byte*>(out));
  const Pipeline::Part& part = parts_[level];
  const Mixing& mixer = *part.mixer->mixing();
  const DrawKey key = key_of(index, epoch);
  std::vector<float>& other = scratch.mixes[level].row;
  other.resize(static_cast<std::size_t>(label.width()));
  mix_labels(label, level - 1, index, epoch, scratch, out);
  mix_labels(label, level - 1, mixer.partner(key, part.index, source_->size()), epoch, scratch, other.data());
  blend(mixer.weight(key, part.index), other.data(), label.width(), out);
}

void BatchWriter::mix_map(const LabelWriter& label, std::size_t level, std::int64_t index, std::int64_t epoch,
                          Scratch& scratch, Array& out) const {
  const auto made = [&](std::int64_t sample, Array& rows) {
    if (level > 1) return mix_map(label, level - 1, sample, epoch, scratch, rows);
    label.read_map(sample, scratch.image);
    parts_[0].rest.run_on_map(view_of(scratch.image), label.fill(), scratch.pipeline, scratch.map,
                              key_of(sample, epoch));
    label.to_rows(view_of(scratch.map), sample, rows);
  };
  const Pipeline::Part& part = parts_[level];
  const Mixing& mixer = *part.mixer->mixing();
  const DrawKey key = key_of(index, epoch);
  Scratch::Mix& mix = scratch.mixes[level];
  made(index, mix.own);
  made(mixer.partner(key, part.index, source_->size()), mix.other);
  mixer.mix_samples(view_of(mix.own), view_of(mix.other), out, key, part.index);
}

float BatchWriter::mix_weights(std::size_t level, std::int64_t index, std::int64_t epoch) const {
  if (level == 0) return source_->sample_weight(index);
  const Pipeline::Part& part = parts_[level];
  const Mixing& mixer = *part.mixer->mixing();
  const DrawKey key = key_of(index, epoch);
  float own = mix_weights(level - 1, index, epoch);
  const float other = mix_weights(level - 1, mixer.partner(key, part.index, source_->size()), epoch);
  blend(mixer.weight(key, part.index), &other, 1, &own);
  return own;
}

}  // namespace dptrain::data
