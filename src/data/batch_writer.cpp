#include "data/batch_writer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "core/trace.h"
#include "kernels/cpu/pixels.h"

namespace dptrain::data {

int source_input(const Source& source, const ModelSide& model, std::size_t which) {
  std::vector<std::string> names;
  for (int i = 0; i < source.inputs(); ++i) names.push_back(source.input_name(i));
  if (names.size() == 1 && names[0].empty() && model.input_shapes.size() == 1) return 0;
  const std::string& expected = model.input_names[which];
  const auto found = std::find(names.begin(), names.end(), expected);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  if (names.size() == 1 && names[0].empty())
    throw Error(
        ErrorKind::kData,
        fmt::format(
            "the model has the inputs {}, but the data set has one without a name; write inputs as {{name: file}}",
            join(model.input_names, ", ")));
  throw Error(ErrorKind::kData, fmt::format("the data set has no input '{}', which the model expects; it has {}{}",
                                            expected, join(names, ", "), did_you_mean(expected, names)));
}

namespace {

/// Appends an axis of size 1 if the model has it: [28, 28] becomes [28, 28, 1] for [.., .., 1].
Shape with_channel(const Shape& sample, const Shape& expected) {
  if (sample.rank() == 0 || sample.rank() + 1 != expected.rank() || expected.back() != 1) return sample;
  std::vector<std::int64_t> dims = sample.dims();
  dims.push_back(1);
  return Shape(std::move(dims));
}

/// The shape of an image after a quarter turn.
Shape turned(const Shape& shape) {
  std::vector<std::int64_t> dims = shape.dims();
  std::swap(dims[dims.size() - 3], dims[dims.size() - 2]);
  return Shape(std::move(dims));
}

}  // namespace

const Pipeline BatchWriter::kNoTransforms;

BatchWriter::BatchWriter(std::shared_ptr<const Source> source, Pipeline pipeline, const ModelSide& model,
                         std::vector<LabelForm> labels, std::uint64_t seed, BatchForm form)
    : source_(std::move(source)),
      pipeline_(std::move(pipeline)),
      only_map_(pipeline_.only_map()),
      seed_(seed),
      form_(form) {
  if (source_->inputs() > static_cast<int>(model.input_shapes.size()))
    throw Error(ErrorKind::kData, fmt::format("the data set has {} inputs, but the model has {}", source_->inputs(),
                                              model.input_shapes.size()));
  for (std::size_t i = 0; i < model.input_shapes.size(); ++i) inputs_.push_back(match(model, i));
  if (form_ == BatchForm::kRows) source_rows_ = rows_in_memory();
  if (pipeline_.mixes()) parts_ = pipeline_.parts();
  for (LabelForm& label : labels) {
    if (!parts_.empty() && label.kind == nn::LabelKind::kClass)
      throw Error(ErrorKind::kInternal, "mixed samples need labels as rows, found classes");
    const Shape map = label.map;
    const std::string output = label.output;
    const bool ignores = label.ignored.has_value();
    labels_.emplace_back(source_, std::move(label)).check_all();
    if (labels_.back().is_map())
      pipeline_.check_maps();
    else if (map.rank() == 2)
      pipeline_.check_fixed_labels(output);
    if (!parts_.empty() && ignores && !labels_.back().is_map())
      throw Error(ErrorKind::kUsage,
                  fmt::format("the labels of output '{}' have an ignored class and cannot be mixed; remove MixUp and "
                              "CutMix, or store a class for each pixel of the input: [height, width]",
                              output));
  }
}

BatchWriter::Input BatchWriter::match(const ModelSide& model, std::size_t which) const {
  Input input;
  input.from = source_input(*source_, model, which);
  input.model_shape = model.input_shapes[which];
  input.elements = input.model_shape.elements();
  input.type = model.input_type(which);
  input.id_limit = model.id_limit(which);
  if (input.type != DType::kF32) return match_exact(input, model.input_names[which]), input;
  input.is_transformed = pipeline_.empty() || model.is_transformed(which);
  const Pipeline& pipeline = pipeline_of(input);
  const Shape found = source_->input_shape(input.from);
  input.sample = with_channel(found, input.model_shape);
  pipeline.check_mixing(!source_->has_one_shape(input.from));
  const Shape made = pipeline.output(input.sample);
  if (made.rank() > 0 && made != input.model_shape) {
    const std::string name = source_->input_name(input.from);
    const bool rows = made.rank() == 1 && input.model_shape.rank() == 1;  // a table: its columns determine the width
    throw Error(
        ErrorKind::kData,
        fmt::format("samples{} are {}{}, the model expects {}{}", name.empty() ? "" : " of " + name, found.str(),
                    made == input.sample ? "" : ", after the transforms " + made.str(), input.model_shape.str(),
                    rows ? fmt::format("; write `Input: {{shape: [{}]}}`", made[0]) : ""));
  }
  if (found.rank() == 0) check_sizes(input);
  input.u8 = source_->u8_rows(input.from);
  input.f32 = source_->f32_rows(input.from);
  input.is_final = pipeline.empty() && found == input.model_shape && source_->can_read_exact(input.from, DType::kF32);
  return input;
}

/// Ids and masks, to which no transform applies.
void BatchWriter::match_exact(Input& input, const std::string& name) const {
  if (pipeline_.mixes())
    throw Error(ErrorKind::kUsage, fmt::format("data.transforms mix samples, but the model's input '{}' is {}, which "
                                               "cannot be mixed; remove MixUp and CutMix",
                                               name, name_of(input.type)));
  input.sample = source_->input_shape(input.from);
  if (input.sample != input.model_shape)
    throw Error(ErrorKind::kData, fmt::format("samples of '{}' are {}, the model expects {}", name, input.sample.str(),
                                              input.model_shape.str()));
  if (!source_->can_read_exact(input.from, input.type))
    throw Error(ErrorKind::kData, fmt::format("the model's input '{}' is {}, but the data set does not contain "
                                              "integers for it; store them as {}, or give the Input dtype: float32",
                                              name, name_of(input.type), name_of(input.type)));
}

void BatchWriter::fill_exact(const Input& input, std::int64_t index, std::byte* out) const {
  source_->read_exact(index, input.from, input.type, out);
  if (input.type != DType::kI32 || input.id_limit == 0) return;
  const auto* const ids = reinterpret_cast<const std::int32_t*>(out);
  const std::string name = source_->input_name(input.from);
  for (std::int64_t i = 0; i < input.elements; ++i)
    if (ids[i] < 0 || ids[i] >= input.id_limit)
      throw Error(
          ErrorKind::kData,
          fmt::format(
              "{}{} contains the id {} at place {}; the model's Embedding has the ids 0 to {}; raise its input_dim",
              source_->label_place(index), name.empty() ? "" : fmt::format(": input '{}'", name), ids[i], i,
              input.id_limit - 1));
}

/// Throws if most of a few peeked samples do not fit. Photos of another size are an error of the config (no Resizing),
/// not damaged files.
void BatchWriter::check_sizes(const Input& input) const {
  constexpr std::int64_t kPeeked = 16;
  const auto fits = [&](const Shape& shape) {
    const Shape made = pipeline_of(input).output(shape);
    return made.rank() == 0 || made == input.model_shape;
  };
  const std::int64_t samples = std::min(kPeeked, source_->size());
  std::int64_t unfit = 0, seen = 0;
  std::string place, found;                   // an example: location and size
  std::optional<Shape> resized;               // size after the transforms, if they change it
  const int rank = input.model_shape.rank();  // images or clips
  const auto size = [&](const Shape& shape) { return fmt::format("{}x{}", shape[rank - 3], shape[rank - 2]); };
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t index = i * source_->size() / samples;
    const Shape shape = source_->peek_shape(index, input.from);
    if (shape.rank() != input.model_shape.rank() || rank < 3 || rank > 4) continue;
    ++seen;
    if (fits(shape) || fits(turned(shape))) continue;  // or after a quarter turn
    if (++unfit > 1) continue;
    place = source_->label_place(index);
    found = size(shape);
    if (const Shape made = pipeline_of(input).output(shape); made.rank() == rank && size(made) != size(shape))
      resized = made;
  }
  if (2 * unfit <= seen) return;
  if (resized)
    throw Error(
        ErrorKind::kData,
        fmt::format("data.transforms turn {} ({}) into {}, but the model expects {}; write height: {}, width: {} "
                    "in those that set a size, for train and for eval, or change the Input to {}",
                    place, found, size(*resized), size(input.model_shape), input.model_shape[rank - 3],
                    input.model_shape[rank - 2], size(*resized)));
  throw Error(ErrorKind::kData,
              fmt::format("the sizes of {0} differ from the {1} of the model: {2} is {3}; add `Resizing: "
                          "{{height: {4}, width: {5}}}` to data.transforms, for a trained model with "
                          "--set 'data.transforms.eval.+={{Resizing: {{height: {4}, width: {5}}}}}'",
                          is_clip(input.model_shape) ? "clips" : "images", size(input.model_shape), place, found,
                          input.model_shape[rank - 3], input.model_shape[rank - 2]));
}

