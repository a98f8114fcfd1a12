#include "data/encoders/encoder.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "config/expression.h"
#include "config/json_fragment.h"
#include "core/error.h"
#include "core/format.h"
#include "data/encoders/encoder_def.h"
#include "data/encoders/lookup.h"
#include "data/encoders/numeric_encoders.h"

namespace dptrain::data {
namespace {

const EncoderDef& encoder_def_of(const config::Typed& spec) { return static_cast<const EncoderDef&>(spec.def()); }

}  // namespace

config::Family& encoder_family() {
  static config::Family family("encoder", "StringLookup");
  return family;
}

void NumberEncoder::encode_ids(double, std::int32_t*) const {
  throw Error(ErrorKind::kInternal, "this encoder has no ids");
}

void WordEncoder::encode(std::int32_t index, float* out) const {
  std::fill_n(out, floats(), 0.0F);
  out[index] = 1;
}

nlohmann::json Encoder::fitted_state() const { return nlohmann::json::object(); }

std::unique_ptr<const Encoder> fit(const config::Typed& spec, const TrainingColumn& column) {
  return encoder_def_of(spec).fit(spec.spec(), column);
}

std::unique_ptr<const Encoder> restore(const config::Typed& spec, const nlohmann::json& fitted_state) {
  try {
    return encoder_def_of(spec).restore(spec.spec(), fitted_state);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("the fitted state of {} cannot be read: {}", spec.name(), error.what()));
  }
}

table::ColumnType column_type_of(const config::Typed& spec) { return encoder_def_of(spec).reads; }

bool reads_files(const config::Typed& spec) { return encoder_def_of(spec).reads_files; }

config::Typed default_encoder(table::ColumnType type) {
  switch (type) {
    case table::ColumnType::kCategory: return encoder_family().make(StringLookupSpec{});
    case table::ColumnType::kDate: return encoder_family().make(DateSpec{});
    default: return encoder_family().make(ColumnNormalizationSpec{});
  }
}

namespace {

/// Ignored columns have no encoder. Callers check for the type Ignore before they call fit() or restore().
struct Nothing {
  [[noreturn]] static std::unique_ptr<const Encoder> fit(const IgnoreSpec&, const TrainingColumn&) { fail(); }
  [[noreturn]] static std::unique_ptr<const Encoder> restore(const IgnoreSpec&, const nlohmann::json&) { fail(); }
  [[noreturn]] static void fail() { throw Error(ErrorKind::kInternal, "an ignored column has no encoder"); }
};

const RegisteredEncoder kIgnore = encoder_def<IgnoreSpec, Nothing>(
    table::ColumnType::kId,
    config::Schema::of<IgnoreSpec>("Ignore").doc("anything -> nothing: the column is not used"));

}  // namespace
}  // namespace dptrain::data

namespace dptrain::config {

bool Value<data::MissingNumberRule>::read(const Node& node, Reader& reader, data::MissingNumberRule& out) {
  const Node found = reader.substituted(node);
  if (found.is_scalar() && !found.quoted() && is_number_literal(found.str())) {
    out.number = reader.number(found);
    return out.number.has_value();
  }
  out.number.reset();
  return Value<data::MissingNumber>::read(found, reader, out.rule);
}

Node Value<data::MissingNumberRule>::write(const data::MissingNumberRule& value) {
  return value.number ? Node::number(*value.number) : Value<data::MissingNumber>::write(value.rule);
}

Node Value<data::MissingNumberRule>::schema() {
  return fragment::any_of({fragment::number("number"), Value<data::MissingNumber>::schema()});
}

}  // namespace dptrain::config
