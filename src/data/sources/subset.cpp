#include "data/sources/subset.h"

#include <numeric>

#include "core/format.h"
#include "data/sources/hash.h"
#include "data/sources/wrapped_source.h"

namespace dptrain::data {
namespace {

class Subset final : public WrappedSource {
 public:
  Subset(std::shared_ptr<const Source> whole, std::vector<std::int64_t> indices, std::string fingerprint)
      : WrappedSource(std::move(whole)), indices_(std::move(indices)), fingerprint_(std::move(fingerprint)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  const std::uint8_t* u8_rows(int input) const override { return of().u8_rows(input); }
  const float* f32_rows(int input) const override { return of().f32_rows(input); }
  std::int64_t row(std::int64_t index) const override { return of().row(at(index)); }
  std::string learn(const std::vector<std::int64_t>& samples) const override {
    std::vector<std::int64_t> there;
    there.reserve(samples.size());
    for (const std::int64_t sample : samples) there.push_back(at(sample));
    return of().learn(there);
  }
  std::shared_ptr<const Source> taught(const std::string& learned) const override {
    std::shared_ptr<const Source> whole = of().taught(learned);
    return whole == nullptr ? nullptr : std::make_shared<Subset>(std::move(whole), indices_, fingerprint_);
  }
  std::string fingerprint() const override { return fingerprint_; }
  std::string cache_key() const override { return fingerprint_ + " in " + of().cache_key(); }

 private:
  std::int64_t at(std::int64_t index) const override { return indices_[static_cast<std::size_t>(index)]; }

  std::vector<std::int64_t> indices_;
  std::string fingerprint_;
};

}  // namespace

std::shared_ptr<const Source> subset(std::shared_ptr<const Source> whole, std::vector<std::int64_t> indices,
                                     const std::string& label) {
  const std::uint64_t hash = hash_bytes(indices.data(), indices.size() * sizeof indices[0]);
  std::string fingerprint = fmt::format("{}:{}:{:016x} of {}", label, indices.size(), hash, whole->fingerprint());
  return std::make_shared<Subset>(std::move(whole), std::move(indices), std::move(fingerprint));
}

std::shared_ptr<const Source> take(std::shared_ptr<const Source> whole, std::int64_t count) {
  if (count >= whole->size()) return whole;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return subset(std::move(whole), std::move(indices), "take");
}

}  // namespace dptrain::data
