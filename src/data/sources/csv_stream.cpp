#include "data/sources/csv_stream.h"

#include <utility>

#include <unistd.h>

#include "core/error.h"
#include "core/format.h"
#include "data/sources/csv_plan.h"
#include "data/sources/csv_source.h"

namespace dptrain::data {

struct CsvStream::Impl {
  ModelSide model;
  CsvPlan plan;
  std::string name;
  bool skip = false;
  std::vector<BadSample> bad;
  std::unique_ptr<table::RowStream> rows;
  std::vector<std::string> passthrough;
  std::shared_ptr<const CsvRows> last;
};

CsvStream::CsvStream(const CSVSpec& spec, const ModelSide& model, const std::string& path,
                     const table::PassthroughColumns& passthrough)
    : impl_(std::make_unique<Impl>()) {
  if (model.fitted_state.empty())
    throw Error(ErrorKind::kCheckpoint, "the checkpoint contains no fitted table; its model was not trained on one");
  impl_->model = model;
  const bool from_stdin = path == "-";
  impl_->name = from_stdin ? "stdin" : path;
  impl_->skip = spec.on_error.skip;
  impl_->plan = from_stdin ? plan_of_stream(spec, model) : plan_as_fitted(spec, model, {path}, false);
  table::ReadOptions options;
  options.skip = spec.on_error.skip;
  options.on_bad = [this](const table::BadRow& row) { impl_->bad.push_back(bad_sample(row)); };
  impl_->rows = from_stdin ? std::make_unique<table::RowStream>(STDIN_FILENO, impl_->name, impl_->plan.schema, options,
                                                                passthrough)
                           : std::make_unique<table::RowStream>(path, impl_->plan.schema, options, passthrough);
  impl_->passthrough = passthrough.all ? impl_->rows->header() : passthrough.names;
}

CsvStream::~CsvStream() = default;

std::shared_ptr<const Source> CsvStream::next(std::int64_t most) {
  auto rows = std::make_shared<CsvRows>();
  if (!impl_->rows->next(rows->table, most)) return nullptr;
  rows->layout = impl_->plan.layout;
  if (rows->layout.has_file_columns())
    rows->bad =
        std::make_shared<BadSamples>(OnError{.skip = impl_->skip, .is_flag = true}, rows->size(), impl_->name, "rows");
  rows->place = rows->fingerprint = rows->cache_key = impl_->name;
  impl_->last = rows;
  return csv_samples(std::move(rows), impl_->model);
}

std::vector<std::string> CsvStream::passthrough() const { return impl_->passthrough; }

std::string CsvStream::passthrough_field(std::int64_t sample, std::size_t which) const {
  std::string field;
  impl_->last->table.append_text(impl_->rows->passthrough()[which], impl_->last->row_of(sample), field);
  return field;
}

std::vector<BadSample> CsvStream::take_bad_samples() { return std::exchange(impl_->bad, {}); }

}  // namespace dptrain::data
