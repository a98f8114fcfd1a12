#pragma once

// Definition of an encoder: the header of its theme has the spec with Keras's arguments; the source implements it and
// registers it with one `encoder_def<Spec, Made>(type, schema)` expression. The family is filled before main and
// read-only afterwards.

#include <memory>
#include <type_traits>
#include <utility>

#include "config/type_builder.h"
#include "data/encoders/encoder.h"

namespace dptrain::data {

using config::key;

/// An encoder type.
struct EncoderDef final : config::TypeDef {
  table::ColumnType reads{};
  bool reads_files = false;  ///< whether it is a FileEncoder
  std::unique_ptr<const Encoder> (*fit)(const void* spec, const TrainingColumn& column) = nullptr;
  std::unique_ptr<const Encoder> (*restore)(const void* spec, const nlohmann::json& fitted_state) = nullptr;
};

/// `Made` has `static std::unique_ptr<const Encoder> fit(const Spec&, const TrainingColumn&)` and `restore(const Spec&,
/// const nlohmann::json&)`, or only a constructor from the Spec if nothing is fitted.
template <class Spec, class Made>
std::unique_ptr<EncoderDef> encoder_def(table::ColumnType reads, config::Schema schema) {
  auto def = std::make_unique<EncoderDef>();
  static_cast<config::TypeDef&>(*def) = config::type_def<Spec>(std::move(schema));
  def->reads = reads;
  def->reads_files = std::is_base_of_v<FileEncoder, Made>;
  if constexpr (std::is_constructible_v<Made, const Spec&>) {
    const auto make = [](const void* spec, const auto&) -> std::unique_ptr<const Encoder> {
      return std::make_unique<Made>(*static_cast<const Spec*>(spec));
    };
    def->fit = make;
    def->restore = make;
  } else {
    def->fit = [](const void* spec, const TrainingColumn& column) {
      return Made::fit(*static_cast<const Spec*>(spec), column);
    };
    def->restore = [](const void* spec, const nlohmann::json& fitted_state) {
      return Made::restore(*static_cast<const Spec*>(spec), fitted_state);
    };
  }
  return def;
}

using RegisteredEncoder = config::Registration<encoder_family>;

}  // namespace dptrain::data
