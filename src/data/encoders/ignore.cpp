#include "data/encoders/ignore.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/encoders/encoder_def.h"

namespace dptrain::data {
namespace {

/// Whoever has a column asks for this type first; there is no encoder.
struct Nothing {
  [[noreturn]] static std::unique_ptr<const Encoder> learn(const IgnoreSpec&, const TrainingColumn&) { fail(); }
  [[noreturn]] static std::unique_ptr<const Encoder> restore(const IgnoreSpec&, const nlohmann::json&) { fail(); }
  [[noreturn]] static void fail() { throw Error(ErrorKind::kInternal, "an ignored column has no encoder"); }
};

const RegisteredEncoder kIgnore =
    encoder_def<IgnoreSpec, Nothing>(table::ColumnType::kId, config::Schema::of<IgnoreSpec>("Ignore"));

}  // namespace
}  // namespace dptrain::data
