// Products of a block of rows with the weights of a step, packed for the tiles of gemm-inl.h, and other code that the
// recurrent cells share. Rows of sums are padded_units() floats apart.

#if defined(DPTRAIN_KERNELS_CPU_RECURRENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_RECURRENT_INL_H
#undef DPTRAIN_KERNELS_CPU_RECURRENT_INL_H
#else
#define DPTRAIN_KERNELS_CPU_RECURRENT_INL_H
#endif

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/gemm_pack-inl.h"
#include "kernels/cpu/recurrent.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Rows of a block, which share a tile of weights in the L1 cache.
inline constexpr int64_t kBlockRows = 12;
static_assert(kBlockRows % kTileRows == 0);

HWY_INLINE int64_t padded_units(int64_t units) { return channel_blocks(units) * kChannelBlock; }

/// Parts of K that a product uses, out of `all` parts in panels or weights; a part has padded_units().
struct PartRange {
  int64_t all = 1, first = 0, count = 1;
};

HWY_INLINE int64_t packed_weights(int64_t parts, int64_t units) {
  return parts * padded_units(units) * padded_units(units);
}

/// Packs weights of `parts` parts of K and `units` columns into tiles of kTileColumns columns, padded with zeros.
/// Element (part, k, column) is at from[part * of_part + k * of_k + column * of_column].
inline void pack_weights(const float* from, int64_t parts, int64_t units, int64_t of_part, int64_t of_k,
                         int64_t of_column, float* to) {
  const int64_t depth = padded_units(units);
  for (int64_t tile = 0; tile < units; tile += kTileColumns) {
    const int64_t width = tile_vectors(units, tile) * kLanes;
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t c = tile; c < tile + width; ++c)
          *to++ = k < units && c < units ? from[part * of_part + k * of_k + c * of_column] : 0.0F;
  }
}

HWY_INLINE int64_t panel_floats(int64_t parts, int64_t units) { return kBlockRows * parts * padded_units(units); }

HWY_INLINE void put_panel_row(const float* values, int64_t units, int64_t parts, int64_t part, int64_t row,
                              float* panels) {
  const int64_t blocks = channel_blocks(units);
  float* const to = panels + (row / kTileRows * parts + part) * blocks * kPanelBlock + row % kTileRows * kChannelBlock;
  copy_blocks(values, units, 0, blocks, to, kPanelBlock);
}

/// sums[row][column] = product of rows [0, rows) of panels with packed weights, over parts of K.
inline void multiply_step(int64_t rows, int64_t units, const float* panels, PartRange of_panels, const float* weights,
                          PartRange of_weights, float* sums) {
  const int64_t depth = padded_units(units), blocks = channel_blocks(units);
  const float* const a = panels + of_panels.first * blocks * kPanelBlock;
  for (int64_t tile = 0; tile < units; tile += kTileColumns)
    with_vectors(tile_vectors(units, tile), [&](auto vectors) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      const float* const b = weights + of_weights.all * depth * tile + of_weights.first * depth * kVectors * kLanes;
      for (int64_t first = 0; first < rows; first += kTileRows)
        with_rows(rows - first, [&](auto count) HWY_ATTR {
          Tile<decltype(count)::value, kVectors> products;
          products.clear();
          products.add(of_panels.count * blocks, a + first / kTileRows * of_panels.all * blocks * kPanelBlock,
                       kPanelBlock, b, NoPrefetch{});
          products.store(sums + first * depth + tile, depth);
        });
    });
}

/// y = f(x), and dx = dy f'(x) from y, over n floats.
HWY_INLINE void apply_kind(Activation kind, const float* x, float* y, int64_t n) {
  forward_piece(kind, traits_of(kind).alpha, x, y, n);
}
HWY_INLINE void differentiate_kind(Activation kind, const float* y, const float* dy, float* dx, int64_t n) {
  backward_from_output_piece(kind, traits_of(kind).alpha, y, dy, dx, n);
}

HWY_INLINE void add_row(const float* x, float* y, int64_t n) {
  sweep(n, [&](int64_t i, auto io) HWY_ATTR { io.store(hn::Add(io.load(y + i), io.load(x + i)), y + i); });
}
HWY_INLINE void copy_row(const float* x, float* y, int64_t n) {
  std::memcpy(y, x, static_cast<size_t>(n) * sizeof(float));
}
HWY_INLINE void clear_row(float* y, int64_t n) { std::memset(y, 0, static_cast<size_t>(n) * sizeof(float)); }
HWY_INLINE void copy_or_clear_row(const float* x, float* y, int64_t n) {
  if (x != nullptr)
    copy_row(x, y, n);
  else
    clear_row(y, n);
}

