// init --from a table: chooses the target column, the encodings of the others, and a network for the number of rows.

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/shape.h"
#include "core/text.h"
#include "data/encoders/files.h"
#include "data/encoders/lookup.h"
#include "data/images/image.h"
#include "data/images/image_info.h"
#include "data/sources/csv.h"
#include "data/sources/split.h"
#include "data/table/fields.h"
#include "data/table/row_stream.h"
#include "data/table/sniffer.h"
#include "data/table/table.h"
#include "data/text/text_vectorization.h"
#include "init/draft.h"
#include "init/networks.h"

namespace dptrain::init {
namespace fs = std::filesystem;
namespace {

struct PhotoColumns {
  std::vector<std::string> names;
  std::vector<Shape> shapes;  ///< shapes of some photos, from their files' headers
};

constexpr std::int64_t kRowsRead = 2'000, kSampledRows = 100;
constexpr double kNearlyAll = 0.9;

/// Columns in which nearly all sampled fields of the first rows are paths of existing image files, absolute or relative
/// to the table's folder. Throws Error{kData} if rows cannot be read.
PhotoColumns find_photo_columns(const std::string& path, const data::table::Schema& schema) {
  data::table::Schema nothing = schema;
  data::table::PassthroughColumns kept;
  for (data::table::Column& column : nothing.columns) {
    column.kept = false;
    if (column.type != data::table::ColumnType::kNumber && column.type != data::table::ColumnType::kDate)
      kept.names.push_back(column.name);
  }
  PhotoColumns found;
  if (kept.names.empty()) return found;
  data::table::RowStream stream(path, nothing, {.skip = true}, kept);
  data::table::Table rows;
  if (!stream.next(rows, kRowsRead)) return found;
  const std::int64_t step = std::max<std::int64_t>(1, rows.rows() / kSampledRows);
  std::error_code ignored;
  for (std::size_t c = 0; c < kept.names.size(); ++c) {
    std::int64_t named = 0, there = 0;
    std::vector<Shape> shapes;
    for (std::int64_t row = 0; row < rows.rows(); row += step) {
      std::string cell;
      rows.append_text(stream.passthrough()[c], row, cell);
      const std::string name(data::table::trimmed(cell));
      if (name.empty()) continue;
      ++named;
      const std::string file = (fs::path(path).parent_path() / name).string();
      if (data::format_of_name(file).empty() || !fs::is_regular_file(file, ignored)) continue;
      ++there;
      if (const Shape shape = data::peek_image_file(file, {}); shape.rank() == 3) shapes.push_back(shape);
    }
    if (shapes.empty() || static_cast<double>(there) < kNearlyAll * static_cast<double>(named)) continue;
    found.names.push_back(kept.names[c]);
    found.shapes.insert(found.shapes.end(), shapes.begin(), shapes.end());
  }
  return found;
}

constexpr std::array kUsualTargets{"target", "label", "class", "outcome", "response"};
/// A column of whole numbers has classes up to this number of different values.
constexpr std::int64_t kMaxClasses = 20, kMinRowsOfClass = 10;
/// Columns with at most this many words become one-hot; others get an Embedding.
constexpr std::int64_t kMaxOneHot = 50;
constexpr std::int64_t kMaxTokens = 20'000;
/// A column with a larger proportion of different words is left out.
constexpr double kMostlyDifferent = 0.5;
/// Mean bytes per cell from which a column contains texts rather than names.
constexpr double kShortestText = 40;
constexpr std::int64_t kMinRowsForTest = 300;
constexpr std::int64_t kSniffedRows = 200'000;  // rows

enum class Use { kTarget, kNumber, kDate, kOneHot, kEmbedded, kWords, kPhotos, kLeftOut };
/// Whether the column has its own Input, of ids or photos.
constexpr bool has_input(Use use) { return use == Use::kEmbedded || use == Use::kWords || use == Use::kPhotos; }

struct Column {
  std::string name;
  const data::table::ColumnFacts* facts;
  data::table::ColumnType type;
  Use use = Use::kLeftOut;
  std::string why{};  ///< reason for leaving it out
};

bool is_class_like(const data::table::ColumnFacts& facts, data::table::ColumnType type, std::int64_t rows) {
  if (type == data::table::ColumnType::kCategory || type == data::table::ColumnType::kText) return true;
  return type == data::table::ColumnType::kNumber && facts.whole && facts.distinct <= kMaxClasses &&
         rows >= facts.distinct * kMinRowsOfClass;
}

/// The requested column, else one with a usual name, else the last suitable one.
std::size_t find_target(const std::vector<Column>& columns, const DraftRequest& request) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  if (request.target) {
    const auto found = std::ranges::find(names, *request.target);
    if (found == names.end())
      throw Error(ErrorKind::kUsage, fmt::format("--target {}: {} has the columns {}{}", *request.target, request.path,
                                                 printable(join(names, ", ")), did_you_mean(*request.target, names)));
    return static_cast<std::size_t>(found - names.begin());
  }
  const auto can_be = [&](std::size_t i) {
    if (columns[i].use == Use::kPhotos) return false;
    return columns[i].type == data::table::ColumnType::kNumber || columns[i].type == data::table::ColumnType::kCategory;
  };
  for (const char* const usual : kUsualTargets)
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (can_be(i) && lowercase(names[i]) == usual) return i;
  if (can_be(0) && lowercase(names[0]) == "y") return 0;  // in another place it may be a coordinate next to x and z
  for (std::size_t i = columns.size(); i-- > 0;)
    if (can_be(i)) return i;
  throw Error(ErrorKind::kData, fmt::format("{}: no column of numbers or words can be predicted", request.path));
}

void decide(Column& column, std::int64_t rows) {
  const data::table::ColumnFacts& facts = *column.facts;
  const auto leave_out = [&](std::string why) { column.why = std::move(why); };
  if (facts.filled == 0) return leave_out("empty");
  if (!facts.format_problem.empty()) return leave_out(facts.format_problem);
  if (facts.distinct <= 1 && facts.missing == 0) return leave_out("the same in every row");
  switch (column.type) {
    case data::table::ColumnType::kNumber: column.use = Use::kNumber; return;
    case data::table::ColumnType::kDate: column.use = Use::kDate; return;
    case data::table::ColumnType::kId: return leave_out("a different value in each row");
    case data::table::ColumnType::kText:
      if (facts.mean_length < kShortestText) return leave_out("names, or texts too short to be of use");
      column.use = Use::kWords;
      return;
    case data::table::ColumnType::kCategory: break;
  }
  if (facts.distinct > kMaxOneHot && static_cast<double>(facts.distinct) > kMostlyDifferent * static_cast<double>(rows))
    return leave_out(fmt::format("{} different words in {} rows", with_commas(facts.distinct), with_commas(rows)));
  column.use = facts.distinct <= kMaxOneHot ? Use::kOneHot : Use::kEmbedded;
}

std::int64_t embedding_width(std::int64_t words) {
  return std::clamp<std::int64_t>(std::llround(1.6 * std::pow(static_cast<double>(words), 0.56)), 4, 64);
}

class TableDraft {
 public:
  explicit TableDraft(const DraftRequest& request) : request_(request), test_(find_test_file(request.path)) {
    sniff();
    rows_ = sniffed_.rows;
    for (std::size_t i = 0; i < sniffed_.schema.columns.size(); ++i)
      columns_.push_back({sniffed_.schema.columns[i].name, &sniffed_.facts[i], sniffed_.schema.columns[i].type});
    const PhotoColumns photos = find_photo_columns(request.path, sniffed_.schema);
    for (Column& column : columns_)
      if (std::ranges::find(photos.names, column.name) != photos.names.end()) column.use = Use::kPhotos;
    if (!photos.names.empty()) photo_ = photo_size(photos.shapes);
    const std::size_t target = find_target(columns_, request);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (i != target && columns_[i].use != Use::kPhotos) decide(columns_[i], rows_);
    columns_[target].use = Use::kTarget;
    target_ = &columns_[target];
    if (!target_->facts->format_problem.empty())
      throw Error(ErrorKind::kData, fmt::format("{}: column '{}': {}", request.path, printable(target_->name),
                                                target_->facts->format_problem));
    classes_ = is_class_like(*target_->facts, target_->type, rows_);
    if (count(Use::kNumber) + count(Use::kDate) + count(Use::kOneHot) + own_inputs() == 0)
      throw Error(ErrorKind::kData,
                  fmt::format("{}: no column other than '{}' is of use", request.path, target_->name));
    open();
  }

