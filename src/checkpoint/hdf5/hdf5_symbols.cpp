#include "checkpoint/hdf5/hdf5_symbols.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace dptrain::checkpoint {
namespace {

class SymbolReader {
 public:
  SymbolReader(const Hdf5Bytes& file, const Hdf5Header& header) : file_(file) {
    const std::vector<std::byte> prefix = file.read(header.heap, 32);
    Cursor at(file, prefix);
    if (!at.signature("HEAP")) file.damaged("a group has no heap of names");
    at.skip(4);
    const std::uint64_t size = at.u64();
    at.skip(8);
    names_ = file.read(at.u64(), size);
    tree(header.tree, 32);
  }

  Hdf5Symbols take() { return std::move(symbols_); }

 private:
  void count_node() {
    // Each node takes 24 bytes or more, so a sound tree has fewer; a million holds millions of names.
    if (++nodes_ > std::min<std::uint64_t>(file_.size() / 24, 1'000'000))
      file_.damaged("the names of a group go round in circles");
  }

  void tree(std::uint64_t address, int max_level) {
    count_node();
    const std::vector<std::byte> head = file_.read(address, 24);
    Cursor at(file_, head);
    if (!at.signature("TREE") || at.u8() != 0) file_.damaged("a group has no tree of names");
    const int level = at.u8();
    if (level > max_level) file_.damaged("the tree of names of a group is not a tree");
    const std::uint64_t entries = at.u16();
    const std::vector<std::byte> body = file_.read(address + 24, (2 * entries + 1) * 8);
    Cursor entry(file_, body);
    for (std::uint64_t i = 0; i < entries; ++i) {
      entry.skip(8);  // key
      const std::uint64_t child = entry.u64();
      if (level > 0)
        tree(child, level - 1);
      else
        symbols(child);
    }
  }

  void symbols(std::uint64_t address) {
    count_node();
    const std::vector<std::byte> head = file_.read(address, 8);
    Cursor at(file_, head);
    if (!at.signature("SNOD") || at.u8() != 1) file_.damaged("a group has no table of names");
    at.skip(1);
    const std::uint64_t count = at.u16();
    const std::vector<std::byte> body = file_.read(address + 8, count * 40);
    Cursor entry(file_, body);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t name = entry.u64(), object = entry.u64();
      const bool soft = entry.u32() == 2;
      entry.skip(20);
      if (name >= names_.size()) file_.damaged("a name of a group lies outside of its heap");
      symbols_.emplace(until_nul(std::span(names_).subspan(static_cast<std::size_t>(name))),
                       soft ? kUndefinedAddress : object);
    }
  }

  const Hdf5Bytes& file_;
  std::vector<std::byte> names_;
  Hdf5Symbols symbols_;
  std::uint64_t nodes_ = 0;
};

}  // namespace

Hdf5Symbols read_symbols(const Hdf5Bytes& file, const Hdf5Header& group) {
  if (!group.has_symbol_table) return group.links;
  if (!group.links.empty()) file.damaged("a group has a symbol table as well as links");
  return SymbolReader(file, group).take();
}

}  // namespace dptrain::checkpoint
