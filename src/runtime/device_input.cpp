#include "runtime/device_input.h"

#include <algorithm>
#include <cstring>

#include "core/index.h"

namespace dptrain::runtime {
namespace {

/// Samples go to the device in pieces of about this size.
constexpr std::size_t kPieceBytes = std::size_t{8} << 20;

}  // namespace

DeviceInput::DeviceInput(DType compute, backend::Device& device, backend::Stream& stream, const DeviceDataset& dataset,
                         std::int64_t rows, int sets, const std::vector<bool>& is_used)
    : device_(device), stream_(stream) {
  for (const DeviceDataset::Input& from : dataset.inputs) {
    Input& input = inputs_.emplace_back();
    if (!is_used[inputs_.size() - 1]) continue;
    input.row_bytes = static_cast<std::size_t>(from.program.in_elements()) * size_of(from.type);
    input.pass = backend::make_pixel_pass(
        {.program = from.program, .type = from.type, .compute = compute, .rows = rows}, device);
    if (dataset.resident)
      upload(from, dataset.samples, input);
    else
      for (int set = 0; set < sets; ++set)
        input.arriving.push_back(device.allocate(static_cast<std::size_t>(rows) * input.row_bytes));
  }
  for (int set = 0; set < sets; ++set)
    samples_.push_back(device.allocate(static_cast<std::size_t>(rows) * sizeof(std::int64_t)));
}

void DeviceInput::upload(const DeviceDataset::Input& from, std::int64_t samples, Input& to) {
  to.resident = device_.allocate(static_cast<std::size_t>(samples) * to.row_bytes);
  const auto per_piece = static_cast<std::int64_t>(std::max<std::size_t>(1, kPieceBytes / to.row_bytes));
  const auto piece = device_.allocate_host(static_cast<std::size_t>(std::min(per_piece, samples)) * to.row_bytes);
  for (std::int64_t first = 0; first < samples; first += per_piece) {
    const std::int64_t rows = std::min(per_piece, samples - first);
    auto* out = piece->as<std::byte>();
    for (std::int64_t i = first; i < first + rows; ++i, out += to.row_bytes)
      std::memcpy(out, from.rows + static_cast<std::size_t>(from.row(i)) * to.row_bytes, to.row_bytes);
    device_.copy_to_device(to.resident->as<std::byte>() + static_cast<std::size_t>(first) * to.row_bytes, piece->data(),
                           static_cast<std::size_t>(rows) * to.row_bytes, stream_);
    stream_.synchronize();
  }
}

void DeviceInput::make(const BatchView& slice, int set, const std::vector<void*>& outputs) {
  backend::Buffer& samples = *samples_[at(set)];
  device_.copy_to_device(samples.data(), slice.samples.data,
                         static_cast<std::size_t>(slice.rows) * sizeof(std::int64_t), stream_);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    if (!input.pass) continue;
    const void* in = nullptr;
    if (input.resident) {
      in = input.resident->data();
    } else {
      in = input.arriving[at(set)]->data();
      device_.copy_to_device(input.arriving[at(set)]->data(), slice.raw[i].data,
                             static_cast<std::size_t>(slice.rows) * input.row_bytes, stream_);
    }
    input.pass->run({.in = in,
                     .samples = samples.as<std::int64_t>(),
                     .gather = input.resident != nullptr,
                     .epoch = slice.epoch,
                     .rows = slice.rows,
                     .out = outputs[i],
                     .stream = &stream_});
  }
}

std::size_t DeviceInput::bytes() const {
  std::size_t sum = 0;
  for (const Input& input : inputs_) {
    sum += (input.pass ? input.pass->bytes() : 0) + (input.resident ? input.resident->bytes() : 0);
    for (const auto& buffer : input.arriving) sum += buffer->bytes();
  }
  for (const auto& buffer : samples_) sum += buffer->bytes();
  return sum;
}

}  // namespace dptrain::runtime