bool BatchWriter::is_copy() const {
  if (form_ != BatchForm::kFloats) return true;
  return only_map_ && std::all_of(inputs_.begin(), inputs_.end(),
                                  [](const Input& input) { return in_memory(input) && input.is_transformed; });
}

bool BatchWriter::reads_without_transforms() const {
  return std::ranges::all_of(inputs_, [](const Input& in) { return in.is_final || in.type != DType::kF32; });
}

std::shared_ptr<Batch::Buffer> BatchWriter::make_buffer(std::int64_t rows, const Allocate& allocate) const {
  auto buffer = std::make_shared<Batch::Buffer>();
  buffer->capacity = rows;
  if (form_ == BatchForm::kFloats)
    for (const Input& input : inputs_) {
      buffer->inputs.emplace_back(allocate, rows * static_cast<std::int64_t>(input.row_bytes()));
      buffer->input_bytes.push_back(input.row_bytes());
    }
  else
    buffer->samples = {allocate, rows};
  if (form_ == BatchForm::kRows)
    for (const RowsInMemory& input : source_rows_) {
      buffer->rows.emplace_back(allocate, rows * static_cast<std::int64_t>(input.row_bytes()));
      buffer->row_bytes.push_back(input.row_bytes());
    }
  for (const LabelWriter& label : labels_) {
    buffer->labels.emplace_back(allocate, rows * static_cast<std::int64_t>(label.row_bytes()));
    buffer->label_bytes.push_back(label.row_bytes());
  }
  if (!labels_.empty() && source_->has_sample_weights()) buffer->sample_weights = {allocate, rows};
  return buffer;
}

