#include "search/pieces.h"

#include "search/gathered_words.h"
#include "search/integer_columns.h"
#include "search/recurrence.h"

namespace axrun::search {

using ir::Program;
using ir::Stage;
using ir::StageKind;

std::string_view name_of(Piece::Kind kind) {
  constexpr std::string_view names[] = {
      "windows",         "gathered",          "contraction",     "rows",           "map",
      "recurrence",      "attention",         "integer product", "gathered words", "chained windows",
      "chained product", "inverted residual", "pixels",          "mapped windows", "integer columns"};
  return names[static_cast<size_t>(kind)];
}

namespace {

class Cutter {
 public:
  Cutter(const Program& program, const SizeFacts& facts, const std::vector<bool>& constant,
         const jit::Target& target)
      : program_(program), facts_(facts), constant_(constant), target_(target) {}

  Pieces run() {
    Pieces result;
    for (size_t at = 0; at < program_.stages.size();) {
      Piece piece;
      if (is_scan(at)) {
        piece.kind = Piece::Kind::recurrence;
        piece.range = {at, 1};
        const RecurrenceStep step(program_.stages[at], ir::Dim::symbol("time"), facts_, constant_, target_);
        result.reason = step.pieces.reason;
        if (!result.reason.empty()) return result;
      } else if (!chained_windows(at, piece) && !windows(at, piece) && !pixels(at, piece) &&
                 !gathered(at, piece) && !gathered_words(at, piece) && !attention(at, piece) &&
                 !inverted_residual(at, piece) && !mapped_windows(at, piece) && !chained_product(at, piece) &&
                 !contraction(at, piece) && !integers(at, piece, Piece::Kind::integer_product) &&
                 !integers(at, piece, Piece::Kind::integer_columns) && !rows(at, piece) && !map(at, piece)) {
        result.reason = "stage '" + program_.stages[at].name + "': " + reason_;
        return result;
      }
      at += piece.range.count;
      result.pieces.push_back(std::move(piece));
    }
    return result;
  }

 private:
  bool is_scan(size_t at) const { return program_.stages[at].kind == StageKind::scan; }

  /// The map after a stage, if nothing else reads the stage's result.
  const Stage* epilogue(size_t at) const {
    const bool followed = at + 1 < program_.stages.size() && program_.stages[at + 1].kind == StageKind::map &&
                          !is_read_outside(program_, program_.stages[at].results[0], {at, 2});
    return followed ? &program_.stages[at + 1] : nullptr;
  }

  bool windows(size_t at, Piece& piece) const {
    piece.kind = Piece::Kind::windows;
    piece.range = {at, 2};
    FoundWindows found;
    if (epilogue(at) != nullptr) found = find_windows(program_, program_.stages[at], epilogue(at));
    if (!found.found) {
      piece.range.count = 1;
      found = find_windows(program_, program_.stages[at], nullptr);
    }
    piece.windows = std::move(found.form);
    return found.found;
  }

  /// Windows, and sums of products over what they give.
  bool chained_windows(size_t at, Piece& piece) const {
    Piece first, second;
    if (!windows(at, first)) return false;
    const size_t sum = at + first.range.count;
    if (sum >= program_.stages.size() || !gathered(sum, second)) return false;
    piece.kind = Piece::Kind::chained_windows;
    piece.range = {at, first.range.count + second.range.count};
    auto found = find_chained_windows(program_, first.windows, second.gathered, {at, first.range.count + 1});
    if (found) piece.chained_windows = std::move(*found);
    return found.has_value();
  }

  bool pixels(size_t at, Piece& piece) const {
    piece.kind = Piece::Kind::pixels;
    piece.range = {at, 2};
    std::optional<PixelsForm> found;
    if (epilogue(at) != nullptr) found = find_pixels(program_, program_.stages[at], epilogue(at), constant_);
    if (!found) {
      piece.range.count = 1;
      found = find_pixels(program_, program_.stages[at], nullptr, constant_);
    }
    if (found) piece.pixels = std::move(*found);
    return found.has_value();
  }

  bool gathered(size_t at, Piece& piece) const {
    piece.kind = Piece::Kind::gathered;
    piece.range = {at, 2};
    FoundGathered found;
    if (epilogue(at) != nullptr)
      found = find_gathered(program_, program_.stages[at], epilogue(at), constant_);
    if (!found.found) {
      piece.range.count = 1;
      found = find_gathered(program_, program_.stages[at], nullptr, constant_);
    }
    piece.gathered = std::move(found.form);
    return found.found;
  }

  bool gathered_words(size_t at, Piece& piece) const {
    piece.kind = Piece::Kind::gathered_words;
    FoundGathered found;
    for (const size_t count : {size_t{2}, size_t{1}}) {
      const Stage* map = count == 2 ? epilogue(at) : nullptr;
      if (count == 2 && map == nullptr) continue;
      piece.range = {at, count};
      found = find_gathered_words(program_, program_.stages[at], map, constant_);
      if (found.found) break;
    }
    piece.gathered = std::move(found.form);
    return found.found;
  }

  /// Products, rows of them, and products of those.
  bool attention(size_t at, Piece& piece) {
    Piece scores, between, output;
    if (!contraction(at, scores)) return false;
    const size_t row_stage = at + scores.range.count;
    if (row_stage >= program_.stages.size() || stands_alone(row_stage) || !rows(row_stage, between))
      return false;
    const size_t last = row_stage + between.range.count;
    if (last >= program_.stages.size() || !contraction(last, output)) return false;
    piece.kind = Piece::Kind::attention;
    piece.range = {at, last + output.range.count - at};
    FoundAttention found =
        find_attention(program_, scores.product, between.rows, output.product, piece.range);
    piece.attention = std::move(found.form);
    return found.found;
  }

