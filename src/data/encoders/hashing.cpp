#include "data/encoders/hashing.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "data/encoders/encoder_def.h"
#include "data/encoders/farm_hash.h"

namespace dptrain::data {
namespace {

class Hashing final : public WordEncoder {
 public:
  explicit Hashing(const HashingSpec& spec) : spec_(spec) {}
  static std::unique_ptr<const Encoder> learn(const HashingSpec& spec, const TrainingColumn&) {
    return std::make_unique<Hashing>(spec);
  }
  static std::unique_ptr<const Encoder> restore(const HashingSpec& spec, const nlohmann::json&) {
    return std::make_unique<Hashing>(spec);
  }

  table::ColumnType reads() const override { return table::ColumnType::kCategory; }
  std::int64_t floats() const override { return spec_.num_bins; }

  std::int32_t index(std::string_view word) const override {
    const std::uint64_t hash = spec_.salt.empty() ? farm_fingerprint(word)
                                                  : sip_hash(word, static_cast<std::uint64_t>(spec_.salt.front()),
                                                             static_cast<std::uint64_t>(spec_.salt.back()));
    return static_cast<std::int32_t>(hash % static_cast<std::uint64_t>(spec_.num_bins));
  }
  /// A cell that holds nothing is the word "", as it is for Keras.
  std::int32_t missing_index() const override { return index(""); }
  bool is_unknown(std::int32_t) const override { return false; }
  std::string describe() const override { return fmt::format("hashed to {} bins", spec_.num_bins); }
  nlohmann::json learned() const override { return nlohmann::json::object(); }

 private:
  HashingSpec spec_;
};

const RegisteredEncoder kHashing = encoder_def<HashingSpec, Hashing>(
    table::ColumnType::kCategory,
    config::Schema::of<HashingSpec>("Hashing")
        .positional(
            key("num_bins", &HashingSpec::num_bins).required().at_least(1).at_most(1'000'000'000).doc("number of bins"))
        .key(key("salt", &HashingSpec::salt)
                 .check([](const std::vector<std::int64_t>& salt) {
                   return salt.size() <= 2 ? "" : "must be a number or a list of two";
                 })
                 .doc("key of SipHash in place of FarmHash")));

}  // namespace
}  // namespace dptrain::data