  Draft take() {
    Draft draft;
    draft.findings = seen();
    draft.yaml = head() + model() + data() + training();
    return draft;
  }

 private:
  std::int64_t count(Use use) const { return std::ranges::count(columns_, use, &Column::use); }
  bool has_table_input() const { return count(Use::kNumber) + count(Use::kDate) + count(Use::kOneHot) > 0; }
  /// Whether the table is the only input, which then needs no name.
  bool is_plain() const { return own_inputs() == 0; }
  std::int64_t own_inputs() const { return count(Use::kEmbedded) + count(Use::kWords) + count(Use::kPhotos); }
  bool has_photos() const { return count(Use::kPhotos) > 0; }
  bool lacks_labels() const { return target_->facts->missing > 0; }
  /// Rows and cells that on_error: skip leaves out.
  std::vector<std::string> skipped() const {
    std::vector<std::string> skipped;
    if (sniffed_.bad_rows > 0)
      skipped.push_back(fmt::format("{} rows that break the form of the file", with_commas(sniffed_.bad_rows)));
    if (lacks_labels()) skipped.push_back(fmt::format("{} rows without a label", with_commas(target_->facts->missing)));
    for (const Column& column : columns_)
      if (const std::int64_t mismatches = column.facts->mismatches; mismatches > 0 && is_typed(column))
        skipped.push_back(fmt::format("{} cells of {} that are not {}s", with_commas(mismatches),
                                      printable(column.name), data::table::type_name(column.type)));
    if (has_photos()) skipped.emplace_back("rows whose photo cannot be read");
    return skipped;
  }
  /// Whether a cell of another type is an error.
  bool is_typed(const Column& column) const {
    return column.use == Use::kNumber || column.use == Use::kDate || (column.use == Use::kTarget && !classes_);
  }
  bool splits_test() const { return !test_ && rows_ >= kMinRowsForTest; }
  std::vector<std::string> names(std::initializer_list<Use> uses) const {
    std::vector<std::string> names;
    for (const Column& column : columns_)
      if (std::ranges::find(uses, column.use) != uses.end()) names.push_back(column.name);
    return names;
  }
  static std::int64_t tokens(const Column& column) {
    return std::min(column.facts->distinct + 1, kMaxTokens);  // one for unknown words
  }
  /// Unique name of a column's own Input: letters, digits and _ of the column's name.
  std::string input_name(const Column& column) const {
    std::string name;
    for (const char letter : column.name) name += std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
    const auto place = std::ranges::find(columns_, column.name, &Column::name) - columns_.begin() + 1;
    const bool plain = std::isalpha(static_cast<unsigned char>(name.front())) != 0 && name == column.name;
    return plain && name != "table" ? name : fmt::format("column{}_{}", place, name);
  }

