#pragma once

// Feed: the blocks of several files, one file behind the other. next() is called by one thread at a time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "table/blocks.h"
#include "table/layout.h"
#include "table/read.h"

namespace dptrain::table {

struct FedBlock {
  Block block;
  std::shared_ptr<const FileLayout> layout{};
  std::string name;                          ///< of the file
  std::shared_ptr<const FileBytes> bytes{};  ///< of a plain one
  bool opens_file = false;                   ///< the first block of its file
  std::uint64_t lines_before = 0;            ///< of the header
};

class Feed {
 public:
  using Open = std::function<std::unique_ptr<Bytes>(std::size_t)>;
  /// Hears of each file's header before its fields are laid out. May change the schema and the layout, if nobody else
  /// reads them yet; may throw.
  using OnHeader = std::function<void(const std::vector<std::string>& names)>;
  Feed(const Schema& schema, const Layout& layout, std::size_t files, Open open, Blocks::Limits limits,
       OnHeader on_header = {});

  /// False behind the last one.
  bool next(FedBlock& out);
  /// Opens the first file, unless that is done.
  void start();
  /// Of the file that is open.
  const FileLayout& layout() const { return *file_; }

 private:
  bool open_next();

  const Schema& schema_;
  const Layout& layout_;
  const std::size_t files_;
  const Open open_;
  const Blocks::Limits limits_;
  const OnHeader on_header_;
  std::size_t opened_ = 0;
  bool fresh_ = false;
  std::unique_ptr<Blocks> blocks_;
  std::shared_ptr<const FileLayout> file_;
};

Blocks::Limits limits_of(const ReadOptions& options);

}  // namespace dptrain::table