void BatchWriter::fill(std::int64_t index, std::int64_t epoch, std::int64_t row, Scratch& scratch,
                       Batch::Buffer& buffer) const {
  if (form_ != BatchForm::kFloats) buffer.samples.data()[row] = index;
  if (form_ == BatchForm::kRows) copy_rows(index, row, buffer);
  if (!parts_.empty()) return fill_mixed(index, epoch, row, scratch, buffer);
  for (std::size_t i = 0; i < buffer.inputs.size(); ++i) {
    if (inputs_[i].type == DType::kF32)
      fill_input(inputs_[i], index, epoch, scratch, float_row(buffer, i, row));
    else
      fill_exact(inputs_[i], index, buffer.inputs[i].data() + static_cast<std::size_t>(row) * buffer.input_bytes[i]);
  }
  fill_labels(index, epoch, row, false, scratch, buffer);
}

void BatchWriter::fill_labels(std::int64_t index, std::int64_t epoch, std::int64_t row, bool mixed, Scratch& scratch,
                              Batch::Buffer& buffer) const {
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    const LabelWriter& label = labels_[i];
    std::byte* const place = buffer.labels[i].data() + static_cast<std::size_t>(row) * buffer.label_bytes[i];
    if (label.is_map())
      fill_map(label, mixed, index, epoch, scratch, place);
    else if (label.classes())
      label.write(index, scratch.row, place);
    else
      mix_labels(label, mixed ? parts_.size() - 1 : 0, index, epoch, scratch, reinterpret_cast<float*>(place));
  }
  if (float* const weights = buffer.sample_weights.data(); weights != nullptr)
    weights[row] = mix_weights(mixed ? parts_.size() - 1 : 0, index, epoch);
}

void BatchWriter::fill_map(const LabelWriter& label, bool mixed, std::int64_t index, std::int64_t epoch,
                           Scratch& scratch, std::byte* out) const {
  if (mixed) {
    mix_map(label, parts_.size() - 1, index, epoch, scratch, scratch.rows);
    return label.write_rows(view_of(scratch.rows), index, out);
  }
  label.read_map(index, scratch.map);
  pipeline_.run_on_map(view_of(scratch.map), label.fill(), scratch.pipeline, scratch.rows, key_of(index, epoch));
  label.write_map(view_of(scratch.rows), index, out);
}

/// Empty if a device cannot make the batches: it would not move the label maps with the images.
std::vector<RowsInMemory> BatchWriter::rows_in_memory() const {
  std::vector<RowsInMemory> all;
  if (pipeline_.moves_pixels() && std::ranges::any_of(labels_, &LabelWriter::is_map)) return {};
  for (const Input& input : inputs_) {
    const std::uint8_t* const u8 = source_->u8_rows(input.from);
    const float* const f32 = source_->f32_rows(input.from);
    if (input.type != DType::kF32 || !input.is_transformed || input.sample.rank() == 0 ||
        (u8 == nullptr && f32 == nullptr))
      return {};
    all.push_back(
        {.input = input.from,
         .sample = input.sample,
         .type = u8 != nullptr ? DType::kU8 : DType::kF32,
         .rows = u8 != nullptr ? reinterpret_cast<const std::byte*>(u8) : reinterpret_cast<const std::byte*>(f32)});
  }
  return all;
}

