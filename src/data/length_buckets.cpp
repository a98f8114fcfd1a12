#include "data/length_buckets.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/format.h"
#include "core/random.h"
#include "data/batch_writer.h"

namespace dptrain::data {
namespace {

/// An input of the source, [steps, ...], and the value that steps are padded with.
struct StepsInput {
  int from = 0;
  bool ids = false;
  std::int64_t steps = 0, width = 0;
  float padding = 0;
};

std::vector<StepsInput> inputs_of_steps(const Source& source, const ModelSide& model) {
  std::vector<StepsInput> inputs;
  for (std::size_t i = 0; i < model.input_shapes.size(); ++i) {
    const bool ids = model.input_type(i) == DType::kI32;
    if (!model.has_lengths(i)) continue;
    const int from = source_input(source, model, i);
    const Shape shape = source.input_shape(from);
    if (shape.rank() == 0) continue;
    if (ids && !source.can_read_exact(from, DType::kI32)) continue;  // the loader reports the error
    inputs.push_back(
        {from, ids, shape[0], shape.elements() / shape[0], static_cast<float>(model.padding(i).value_or(0))});
  }
  return inputs;
}

template <class T>
std::int32_t length_of(const T* values, const StepsInput& input, T padding) {
  const auto is_padding = [&](std::int64_t step) {
    const T* const first = values + step * input.width;
    return std::all_of(first, first + input.width, [&](T value) { return value == padding; });
  };
  std::int64_t begin = 0, end = input.steps;
  while (end > 0 && is_padding(end - 1)) --end;
  while (begin < end && is_padding(begin)) ++begin;
  return static_cast<std::int32_t>(end - begin);
}

/// Buffers for one sample.
struct LengthScratch {
  std::vector<std::int32_t> ids;
  Array values;
};

std::int32_t length_in(const Source& source, const StepsInput& input, std::int64_t index, LengthScratch& scratch) {
  if (input.ids) {
    scratch.ids.resize(static_cast<std::size_t>(input.steps * input.width));
    source.read_exact(index, input.from, DType::kI32, scratch.ids.data());
    return length_of<std::int32_t>(scratch.ids.data(), input, 0);
  }
  source.read(index, input.from, scratch.values);
  if (scratch.values.type == DType::kF32) return length_of<float>(scratch.values.f32.data(), input, input.padding);
  scratch.values.f32.assign(scratch.values.u8.begin(), scratch.values.u8.end());
  return length_of<float>(scratch.values.f32.data(), input, input.padding);
}

/// Fisher-Yates shuffle from the front.
template <class T>
void shuffle_span(std::span<T> all, RandomStream& random) {
  for (std::size_t i = 0; i + 1 < all.size(); ++i) std::swap(all[i], all[i + random.below(all.size() - i)]);
}

/// Cuts sorted samples into batches and shuffles these. A short batch is cut at a random position and is last.
void draw_batches(std::span<std::int64_t> samples, std::size_t batch, RandomStream& random) {
  const std::size_t full = samples.size() / batch, rest = samples.size() % batch;
  const std::size_t of_rest = rest > 0 ? random.below(full + 1) : full;
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < full; ++i) begins.push_back(i * batch + (i < of_rest ? 0 : rest));
  shuffle_span(std::span(begins), random);
  const std::vector<std::int64_t> sorted(samples.begin(), samples.end());
  std::size_t to = 0;
  const auto put = [&](std::size_t begin, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) samples[to++] = sorted[begin + i];
  };
  for (const std::size_t begin : begins) put(begin, batch);
  put(of_rest * batch, rest);
}

}  // namespace

std::vector<std::int32_t> sample_lengths(const Source& source, const ModelSide& model) {
  if (source.bad_samples() || source.draws())
    throw Error(ErrorKind::kUsage,
                "bucket_by_length: the lengths of all samples are read before training, and this data set decodes "
                "files for each; use IDX, Numpy, HDF5Dataset or another data set of arrays");
  const std::vector<StepsInput> inputs = inputs_of_steps(source, model);
  if (inputs.empty()) throw Error(ErrorKind::kUsage, kNoLengths);
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(source.size()), 0);
  LengthScratch scratch;
  for (std::int64_t index = 0; index < source.size(); ++index)
    for (const StepsInput& input : inputs) {
      std::int32_t& longest = lengths[static_cast<std::size_t>(index)];
      longest = std::max(longest, length_in(source, input, index, scratch));
    }
  return lengths;
}

std::vector<std::int64_t> bucket_order(std::vector<std::int64_t> order, const LengthBuckets& buckets,
                                       std::int64_t batch_size, std::uint64_t seed, std::int64_t epoch) {
  const auto samples = static_cast<std::int64_t>(order.size());
  const std::int64_t batches = (samples + batch_size - 1) / batch_size;
  const std::int64_t window = std::min(buckets.window, batches) * batch_size;
  constexpr std::uint32_t kOfBatches = 1;  // a stream other than that of the order
  RandomStream random(seed, static_cast<std::uint32_t>(Purpose::kShuffle), static_cast<std::uint64_t>(epoch),
                      kOfBatches);
  const std::vector<std::int32_t>& lengths = *buckets.lengths;
  for (std::int64_t first = 0; first < samples; first += window) {
    const std::span part = std::span(order).subspan(static_cast<std::size_t>(first),
                                                    static_cast<std::size_t>(std::min(window, samples - first)));
    std::ranges::stable_sort(part, {}, [&](std::int64_t sample) { return lengths[static_cast<std::size_t>(sample)]; });
    draw_batches(part, static_cast<std::size_t>(batch_size), random);
  }
  return order;
}

}  // namespace dptrain::data
