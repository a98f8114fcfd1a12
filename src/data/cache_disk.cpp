#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/once.h"
#include "core/text.h"
#include "data/cache.h"
#include "data/sources/hash.h"

namespace dptrain::data {
namespace {

/// The start of the file; samples follow at kDataOffset, then the CRC-32 of each, then a byte for each: 1 where there
/// is a sample.
struct CacheHeader {
  char magic[16];
  std::uint64_t key, samples, bytes;  ///< bytes: of one sample
  std::uint64_t type, rank;
  std::int64_t dims[8];
};
constexpr char kMagic[16] = "dptrain cache 2";
constexpr std::size_t kDataOffset = 4096;  // a page
constexpr std::size_t kCrcBytes = 4;
static_assert(sizeof(CacheHeader) <= kDataOffset);

std::size_t file_bytes(const CacheHeader& header) {
  return kDataOffset + header.samples * (header.bytes + kCrcBytes + 1);
}

[[noreturn]] void fail(const std::string& file, const char* what) {
  throw Error(ErrorKind::kWrite, fmt::format("{}: cannot {}: {}", file, what, std::generic_category().message(errno)));
}

/// A descriptor; closing it also gives up a lock.
class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

class Mapping {
 public:
  Mapping() = default;
  Mapping(int descriptor, std::size_t bytes, bool write) : bytes_(bytes) {
    void* const at = mmap(nullptr, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor, 0);
    if (at != MAP_FAILED) at_ = static_cast<std::uint8_t*>(at);
  }
  ~Mapping() {
    if (at_ != nullptr) munmap(at_, bytes_);
  }
  Mapping(Mapping&& other) noexcept : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  std::uint8_t* get() const { return at_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::uint8_t* at_ = nullptr;
  std::size_t bytes_ = 0;
};

class DiskStore final : public CacheStore {
 public:
  DiskStore(std::string file, std::int64_t samples, const std::string& key)
      : file_(std::move(file)),
        part_(file_ + ".part"),
        key_(hash_bytes(key.data(), key.size())),
        states_(static_cast<std::size_t>(samples)) {
    if (!open_finished()) begin();
  }
  ~DiskStore() override {
    if (out_ && !finished_) unlink(part_.c_str());
  }

  bool find(std::int64_t index, ImageView& out) const override {
    const auto i = static_cast<std::size_t>(index);
    const std::uint8_t state = states_[i].load(std::memory_order_acquire);
    if (state != kReady && state != kStored) return false;
    if (in_ && is_cut_short()) return false;
    if (state == kStored && !is_intact(i)) return false;
    out.shape = shape_;
    out.type = header_.type == 0 ? DType::kU8 : DType::kF32;
    out.data = row(i);
    return true;
  }

  void keep(std::int64_t index, const Array& sample) override {
    if (!out_ || finished_.load()) return;
    started_.run([&] { allocate(sample); });
    const auto i = static_cast<std::size_t>(index);
    std::uint8_t empty = kEmpty;
    if (sample.shape != shape_ || (sample.type == DType::kU8) != (header_.type == 0)) {
      give_up(index);
      return;
    }
    if (!states_[i].compare_exchange_strong(empty, kTaken)) return;
    std::memcpy(row(i), sample.type == DType::kU8 ? static_cast<const void*>(sample.u8.data()) : sample.f32.data(),
                header_.bytes);
    const std::uint32_t crc = crc_of(i);
    std::memcpy(crcs() + i * kCrcBytes, &crc, kCrcBytes);
    flags()[i] = 1;
    states_[i].store(kReady, std::memory_order_release);
    tried_one();
  }

  void give_up(std::int64_t index) override {
    if (!out_ || finished_.load()) return;
    std::uint8_t empty = kEmpty;
    if (states_[static_cast<std::size_t>(index)].compare_exchange_strong(empty, kBad)) tried_one();
  }

 private:
  /// kStored: in the file of another run, and not yet compared with its CRC.
  static constexpr std::uint8_t kEmpty = 0, kTaken = 1, kReady = 2, kBad = 3, kStored = 4;

  std::uint8_t* row(std::size_t i) const { return map_.get() + kDataOffset + i * header_.bytes; }
  std::uint8_t* crcs() const { return row(header_.samples); }
  std::uint8_t* flags() const { return crcs() + header_.samples * kCrcBytes; }

  std::uint32_t crc_of(std::size_t i) const {
    return static_cast<std::uint32_t>(crc32_z(0, row(i), static_cast<z_size_t>(header_.bytes)));
  }

  /// Memory behind the end of the file must not be touched.
  bool is_cut_short() const {
    struct stat facts {};
    const bool cut = fstat(in_.get(), &facts) != 0 || static_cast<std::size_t>(facts.st_size) < map_.bytes();
    if (cut && !warned_.exchange(true))
      log::warn(fmt::format("{}: it has been cut short meanwhile; this run goes on without the cache", file_));
    return cut;
  }

