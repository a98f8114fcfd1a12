#include "cli/confusion.h"

#include "cli/csv.h"
#include "core/text.h"

namespace dptrain::cli {
namespace {

/// The true class of a row: a number, or the largest of a row of values.
std::int64_t label_of(const data::Batch& batch, std::int64_t row, optim::LabelKind kind, const Classes& classes) {
  if (kind == optim::LabelKind::kClass) return static_cast<const std::int32_t*>(batch.labels())[row];
  const float* values = static_cast<const float*>(batch.labels()) + row * classes.width();
  if (classes.width() == 1) return *values >= 0.5F ? 1 : 0;
  return argmax(values, classes.width());
}

}  // namespace

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

Confusion confusion(train::Session& session, data::Loader& loader, const Classes& classes) {
  Confusion matrix(classes.count());
  std::vector<float> output(static_cast<std::size_t>(session.global_batch() * classes.width()));
  loader.seek(0, 0);
  for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
    session.replicas().predict(train::host_batch(batch, session.plan().inputs.size()), output.data());
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const std::vector<float> p = classes.probabilities(output.data() + row * classes.width());
      matrix.add(label_of(batch, row, session.plan().loss.labels, classes), argmax(p.data(), classes.count()));
    }
  }
  return matrix;
}

}  // namespace dptrain::cli
