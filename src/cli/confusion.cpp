#include "cli/confusion.h"

#include <algorithm>
#include <cstring>

#include "cli/csv.h"
#include "core/text.h"

namespace dptrain::cli {
namespace {

/// The true class of a position: a number, or the largest of a row of values.
std::int64_t label_of(const void* labels, std::int64_t row, optim::LabelKind kind, const Classes& classes) {
  if (kind == optim::LabelKind::kClass) return static_cast<const std::int32_t*>(labels)[row];
  const float* values = static_cast<const float*>(labels) + row * classes.row_width();
  if (classes.row_width() == 1) return *values >= 0.5F ? 1 : 0;
  return argmax(values, classes.row_width());
}

}  // namespace

void Confusion::add_processes(mpi::Processes& processes) {
  const std::vector<std::string> all =
      processes.gather({reinterpret_cast<const char*>(counts_.data()), counts_.size() * sizeof(counts_.front())});
  std::ranges::fill(counts_, 0);
  std::vector<std::int64_t> theirs(counts_.size());
  for (const std::string& given : all) {
    std::memcpy(theirs.data(), given.data(), std::min(given.size(), theirs.size() * sizeof(theirs.front())));
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += theirs[i];
  }
}

std::string Confusion::csv(const Classes& classes) const {
  std::vector<std::string> header{"label"};
  for (std::int64_t c = 0; c < classes_; ++c) header.push_back(csv_field(classes.name(c)));
  std::string text = join(header, ",") + "\n";
  for (std::int64_t label = 0; label < classes_; ++label) {
    std::vector<std::string> row{csv_field(classes.name(label))};
    for (std::int64_t c = 0; c < classes_; ++c) row.push_back(std::to_string(count(label, c)));
    text += join(row, ",") + "\n";
  }
  return text;
}

std::vector<Confusion> confusions(session::Session& session, data::Loader& loader,
                                  const std::vector<Classes>& classes) {
  std::vector<Confusion> matrices;
  for (const plan::LossStep& loss : session.plan().losses)
    if (classes[static_cast<std::size_t>(loss.output)].known())
      matrices.emplace_back(classes[static_cast<std::size_t>(loss.output)].count());
  std::vector<std::vector<float>> outputs;
  std::vector<std::vector<std::uint8_t>> masks;  // by loss; empty: all positions count
  std::vector<void*> places;
  for (const Classes& one : classes)
    places.push_back(outputs.emplace_back(static_cast<std::size_t>(session.global_batch() * one.width())).data());
  for (const plan::LossStep& loss : session.plan().losses) {
    masks.emplace_back(static_cast<std::size_t>(session.global_batch() * loss.masked_positions));
    if (loss.masked()) places.push_back(masks.back().data());
  }
  loader.seek(0, 0);
  for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
    session.replicas().predict(batch.host(), places);
    std::size_t matrix = 0;
    for (std::size_t i = 0; i < session.plan().losses.size(); ++i) {
      const plan::LossStep& loss = session.plan().losses[i];
      const Classes& of = classes[static_cast<std::size_t>(loss.output)];
      if (!of.known()) continue;
      for (std::int64_t row = 0; row < batch.own().count * of.positions(); ++row) {
        if (loss.masked() && masks[i][static_cast<std::size_t>(row)] == 0) continue;
        const std::vector<float> p =
            of.probabilities(outputs[static_cast<std::size_t>(loss.output)].data() + row * of.row_width());
        matrices[matrix].add(label_of(batch.labels(static_cast<int>(i)), row, loss.labels, of),
                             argmax(p.data(), of.count()));
      }
      ++matrix;
    }
  }
  if (session.processes() != nullptr)
    for (Confusion& matrix : matrices) matrix.add_processes(*session.processes());
  return matrices;
}

}  // namespace dptrain::cli