/// Time index of step number s.
HWY_INLINE int64_t place_of(const RecurrentSteps& steps, int64_t s) {
  return steps.backwards ? steps.steps - 1 - s : s;
}
HWY_INLINE bool is_valid(const RecurrentSteps& steps, int64_t row, int64_t t) {
  return steps.mask == nullptr || steps.mask[row * steps.steps + t] != 0;
}
/// Number of the first valid step of a row; `steps` if there is none.
HWY_INLINE int64_t first_valid(const RecurrentSteps& steps, int64_t row) {
  int64_t s = 0;
  while (s < steps.steps && !is_valid(steps, row, place_of(steps, s))) ++s;
  return s;
}

/// Position of a valid step in sums and saved tensors.
HWY_INLINE int64_t position_of(const RecurrentSteps& steps, int64_t row, int64_t t) {
  const int64_t at = row * steps.steps + t;
  return steps.places == nullptr ? at : steps.places[at];
}

/// The rows of a block, and those of them that are valid at the current step: each of these has a slot, its row of
/// panels and sums. Without a mask slots equal row numbers.
class BlockRows {
 public:
  BlockRows(const RecurrentSteps& steps, int64_t first, int64_t count) : steps_(steps), count_(count), active_(count) {
    for (int64_t r = 0; r < count; ++r) {
      rows_[r] = steps.order == nullptr ? first + r : steps.order[first + r];
      begins_[r] = first_valid(steps, rows_[r]);
      numbers_[r] = r;
    }
  }

  int64_t count() const { return count_; }
  /// Index among all rows.
  int64_t operator[](int64_t r) const { return rows_[r]; }
  /// Whether the row had a valid step up to step number s.
  bool has_begun(int64_t r, int64_t s) const { return s >= begins_[r]; }

  void select_step(int64_t t) {
    if (steps_.mask == nullptr) return;
    int64_t first_skipped = count_;
    active_ = 0;
    for (int64_t r = 0; r < count_; ++r) numbers_[is_valid(steps_, rows_[r], t) ? active_++ : --first_skipped] = r;
  }
  int64_t active() const { return active_; }
  /// The row of a slot; from active() to count(): rows that skip the step.
  int64_t at(int64_t slot) const { return numbers_[slot]; }
  /// From here to count(): rows that skip the step but have a position for it.
  int64_t first_skipped() const { return steps_.places == nullptr ? active_ : count_; }

 private:
  const RecurrentSteps& steps_;
  int64_t count_, active_;
  int64_t rows_[kBlockRows] = {}, begins_[kBlockRows] = {}, numbers_[kBlockRows] = {};
};

/// The output of step number s of a row; null if there is none.
template <class T>
HWY_INLINE T* output_of(const RecurrentSteps& steps, T* y, int64_t row, int64_t s) {
  if (y == nullptr || (!steps.sequences && s + 1 < steps.steps)) return nullptr;
  return y + (steps.sequences ? row * steps.steps + s : row) * steps.units;
}

template <class Block, class Pass>
void run_block(const void* work, int64_t piece, float* scratch) {
  const Pass& pass = *static_cast<const Pass*>(work);
  const int64_t rows = pass.steps.rows, size = even_block(kBlockRows, rows, kTileRows / 3), first = piece * size;
  Block(pass, first, std::min(size, rows - first), scratch).run();
}
/// Runs Block(pass, first row, rows, scratch).run() for blocks of rows that cover all rows.
template <class Block, class Pass>
RecurrentWork work_of(const Pass& pass, int64_t scratch) {
  const int64_t rows = pass.steps.rows, size = even_block(kBlockRows, rows, kTileRows / 3);
  return {pieces_of(rows, size), scratch, &pass, run_block<Block, Pass>};
}

HWY_INLINE const float* factors_of(const RecurrentSteps& steps, int64_t gate, int64_t row) {
  return steps.state_factors + (gate * steps.rows + row) * steps.units;
}
HWY_INLINE void add_product(const float* x, const float* factors, float* y, int64_t n) {
  sweep(n, [&](int64_t i, auto io)
               HWY_ATTR { io.store(hn::MulAdd(io.load(x + i), io.load(factors + i), io.load(y + i)), y + i); });
}
HWY_INLINE void multiply_rows_of(const float* a, const float* b, float* y, int64_t n) {
  map(
      n, y, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(p, q); }, a, b);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