void BatchWriter::copy_rows(std::int64_t index, std::int64_t row, Batch::Buffer& buffer) const {
  for (std::size_t i = 0; i < source_rows_.size(); ++i) {
    const std::size_t bytes = source_rows_[i].row_bytes();
    std::memcpy(buffer.rows[i].data() + static_cast<std::size_t>(row) * bytes,
                source_rows_[i].rows + static_cast<std::size_t>(source_->row(index)) * bytes, bytes);
  }
}

void BatchWriter::move_row(Batch::Buffer& buffer, std::int64_t from, std::int64_t to) const {
  if (from == to) return;
  const auto move = [&](const std::vector<Memory<std::byte>>& columns, const std::vector<std::size_t>& row_bytes) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::byte* const rows = columns[i].data();
      std::memcpy(rows + static_cast<std::size_t>(to) * row_bytes[i],
                  rows + static_cast<std::size_t>(from) * row_bytes[i], row_bytes[i]);
    }
  };
  move(buffer.inputs, buffer.input_bytes);
  move(buffer.rows, buffer.row_bytes);
  move(buffer.labels, buffer.label_bytes);
  if (float* const weights = buffer.sample_weights.data(); weights != nullptr) weights[to] = weights[from];
  if (std::int64_t* const samples = buffer.samples.data(); samples != nullptr) samples[to] = samples[from];
}

void BatchWriter::fill_input(const Input& input, std::int64_t index, std::int64_t epoch, Scratch& scratch,
                             float* out) const {
  if (in_memory(input) && only_map_ && input.is_transformed) {
    copy_row(input, index, out);
    return;
  }
  if (input.is_final) return source_->read_exact(index, input.from, DType::kF32, out);
  const DrawKey key = key_of(index, epoch);
  const ImageView view = view_sample(input, index, key, scratch.image);
  try {
    const trace::Span span("data", "transform", index);
    pipeline_of(input).write(view, key, scratch.pipeline, input.model_shape, out);
  } catch (const Error& unfit) {  // such as an image of another size: treated as a damaged sample
    if (!source_->bad_samples() || unfit.kind() == ErrorKind::kInternal) throw;
    throw SampleError({.file = source_->label_place(index), .byte = -1, .reason = unfit.what()});
  }
}

DrawKey BatchWriter::key_of(std::int64_t index, std::int64_t epoch) const {
  return {.seed = seed_, .sample = static_cast<std::uint64_t>(index), .epoch = static_cast<std::uint32_t>(epoch)};
}

ImageView BatchWriter::view_sample(const Input& input, std::int64_t index, const DrawKey& key, Array& image) const {
  ImageView view;
  if (in_memory(input)) {
    const std::int64_t first = source_->row(index) * input.sample.elements();
    view.shape = input.sample;
    view.type = input.u8 != nullptr ? DType::kU8 : DType::kF32;
    view.data = input.u8 != nullptr ? static_cast<const void*>(input.u8 + first) : input.f32 + first;
  } else if (!source_->view(index, input.from, view)) {
    const auto part = [&](const Shape& whole) { return pipeline_.part(whole, key); };
    ReadHint hint = pipeline_of(input).hint();
    if (input.is_transformed) hint.part = std::ref(part);
    if (pipeline_.training()) hint.draw = key;
    const trace::Span span("data", "read", index);
    source_->read(index, input.from, image, hint);
    view = view_of(image);
  }
  view.shape = with_channel(view.shape, input.model_shape);
  return view;
}

void BatchWriter::copy_row(const Input& input, std::int64_t index, float* out) const {
  const auto channels = static_cast<std::int64_t>(only_map_->scale.size());
  const KernelMap map(*only_map_, channels);
  const std::int64_t places = input.elements / channels, first = source_->row(index) * input.elements;
  if (input.u8 != nullptr) {
    const kernels::cpu::Pixels<std::uint8_t> row{input.u8 + first, 1, places, channels, input.elements};
    kernels::cpu::map_pixels(row, map.get(), false, false, out, input.elements);
  } else {
    const kernels::cpu::Pixels<float> row{input.f32 + first, 1, places, channels, input.elements};
    kernels::cpu::map_pixels(row, map.get(), false, false, out, input.elements);
  }
}

}  // namespace dptrain::data