  bool is_intact(std::size_t i) const {
    std::uint32_t crc = 0;
    std::memcpy(&crc, crcs() + i * kCrcBytes, kCrcBytes);
    const bool intact = crc == crc_of(i);
    states_[i].store(intact ? kReady : kBad, std::memory_order_release);
    if (!intact && !warned_.exchange(true))
      log::warn(
          fmt::format("{}: sample {} does not agree with its checksum; what is damaged is read from the data set "
                      "again; delete the file",
                      file_, i));
    return intact;
  }

  /// False where there is no file, or one of other data, other transforms or another length.
  bool open_finished() {
    File in(open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    if (!in || fstat(in.get(), &facts) != 0) return false;
    if (pread(in.get(), &header_, sizeof header_, 0) != static_cast<ssize_t>(sizeof header_) ||
        std::memcmp(header_.magic, kMagic, sizeof kMagic) != 0 || header_.key != key_ ||
        header_.samples != states_.size() || header_.rank > std::size(header_.dims) || header_.type > 1)
      return false;
    shape_ = Shape(std::vector<std::int64_t>(header_.dims, header_.dims + header_.rank));
    const auto size = static_cast<std::size_t>(facts.st_size);
    const auto elements = static_cast<std::uint64_t>(shape_.elements());
    if (header_.bytes != elements * (header_.type == 0 ? 1 : sizeof(float)) || size != file_bytes(header_))
      return false;
    map_ = Mapping(in.get(), size, false);
    if (map_.get() == nullptr) return false;
    for (std::size_t i = 0; i < states_.size(); ++i) states_[i].store(flags()[i] == 1 ? kStored : kBad);
    in_ = std::move(in);
    finished_.store(true);
    return true;
  }

  void begin() {
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(file_).parent_path(), failed);
    for (;;) {
      File out(open(part_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
      if (!out) fail(part_, "be opened");
      if (flock(out.get(), LOCK_EX | LOCK_NB) != 0)
        return log::warn(fmt::format("{} is being written by another process; this run goes without the cache", file_));
      if (!has_name(out, part_)) continue;  // the other one has just given the file its real name, or removed it
      out_ = std::move(out);
      return;
    }
  }

  static bool has_name(const File& file, const std::string& name) {
    struct stat mine {
    }, named{};
    return fstat(file.get(), &mine) == 0 && stat(name.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
           mine.st_dev == named.st_dev;
  }

  void allocate(const Array& sample) {
    std::memcpy(header_.magic, kMagic, sizeof kMagic);
    header_.key = key_;
    header_.samples = states_.size();
    header_.type = sample.type == DType::kU8 ? 0 : 1;
    header_.bytes = static_cast<std::uint64_t>(sample.shape.elements()) * (header_.type == 0 ? 1 : sizeof(float));
    header_.rank = static_cast<std::uint64_t>(sample.shape.rank());
    if (header_.rank > std::size(header_.dims)) throw Error(ErrorKind::kInternal, "cache: samples of more than 8 axes");
    for (std::size_t i = 0; i < header_.rank; ++i) header_.dims[i] = sample.shape.dims()[i];
    shape_ = sample.shape;
    const std::size_t bytes = file_bytes(header_);
    if (ftruncate(out_.get(), 0) != 0) fail(part_, "be emptied");
    if (const int error = posix_fallocate(out_.get(), 0, static_cast<off_t>(bytes)); error != 0) {
      errno = error;
      fail(part_,
           fmt::format("hold {} samples of {}, {}", states_.size(), sample.shape.str(), human_bytes(bytes)).c_str());
    }
    map_ = Mapping(out_.get(), bytes, true);
    if (map_.get() == nullptr) fail(part_, "be mapped into memory");
  }

  /// The last one makes the file whole.
  void tried_one() {
    if (tried_.fetch_add(1) + 1 < states_.size() || map_.get() == nullptr) return;
    std::memcpy(map_.get(), &header_, sizeof header_);
    const bool good = msync(map_.get(), map_.bytes(), MS_SYNC) == 0 && fsync(out_.get()) == 0 &&
                      rename(part_.c_str(), file_.c_str()) == 0;
    if (!good) fail(file_, "be written");
    finished_.store(true);
    const File folder(open(std::filesystem::path(file_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder) fsync(folder.get());
  }

  const std::string file_, part_;
  const std::uint64_t key_;
  File in_;   ///< a finished file of before
  File out_;  ///< locked, while this process writes the file
  CacheHeader header_{};
  Shape shape_;
  Mapping map_;
  mutable std::vector<std::atomic<std::uint8_t>> states_;
  mutable std::atomic<bool> warned_{false};
  std::atomic<std::size_t> tried_{0};
  std::atomic<bool> finished_{false};
  Once started_;
};

}  // namespace

std::unique_ptr<CacheStore> disk_store(const std::string& file, std::int64_t samples, const std::string& key) {
  return std::make_unique<DiskStore>(file, samples, key);
}

}  // namespace dptrain::data
