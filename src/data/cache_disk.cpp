#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "core/format.h"
#include "core/log.h"
#include "data/cache_part.h"
#include "data/sources/hash.h"

namespace dptrain::data {
namespace {

/// A whole file, of this run or of one before. Any thread.
class WholeCache {
 public:
  /// Null where there is no file, or one of other data, other transforms or another length.
  static std::unique_ptr<WholeCache> open(const std::string& file, std::uint64_t key, std::uint64_t samples) {
    CacheFile in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    CacheHeader header;
    if (!in || fstat(in.get(), &facts) != 0 ||
        pread(in.get(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
        std::memcmp(header.magic, kCacheMagic, sizeof kCacheMagic) != 0 || header.key != key ||
        header.samples != samples || header.rank > std::size(header.dims) || header.type > 1)
      return nullptr;
    const Shape shape(std::vector<std::int64_t>(header.dims, header.dims + header.rank));
    const auto elements = static_cast<std::uint64_t>(shape.elements());
    const std::uint64_t bytes = CacheLayout(samples).bytes(header);
    if (header.bytes != elements * (header.type == 0 ? 1 : sizeof(float)) ||
        static_cast<std::uint64_t>(facts.st_size) != bytes)
      return nullptr;
    CacheMapping map(in, bytes, false);
    if (map.get() == nullptr) return nullptr;
    return std::unique_ptr<WholeCache>(new WholeCache(file, std::move(in), std::move(map), header, shape));
  }

  bool find(std::size_t index, ImageView& out) {
    const std::uint8_t state = states_[index].load(std::memory_order_acquire);
    if (state == kBad || is_cut_short() || (state == kUnseen && !is_intact(index))) return false;
    out.shape = shape_;
    out.type = header_.type == 0 ? DType::kU8 : DType::kF32;
    out.data = row(index);
    return true;
  }

 private:
  /// Of a sample: kUnseen has not yet been compared with its CRC.
  static constexpr std::uint8_t kBad = 0, kGood = 1, kUnseen = 2;

  WholeCache(std::string file, CacheFile in, CacheMapping map, const CacheHeader& header, Shape shape)
      : file_(std::move(file)),
        in_(std::move(in)),
        map_(std::move(map)),
        header_(header),
        layout_(header.samples),
        shape_(std::move(shape)),
        states_(static_cast<std::size_t>(header.samples)) {
    for (std::size_t i = 0; i < states_.size(); ++i)
      states_[i].store(map_.get()[layout_.flags + i] == kThere ? kUnseen : kBad);
  }

  const std::uint8_t* row(std::size_t i) const { return map_.get() + layout_.rows + i * header_.bytes; }

  /// Memory behind the end of the file must not be touched.
  bool is_cut_short() {
    struct stat facts {};
    const bool cut = fstat(in_.get(), &facts) != 0 || static_cast<std::uint64_t>(facts.st_size) < map_.bytes();
    if (cut && !warned_.exchange(true))
      log::warn(fmt::format("{}: it has been cut short meanwhile; this run goes on without the cache", file_));
    return cut;
  }

  bool is_intact(std::size_t i) {
    std::uint32_t crc = 0;
    std::memcpy(&crc, map_.get() + layout_.crcs + i * sizeof crc, sizeof crc);
    const bool intact = crc == cache_crc(row(i), header_.bytes);
    states_[i].store(intact ? kGood : kBad, std::memory_order_release);
    if (!intact && !warned_.exchange(true))
      log::warn(
          fmt::format("{}: sample {} does not agree with its checksum; what is damaged is read from the data set "
                      "again; delete the file",
                      file_, i));
    return intact;
  }

  const std::string file_;
  const CacheFile in_;
  const CacheMapping map_;
  const CacheHeader header_;
  const CacheLayout layout_;
  const Shape shape_;
  std::vector<std::atomic<std::uint8_t>> states_;
  std::atomic<bool> warned_{false};
};

class DiskStore final : public CacheStore {
 public:
  DiskStore(const std::string& file, std::uint64_t samples, std::uint64_t key)
      : whole_(WholeCache::open(file, key, samples)) {
    if (whole_) return;
    part_ = CachePart::open(file, key, samples);
    whole_ = WholeCache::open(file, key, samples);  // another process may have come to its end meanwhile
    if (whole_) part_.reset();
  }

  bool find(std::int64_t index, ImageView& out) const override {
    const auto i = static_cast<std::size_t>(index);
    return whole_ ? whole_->find(i, out) : part_ && part_->find(i, out);
  }
  void keep(std::int64_t index, const Array& sample) override {
    if (part_) part_->keep(static_cast<std::size_t>(index), sample);
  }
  void give_up(std::int64_t index) override {
    if (part_) part_->give_up(static_cast<std::size_t>(index));
  }

 private:
  std::unique_ptr<WholeCache> whole_;
  std::unique_ptr<CachePart> part_;
};

}  // namespace

std::unique_ptr<CacheStore> disk_store(const std::string& file, std::int64_t samples, const std::string& key) {
  return std::make_unique<DiskStore>(file, static_cast<std::uint64_t>(samples), hash_bytes(key.data(), key.size()));
}

}  // namespace dptrain::data
