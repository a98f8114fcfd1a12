#include "table/intake.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::table {

std::string BadRow::str() const {
  return column.empty() ? fmt::format("{}: {}", place, words)
                        : fmt::format("{}: column '{}': {}", place, printable(column), words);
}

BadRow bad_row(const BadField& bad, const FedBlock& block, std::uint64_t first_line) {
  BadRow row;
  row.place = fmt::format("{}:{}:{}", block.name, first_line + bad.line + 1, bad.byte + 1);
  if (bad.field >= 0 && static_cast<std::size_t>(bad.field) < block.layout->names.size())
    row.column = block.layout->names[static_cast<std::size_t>(bad.field)];
  row.words = bad.words;
  return row;
}

void settle_words(Converter& converter, const FedBlock& block, Converted& rows, const TableParts& parts,
                  std::int64_t most_words) {
  if (rows.fresh.empty()) return;
  std::vector<std::vector<std::int32_t>> codes(static_cast<std::size_t>(parts.layout.cells));
  for (const FileLayout::Place& place : block.layout->categories) {
    WordTable& table = converter.words(place.column);
    Vocabulary& vocabulary = (*parts.vocabularies)[static_cast<std::size_t>(place.column)];
    for (const std::string& word : table.new_words()) codes[place.slot].push_back(vocabulary.code(word));
    table.settle(codes[place.slot]);
    if (static_cast<std::int64_t>(vocabulary.words().size()) > most_words)
      throw Error(ErrorKind::kData,
                  fmt::format("{}: column '{}': found more than {} different words, expected a category; declare it "
                              "text or an id, or leave "
                              "the column out",
                              block.name, printable(parts.schema.columns[static_cast<std::size_t>(place.column)].name),
                              with_commas(most_words)));
  }
  const std::size_t width = codes.size();
  for (const std::size_t at : rows.fresh) {
    std::int32_t& code = rows.cells[at].code;
    code = codes[at % width][static_cast<std::size_t>(WordTable::kNew - code)];
  }
}

}  // namespace dptrain::table