  /// Tokens of a text of twice the mean length; a word and its space take about six bytes.
  static std::int64_t length(const Column& column) {
    return std::clamp<std::int64_t>(std::llround(column.facts->mean_length / 3), 8, 200);
  }
  static config::Typed words_encoder(const Column& column) {
    data::TextVectorizationSpec spec;
    spec.max_tokens = kMaxTokens;
    spec.output_sequence_length = length(column);
    return data::encoder_family().make(std::move(spec));
  }

  /// Sets `decimal` or `thousands` if all numbers of a column have the form 1,234; the separator decides which.
  void sniff() {
    data::table::SniffOptions options{.rows = kSniffedRows};
    sniffed_ = data::table::sniff({request_.path}, options);
    const std::vector<data::table::Column>& columns = sniffed_.schema.columns;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].type == data::table::ColumnType::kNumber && !sniffed_.facts[i].format_problem.empty())
        (sniffed_.schema.dialect.separator == ',' ? thousands_ : decimal_) = ",";
    if (decimal_) options.dialect.decimal = ',';
    if (thousands_) options.dialect.thousands = ',';
    if (decimal_ || thousands_)
      sniffed_ = data::table::sniff({request_.path}, options);
    else
      decimal_ = common_decimal();
  }
  /// "," if every decimal mark is a comma.
  std::optional<std::string> common_decimal() const {
    std::optional<std::string> decimal;
    for (const data::table::Column& column : sniffed_.schema.columns) {
      if (column.type != data::table::ColumnType::kNumber) continue;
      if (column.numbers.decimal == '.') return std::nullopt;
      decimal = ",";
    }
    return decimal;
  }

  /// Opens the data as fit does: the width of a float input depends on the words of the training rows.
  void open() {
    data::CSVSpec spec;
    spec.files = {config::Path{request_.path}};
    spec.labels.groups = {{"", {target_->name}}};
    if (classes_) spec.columns[target_->name] = data::encoder_family().make(data::StringLookupSpec{});
    spec.decimal = decimal_;
    spec.thousands = thousands_;
    spec.on_error.skip = !skipped().empty();
    data::ModelSide side;
    side.output_names = {"target"};
    side.label_uses = {classes_ ? data::LabelUse::kClasses : data::LabelUse::kNumbers};
    if (has_table_input()) {
      spec.inputs.groups.push_back({is_plain() ? "" : "table", names({Use::kNumber, Use::kDate, Use::kOneHot})});
      side.input_names.push_back("table");
      side.input_types.push_back(DType::kF32);
    }
    for (const Column& column : columns_) {
      if (!has_input(column.use)) continue;
      if (column.use == Use::kWords) spec.columns[column.name] = words_encoder(column);
      if (column.use == Use::kPhotos) spec.columns[column.name] = data::encoder_family().make(data::ImageSpec{});
      spec.inputs.groups.push_back({input_name(column), {column.name}});
      side.input_names.push_back(input_name(column));
      side.input_types.push_back(column.use == Use::kPhotos ? DType::kF32 : DType::kI32);
    }
    side.input_shapes.resize(side.input_names.size());
    data::DatasetConfig config;
    config.train = data::dataset_family().make(std::move(spec));
    data::SplitSpec part;
    part.fraction = 0.15;
    part.stratified = classes_;
    config.validation = data::dataset_family().make(part);
    if (splits_test()) config.test = data::dataset_family().make(part);
    train_ = data::open_sources(config, side, 0, {.train = true, .validation = true, .test = splits_test()}).train;
    if (has_table_input()) width_ = train_->input_shape(0).elements();
    class_count_ = classes_ ? static_cast<std::int64_t>(train_->class_names().size()) : 0;
  }

  std::vector<std::string> seen() const {
    std::vector<std::string> lines;
    lines.push_back(fmt::format("{}: {}{} of {}, separated by {}, {}", request_.path, sniffed_.all ? "" : "at least ",
                                counted(rows_, "row"), counted(columns_.size(), "column"),
                                data::table::separator_name(sniffed_.schema.dialect.separator),
                                sniffed_.schema.dialect.header ? "with a header" : "without a header"));
    std::vector<std::string> names;
    for (const Column& column : columns_) names.push_back(printable(column.name));
    const std::size_t width = column_width(names);
    for (const Column& column : columns_) lines.push_back(describe(column, width));
    if (test_) lines.push_back(fmt::format("{} in the same folder is the test set", *test_));
    return lines;
  }
  std::string describe(const Column& column, std::size_t width) const {
    const data::table::ColumnFacts& facts = *column.facts;
    std::string text =
        fmt::format("  {:<{}}  {:<9}", printable(column.name), width, data::table::type_name(column.type));
    if (column.type == data::table::ColumnType::kNumber && facts.filled > 0)
      text += fmt::format(" {} to {}", shortest(facts.min), shortest(facts.max));
    else
      text += fmt::format(" {} distinct", with_commas(facts.distinct));
    if (facts.missing > 0) text += fmt::format(", {} missing", with_commas(facts.missing));
    if (facts.mismatches > 0) text += fmt::format(", {} of another type", with_commas(facts.mismatches));
    switch (column.use) {
      case Use::kTarget:
        if (lacks_labels()) text += " and left out";
        return text + (classes_ ? "; the classes to predict" : "; the number to predict");
      case Use::kLeftOut: return text + "; left out: " + column.why;
      case Use::kOneHot: return text + "; one-hot";
      case Use::kEmbedded: return text + "; an embedding";
      case Use::kPhotos:
        return text + fmt::format("; photos, half of them {} x {} pixels or larger; the network gets {} x {}",
                                  photo_.height, photo_.width, photo_.side, photo_.side);
      case Use::kWords: return text + fmt::format("; the first {} words, as the mean of embeddings", length(column));
      default: return text;
    }
  }

  std::string head() const {
    return head_of(
        request_.name,
        fmt::format("# {} {} from the other columns of {}, by `dptrain init --from`.\n",
                    classes_ ? "Classes:" : "A number:", printable(target_->name), printable(request_.reference)),
        "#   dptrain check {0}.yaml\n#   dptrain fit {0}.yaml\n"
        "#   dptrain predict runs/{0}/001 --input NEW.csv\n");
  }

  std::string model() const {
    const Sizes sizes = sizes_for(rows_);
    std::string text = "model:\n" + (has_photos() ? conv_block({photo_.side, photo_.side, 3}) : "") + "  layers:\n";
    std::vector<std::string> parts;
    if (has_table_input()) {
      text += is_plain()
                  ? fmt::format("    - Input: {{shape: [{}]}}        # numbers, normalised; words, one-hot\n", width_)
                  : fmt::format("    - Input: {{name: table, shape: [{}]}}\n", width_);
      parts.emplace_back("table");
    }
    int embedded = 0;
    for (const Column& column : columns_) {
      if (!has_input(column.use)) continue;
      const std::string name = input_name(column);
      if (column.use == Use::kPhotos) {
        parts.push_back(name + "_seen");
        text += fmt::format("    - Input: {{name: {}, shape: [{}, {}, 3]}}\n", name, photo_.side, photo_.side);
        text += conv_stages({photo_.side, photo_.side, 3}, parts.back());
        continue;
      }
      const std::string layer = fmt::format("embedded{}", ++embedded);
      parts.push_back(layer);
      if (column.use == Use::kWords) {
        text += fmt::format("    - Input: {{name: {}, shape: [{}], dtype: int32}}\n", name, length(column));
        text += fmt::format("    - Embedding: {{inputs: {}, input_dim: {}, output_dim: 32, mask_zero: true}}\n", name,
                            kMaxTokens);
        text += fmt::format("    - GlobalAveragePooling1D: {{name: {}}}\n", layer);
        continue;
      }
      text += fmt::format("    - Input: {{name: {}, shape: [1], dtype: int32}}\n", name);
      text += fmt::format("    - Embedding: {{inputs: {}, input_dim: {}, output_dim: {}}}\n", name, tokens(column),
                          embedding_width(column.facts->distinct));
      text += fmt::format("    - Flatten: {{name: {}}}\n", layer);
    }
    if (parts.size() > 1) text += fmt::format("    - Concatenate: {{inputs: [{}]}}\n", join(parts, ", "));
    if (has_photos()) text += "    - Dropout: 0.2\n";
    for (const std::int64_t units : sizes.layers) {
      text += fmt::format("    - Dense: {{units: {}, activation: relu}}\n", units);
      if (sizes.dropout > 0) text += fmt::format("    - Dropout: {}\n", shortest(sizes.dropout));
    }
    if (classes_) return text + fmt::format("    - Dense: {{units: {}, activation: softmax}}\n\n", class_count_);
    return text + "    - Dense: 1\n" + rescaled_end(*train_, target_->name);
  }

  std::string data() const {
    std::string text = "data:\n  train:\n    CSV:\n";
    text += fmt::format("      file: {}\n", yaml_word(request_.reference));
    text += fmt::format("      labels: {}\n", yaml_word(target_->name));
    if (decimal_) text += fmt::format("      decimal: \"{}\"\n", *decimal_);
    if (thousands_) text += fmt::format("      thousands: \"{}\"\n", *thousands_);
    if (!is_plain()) {
      text += "      inputs:\n";
      if (has_table_input())
        text += fmt::format("        table: {}\n", yaml_list(names({Use::kNumber, Use::kDate, Use::kOneHot})));
      for (const Column& column : columns_)
        if (has_input(column.use)) text += fmt::format("        {}: {}\n", input_name(column), yaml_word(column.name));
    }
    text += "      columns:            # how each becomes numbers; the checkpoint stores the fitted state\n";
    for (const Column& column : columns_)
      if (column.use != Use::kTarget || classes_)
        text += fmt::format("        {}: {}\n", yaml_key(column.name), encoder(column));
    if (const auto rows = skipped(); !rows.empty())
      text += fmt::format("      on_error: skip      # of {}\n", join(rows, ", and of "));
    text += "  validation:\n";
    const std::string stratified = classes_ ? ", stratified: true" : "";
    text += fmt::format("    Split: {{fraction: 0.15{}}}\n", stratified);
    if (splits_test()) text += fmt::format("  test:\n    Split: {{fraction: 0.15{}}}\n", stratified);
    if (test_)
      text += fmt::format("  test:\n    CSV: {{file: {}, labels: {}{}}}\n",
                          yaml_word((fs::path(request_.reference).parent_path() / *test_).string()),
                          yaml_word(target_->name), skipped().empty() ? "" : ", on_error: skip");
    return text + (has_photos() ? photo_transforms(photo_.side) : "\n");
  }
  std::string encoder(const Column& column) const {
    switch (column.use) {
      case Use::kTarget: return "StringLookup";
      case Use::kNumber: return column.facts->missing > 0 ? "{Normalization: {missing: mean}}" : "Normalization";
      case Use::kDate: return "Date";
      case Use::kOneHot: return "StringLookup";
      case Use::kWords:
        return fmt::format("{{TextVectorization: {{max_tokens: {}, output_sequence_length: {}}}}}", kMaxTokens,
                           length(column));
      case Use::kPhotos: return "Image";
      case Use::kEmbedded: return fmt::format("{{StringLookup: {{max_tokens: {}}}}}", tokens(column));
      case Use::kLeftOut: break;
    }
    return "Ignore            # " + column.why;
  }

  std::string training() const {
    Sizes sizes = sizes_for(rows_);
    if (has_photos())
      sizes.epochs = photo_epochs(rows_), sizes.batch = photo_batch(rows_), sizes.patience = sizes.epochs / 4;
    return training_of(sizes, classes_);
  }

  /// "test.csv" for "train.csv", if it exists in the same folder.
  static std::optional<std::string> find_test_file(const std::string& path) {
    std::string name = fs::path(path).filename().string();
    const std::size_t at = name.find("train");
    if (at == std::string::npos) return std::nullopt;
    name.replace(at, std::string_view("train").size(), "test");
    std::error_code ignored;
    return fs::exists(fs::path(path).parent_path() / name, ignored) ? std::optional(name) : std::nullopt;
  }

  const DraftRequest& request_;
  std::optional<std::string> test_;
  data::table::SniffResult sniffed_;
  std::optional<std::string> decimal_, thousands_;  ///< as keys of CSV
  std::int64_t rows_ = 0;
  std::vector<Column> columns_;
  const Column* target_ = nullptr;
  bool classes_ = false;
  std::shared_ptr<const data::Source> train_;
  std::int64_t width_ = 0, class_count_ = 0;
  PhotoSize photo_;
};

}  // namespace

Draft draft_table(const DraftRequest& request) { return TableDraft(request).take(); }

}  // namespace dptrain::init