  /// Products, and windows that move over them.
  bool chained_product(size_t at, Piece& piece) const {
    Piece first, second;
    if (!contraction(at, first)) return false;
    const size_t next = at + first.range.count;
    if (next >= program_.stages.size() || !windows(next, second)) return false;
    piece.kind = Piece::Kind::chained_product;
    piece.range = {at, first.range.count + second.range.count};
    auto found =
        find_chained_product(program_, target_, first.product, second.windows, {at, first.range.count + 1});
    if (found) piece.chained_product = std::move(*found);
    return found.has_value();
  }

  /// A map, what is prepared, and windows that move over the map.
  bool mapped_windows(size_t at, Piece& piece) const {
    const auto is_prepared = [&](size_t s) {
      return constant_[static_cast<size_t>(program_.stages[s].results[0])];
    };
    Piece last;
    if (!map(at, last) || is_prepared(at)) return false;
    size_t next = at + 1;
    std::vector<size_t> prepared;
    for (; next < program_.stages.size() && is_prepared(next) && map(next, last); ++next)
      prepared.push_back(next);
    if (next >= program_.stages.size() || !windows(next, last)) return false;
    piece.kind = Piece::Kind::mapped_windows;
    piece.range = {at, next + last.range.count - at};
    auto found = find_mapped_windows(program_, facts_, last.windows, {at, next + 1 - at});
    if (!found) return false;
    piece.mapped_windows = std::move(*found);
    piece.mapped_windows.prepared = std::move(prepared);
    return true;
  }

  /// Products, windows that move over them, and sums of products over what these give.
  bool inverted_residual(size_t at, Piece& piece) const {
    Piece first, others;
    if (!contraction(at, first)) return false;
    const size_t next = at + first.range.count;
    if (next >= program_.stages.size() || !chained_windows(next, others)) return false;
    piece.kind = Piece::Kind::inverted_residual;
    piece.range = {at, first.range.count + others.range.count};
    auto found =
        find_inverted_residual(program_, first.product, others.chained_windows, {at, first.range.count + 1});
    if (found) piece.inverted_residual = std::move(*found);
    return found.has_value();
  }

  bool contraction(size_t at, Piece& piece) const {
    const Stage& sum = program_.stages[at];
    piece.kind = Piece::Kind::contraction;
    piece.range = {at, 2};
    FoundProduct found;
    if (epilogue(at) != nullptr) found = find_product(program_, sum, epilogue(at), constant_);
    if (!found.found) {
      piece.range.count = 1;
      found = find_product(program_, sum, nullptr, constant_);
    }
    if (!found.found || is_better_by_rows(found.form)) return false;
    piece.product = std::move(found.form);
    return true;
  }

  bool integers(size_t at, Piece& piece, Piece::Kind kind) const {
    piece.kind = kind;
    const auto find = kind == Piece::Kind::integer_product ? find_integer_product : find_integer_columns;
    FoundIntegerProduct found;
    for (const size_t count : {size_t{2}, size_t{1}}) {
      const Stage* map = count == 2 ? epilogue(at) : nullptr;
      if (count == 2 && map == nullptr) continue;
      piece.range = {at, count};
      found = find(program_, program_.stages[at], map, constant_);
      if (found.found) break;
    }
    piece.integer_product = std::move(found.form);
    return found.found;
  }

  /// Vectors times matrices whose rows lie along the sum: each element is a sum of neighbours.
  bool is_better_by_rows(const ProductForm& form) const {
    if (form.right_constant) return false;
    const auto rows =
        form.row == ir::none ? 1 : facts_.typical(form.sum->axes[static_cast<size_t>(form.row)].extent);
    constexpr int64_t few = 2;
    return rows <= few && !columns_are_contiguous(program_, form);
  }

  /// As many stages as are computed row by row.
  bool rows(size_t at, Piece& piece) {
    piece.kind = Piece::Kind::rows;
    size_t longest = 0;
    while (at + longest < program_.stages.size() && (longest == 0 || !stands_alone(at + longest))) ++longest;
    for (size_t count = longest; count > 0; --count) {
      FoundRows found = find_rows(program_, {at, count});
      reason_ = found.reason;
      if (!found.found) continue;
      piece.range = {at, count};
      piece.rows = std::move(found.form);
      return true;
    }
    return false;
  }

  bool stands_alone(size_t at) const {
    Piece piece;
    return is_scan(at) || windows(at, piece) || gathered(at, piece) || gathered_words(at, piece) ||
           contraction(at, piece);
  }

  bool map(size_t at, Piece& piece) const {
    piece.kind = Piece::Kind::map;
    piece.range = {at, 1};
    return program_.stages[at].kind == StageKind::map;
  }

  const Program& program_;
  const SizeFacts& facts_;
  const std::vector<bool>& constant_;
  const jit::Target& target_;
  std::string reason_;
};

}  // namespace

Pieces cut(const Program& program, const SizeFacts& facts, const std::vector<bool>& constant,
           const jit::Target& target) {
  return Cutter(program, facts, constant, target).run();
}

}  // namespace axrun::search
