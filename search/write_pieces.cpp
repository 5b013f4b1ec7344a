#include "search/write_pieces.h"

#include <algorithm>

#include "ir/grammar.h"
#include "search/attention.h"
#include "search/chained_product.h"
#include "search/chained_windows.h"
#include "search/contraction.h"
#include "search/gathered.h"
#include "search/gathered_words.h"
#include "search/integer_columns.h"
#include "search/integer_product.h"
#include "search/inverted_residual.h"
#include "search/map.h"
#include "search/mapped_windows.h"
#include "search/pixels.h"
#include "search/product_schedules.h"
#include "search/recurrence.h"
#include "search/rows.h"
#include "search/windows.h"

namespace axrun::search {

using ir::Program;
using ir::TensorId;

namespace {

bool depends_on_loops(const Program& program, const ir::Stage& stage, const Sizes& sizes) {
  const auto is_size = [&](const std::string& name) {
    return std::any_of(sizes.begin(), sizes.end(),
                       [&](const ir::loop::Size& size) { return size.name == name; });
  };
  for (const ir::ExprId id : ir::reachable(program, stage.body)) {
    std::vector<std::string> names;
    program.exprs[static_cast<size_t>(id)].dim.collect_symbols(names);
    if (!std::all_of(names.begin(), names.end(), is_size)) return true;
  }
  return false;
}

/// Memory for what later pieces read.
void allocate_results(PieceContext& context, Range range) {
  for (size_t s = range.first; s < range.first + range.count; ++s) {
    const TensorId id = context.program.stages[s].results[0];
    if (context.buffers.count(id) != 0 || !is_read_outside(context.program, id, range)) continue;
    const ir::TensorDecl& tensor = context.program.tensors[static_cast<size_t>(id)];
    context.buffers[id] =
        context.writer.allocate(tensor.name, tensor.type, tensor.dims, ir::loop::Level::memory);
  }
}

/// The schedule of a rank where there is such a one.
std::optional<ScheduleReport> write_alternative(PieceContext& context, const Piece& piece,
                                                const ChosenSchedule& chosen) {
  const size_t rank = chosen.rank;
  if (piece.kind == Piece::Kind::gathered) {
    const std::vector<GatheredPlan> plans = gathered_plans(context, piece.gathered);
    if (rank >= plans.size()) return std::nullopt;
    write_gathered(context, piece.gathered, plans[rank]);
    return ScheduleReport{"plan " + std::to_string(rank)};
  }
  if (piece.kind == Piece::Kind::attention) {
    const std::vector<AttentionPlan> plans = attention_plans(context, piece.attention);
    if (rank >= plans.size()) return std::nullopt;
    write_attention(context, piece.attention, plans[rank]);
    return ScheduleReport{plans[rank].keys == 0 ? "all keys at once" : "keys in parts"};
  }
  if (piece.kind == Piece::Kind::contraction && chosen.given != nullptr) {
    write_scheduled_product(context, scheduled_as(context, piece.product, *chosen.given));
    return ScheduleReport{"given"};
  }
  if (piece.kind == Piece::Kind::contraction) {
    const auto otherwise = read_otherwise(context, plan_contraction(context, piece.product));
    if (otherwise && rank == 1) {
      write_contraction(context, *otherwise);
      return ScheduleReport{otherwise->side_by_side ? "read side by side" : "read in one sequence"};
    }
    const size_t before = otherwise ? 2 : 1;
    const std::vector<ProductSchedule> found = product_schedules(context, piece.product);
    if (rank - before >= found.size()) return std::nullopt;
    write_scheduled_product(context, found[rank - before].plan);
    return found[rank - before].report;
  }
  return std::nullopt;
}

void write_default(PieceContext& context, const Piece& piece) {
  switch (piece.kind) {
    case Piece::Kind::windows:
      return write_windows(context, piece.windows, plan_windows(context, piece.windows));
    case Piece::Kind::gathered:
      return write_gathered(context, piece.gathered, gathered_plans(context, piece.gathered)[0]);
    case Piece::Kind::mapped_windows:
      return write_mapped_windows(context, piece.mapped_windows);
    case Piece::Kind::pixels:
      return write_pixels(context, piece.pixels, plan_pixels(context, piece.pixels));
    case Piece::Kind::gathered_words:
      return write_gathered_words(context, piece.gathered);
    case Piece::Kind::contraction: {
      const ContractionPlan plan = plan_contraction(context, piece.product);
      if (const auto schedule = schedule_of_short_rows(context, plan))
        return write_scheduled_product(context, *schedule);
      return write_contraction(context, plan);
    }
    case Piece::Kind::rows:
      return write_rows(context, piece.rows, plan_rows(context, piece.rows));
    case Piece::Kind::map: {
      const ir::Stage& stage = context.program.stages[piece.range.first];
      return write_map(context, stage, plan_map(context, stage));
    }
    case Piece::Kind::attention:
      return write_attention(context, piece.attention, attention_plans(context, piece.attention)[0]);
    case Piece::Kind::chained_windows:
      return write_chained_windows(context, piece.chained_windows,
                                   plan_chained_windows(context, piece.chained_windows));
    case Piece::Kind::chained_product:
      return write_chained_product(context, piece.chained_product,
                                   plan_chained_product(context, piece.chained_product));
    case Piece::Kind::inverted_residual:
      return write_inverted_residual(context, piece.inverted_residual,
                                     plan_inverted_residual(context, piece.inverted_residual));
    case Piece::Kind::integer_product:
      return write_integer_product(context, piece.integer_product);
    case Piece::Kind::integer_columns:
      return write_integer_columns(context, piece.integer_product);
    case Piece::Kind::recurrence:
      return write_recurrence(context, context.program.stages[piece.range.first]);
  }
}

}  // namespace

std::vector<bool> constant_tensors(const Program& program, const std::vector<bool>& constant_operands,
                                   const Sizes& sizes) {
  std::vector<bool> constant(program.tensors.size(), false);
  for (size_t k = 0; k < program.operands.size() && k < constant_operands.size(); ++k) {
    if (program.operands[k] != ir::none)
      constant[static_cast<size_t>(program.operands[k])] = constant_operands[k];
  }
  for (const ir::Stage& stage : program.stages) {
    if (stage.kind == ir::StageKind::scan) continue;
    bool same = !depends_on_loops(program, stage, sizes);
    for (const ir::ExprId load : loads_of(program, stage.body[0])) {
      same = same && constant[static_cast<size_t>(program.exprs[static_cast<size_t>(load)].integer)];
    }
    constant[static_cast<size_t>(stage.results[0])] = same;
  }
  return constant;
}

std::optional<ScheduleReport> write_pieces(PieceContext& context, const Pieces& pieces,
                                           const ChosenSchedule& chosen) {
  std::optional<ScheduleReport> report = ScheduleReport();
  for (size_t n = 0; n < pieces.pieces.size(); ++n) {
    const Piece& piece = pieces.pieces[n];
    const auto make = [&] {
      if (piece.kind != Piece::Kind::recurrence) allocate_results(context, piece.range);
      for (const auto& [tensor, buffer] : context.buffers) context.values.read_buffer(tensor, buffer);
      if (n == chosen.piece && (chosen.rank != 0 || chosen.given != nullptr))
        report = write_alternative(context, piece, chosen);
      else
        write_default(context, piece);
    };
    const size_t end = piece.range.first + piece.range.count;
    bool prepared = true;
    for (size_t s = piece.range.first; s < end; ++s) {
      prepared = prepared && context.constant[static_cast<size_t>(context.program.stages[s].results[0])];
    }
    if (prepared) {
      context.writer.at_beginning(make);
    } else {
      make();
    }
    if (!report) break;
  }
  return report;
}

std::string kind_of(const Program& program, const Pieces& pieces, const SizeFacts& facts,
                    const std::vector<bool>& constant, const jit::Target& target) {
  std::string kind;
  for (const Piece& piece : pieces.pieces) {
    kind += (kind.empty() ? "" : "+") + std::string(name_of(piece.kind));
    if (piece.kind != Piece::Kind::recurrence) continue;
    const RecurrenceStep step(program.stages[piece.range.first], ir::Dim::symbol("time"), facts, constant,
                              target);
    kind += "(" + kind_of(step.program, step.pieces, facts, step.constant, target) + ")";
  }
  return kind;
}

}  // namespace axrun::search
