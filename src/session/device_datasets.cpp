#include "session/device_datasets.h"

#include <algorithm>

#include "backend/pixel_pass.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/pixel_program.h"

namespace dptrain::session {
namespace {

/// A data set, with its working memory, may use at most 1/kMemoryPart of the free memory of a GPU.
constexpr std::uint64_t kMemoryPart = 4;

/// Device memory per batch row for making it: two sets of arriving samples, random numbers, and images between
/// transforms.
std::uint64_t working_bytes(const kernels::PixelProgram& program, std::size_t row_bytes) {
  constexpr std::uint64_t kSets = 2, kNumbers = 512;
  std::int64_t elements = program.in_elements();
  for (int k = 0; k < program.count; ++k)
    elements = std::max(elements, std::int64_t{program.op[k].height} * program.op[k].width * program.channels);
  return kSets * (row_bytes + static_cast<std::uint64_t>(elements) * sizeof(float)) + kNumbers;
}

/// A data set that devices could make batches of.
struct Candidate {
  runtime::DeviceDataset dataset;
  std::uint64_t bytes = 0;    ///< bytes of all rows
  std::uint64_t per_row = 0;  ///< bytes per row of a batch, to make it
};

/// Where to store the samples if a replica has `free` bytes; empty if not even the working memory fits.
std::optional<DatasetMemory> place(const Candidate& candidate, const std::string& name, std::int64_t rows,
                                   std::uint64_t free) {
  const std::uint64_t allowed = free / kMemoryPart, working = static_cast<std::uint64_t>(rows) * candidate.per_row;
  if (working > allowed) return {};
  const bool resident = candidate.bytes + working <= allowed;
  return DatasetMemory{name, resident, resident ? candidate.bytes : 0, working};
}

/// Empty if the loader must make the batches.
std::optional<Candidate> candidate_of(const SessionData& data, const SessionData::Set& set, std::uint64_t seed) {
  const auto& source = set.source;
  if (source->u8_rows(0) == nullptr && source->f32_rows(0) == nullptr) return {};
  const std::vector<config::Typed> transforms = data.transforms(set.evaluation);
  Candidate candidate{.dataset = {.samples = source->size()}};
  for (const data::RowsInMemory& rows : set.loader->rows_in_memory()) {
    const auto program = data::pixel_program(transforms, rows.sample, seed);
    if (!program) return {};
    candidate.dataset.inputs.push_back(
        {.program = *program, .type = rows.type, .rows = rows.rows, .row = [source](std::int64_t sample) {
           return source->row(sample);
         }});
    candidate.bytes += static_cast<std::uint64_t>(source->size()) * rows.row_bytes();
    candidate.per_row += working_bytes(*program, rows.row_bytes());
  }
  if (candidate.dataset.inputs.empty()) return {};
  return candidate;
}

}  // namespace

std::vector<DatasetMemory> device_dataset_memory(const experiment::Experiment& experiment, backend::DeviceKind kind,
                                                 std::int64_t global_batch, std::uint64_t free,
                                                 const SessionData& data) {
  std::vector<DatasetMemory> all;
  if (experiment.config.runtime.resident == experiment::Resident::kOff || !backend::has_pixel_pass(kind)) return all;
  for (const SessionData::Set& set : data.sets()) {
    const std::optional<Candidate> candidate = candidate_of(data, set, experiment.config.seed);
    const auto placed = candidate ? place(*candidate, set.name, global_batch, free) : std::nullopt;
    if (!placed) continue;
    free -= placed->samples + placed->working;
    all.push_back(*placed);
  }
  return all;
}

std::vector<std::string> add_device_datasets(const experiment::Experiment& experiment, const DeviceRequest& devices,
                                             std::int64_t global_batch, SessionData& data,
                                             runtime::ReplicaSet& replicas) {
  std::vector<std::string> lines;
  if (experiment.config.runtime.resident == experiment::Resident::kOff) return lines;
  if (!backend::has_pixel_pass(replicas.device(0).kind())) return lines;
  for (SessionData::Set& set : data.sets()) {
    std::optional<Candidate> candidate = candidate_of(data, set, experiment.config.seed);
    if (!candidate) continue;
    const std::uint64_t share = replicas.device(0).memory_available() / max_slots_per_gpu(devices);
    const auto placed = place(*candidate, set.name, global_batch, share);
    if (!placed) continue;
    candidate->dataset.resident = placed->resident;
    const int number = static_cast<int>(lines.size());
    try {
      replicas.add_dataset(number, candidate->dataset);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kMemory) throw;
      throw Error(ErrorKind::kMemory,
                  fmt::format("{}; with runtime.resident: off the loader makes the batches of data.{}", error.what(),
                              set.name));
    }
    const bool resident = candidate->dataset.resident;
    lines.push_back(resident ? fmt::format("{} resident ({})", set.name, human_bytes(candidate->bytes))
                             : set.name + " uploaded as it is");
    set.loader = data.make_loader(set.source, {.name = set.name,
                                               .evaluation = set.evaluation,
                                               .in_order = set.evaluation,
                                               .form = resident ? data::BatchForm::kSamples : data::BatchForm::kRows,
                                               .dataset = number});
  }
  return lines;
}

}  // namespace dptrain::session
