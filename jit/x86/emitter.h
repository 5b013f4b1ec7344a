#pragma once

#include <asmjit/x86.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "jit/facts.h"
#include "jit/layout.h"
#include "jit/x86/integers.h"
#include "jit/x86/lanes.h"
#include "jit/x86/typed_lanes.h"

namespace axrun::jit::x86 {

/// What one phase of a loop program becomes:
///
///   void phase(const int64_t* arguments, int64_t begin, int64_t end, char* worker_scratch)
///
/// begin and end count iterations of the phase's parallel loop; a phase without one ignores them.
///
/// How loops become code:
/// - Unrolled loops are written out; where their extent is not known, each iteration is guarded.
/// - Vector loops become one operation per vector, with a mask where the extent is not known to cover it.
/// - Before a loop whose body holds no other one, every address in the body becomes a pointer that moves with
///   the loop. Elsewhere pointers are worked out where a run of statements begins.
/// - A buffer in registers that is written by rows and read by columns is transposed between the two.
/// - Float constants are read into registers before a loop, as far out as registers last.
/// - Where minima in a loop's body would resolve under a condition (a whole tile fits), the body is made
///   twice, behind a test of that condition; or once for the last iteration, where that is the only one to
///   differ.
class PhaseEmitter {
 public:
  PhaseEmitter(asmjit::x86::Compiler& compiler, const ir::loop::LoopProgram& program, const Layout& layout,
               const Target& target, bool annotate);
  /// The function's entry.
  asmjit::Label emit(const Phase& phase);

 private:
  using Block = std::vector<const ir::loop::Statement*>;

  /// An address without its constant part: form counts elements, with the vector variable at 0.
  struct Address {
    int buffer = ir::none;
    ir::Dim form;
    int64_t displacement = 0;  ///< elements
    ir::Dim lane_step;         ///< elements from one lane to the next
    /// Where each lane looks up indices of its own: so many times `stride` elements come in addition.
    struct LaneLookup {
      const ir::loop::Lookup* lookup = nullptr;
      ir::Dim extent, stride;
    };
    std::vector<LaneLookup> lookups = {};
    /// Elements that come in addition, in the vector variable; 0 where all is linear.
    ir::Dim each_lane = {};
    bool is_linear() const { return each_lane == ir::Dim(0); }
  };
  struct Pointer {
    asmjit::x86::Gp base;
    asmjit::x86::Gp index;  ///< invalid: none
    uint32_t shift = 0;
    int buffer = ir::none;
    ir::Dim form;
  };
  /// What has been worked out and holds until the scope ends.
  struct Scope {
    std::map<std::string, Pointer> pointers;
    struct Load {
      LaneValue value;
      uint64_t used = 0;  ///< when last
    };
    std::map<std::string, Load> loads;       ///< by buffer ":" address
    std::map<std::string, LaneValue> masks;  ///< by number of lanes
    /// By their unit of sizes and bytes, then by how many of it.
    std::map<std::string, std::map<int64_t, asmjit::x86::Gp>> strides;
    std::map<std::string, asmjit::x86::Gp> lookups;  ///< by the symbol that addresses mention
  };
  /// The vector of a vector loop that is being made.
  struct Lane {
    std::string variable;
    int chunk = 0;
    LaneValue mask;         ///< undefined: all
    std::string mask_name;  ///< tells masks apart
    ir::Dim rest;           ///< lanes of the mask, where there is one
  };

  // Control
  static Block pointers_to(const ir::loop::Block& block);
  static bool is_straight(const ir::loop::Statement& statement);
  void comment(const std::string& text);
  void emit_block(const Block& block);
  void emit_region(const Block& region);
  void emit_statements(const Block& block);
  void emit_loop(const ir::loop::Loop& loop, const asmjit::x86::Gp* begin, const asmjit::x86::Gp* end);
  bool only_last_differs(const ir::loop::Loop& loop, const ir::Dim& extent);
  void emit_iteration(const ir::loop::Loop& loop, int64_t iteration);
  void emit_unrolled(const ir::loop::Loop& loop);
  void emit_vector(const ir::loop::Loop& loop);
  std::vector<Lane> vectors_of(const ir::loop::Loop& loop);
  template <class Body>
  void emit_versions(const Block& body, const std::string& variable, const Body& make);

  // Statements
  void emit_compute(const ir::loop::Compute& compute);
  void write_value(const ir::loop::Compute& compute, LaneValue given);
  bool write_bytes_of_two(const ir::loop::Compute& compute, const Lane& first, const Lane& second);
  LaneValue value(int id);
  LaneValue operation(const ir::loop::Value& value);
  LaneValue float_operation(const ir::loop::Value& value);
  /// cast_saturate(round_even(number / divisor) + zero), of 8 bits.
  struct Quantization {
    int number = -1;
    std::optional<float> divisor;
    int64_t zero = 0;
    int64_t least = 0, most = 0;  ///< of what the zero point is added to
  };
  std::optional<Quantization> quantization(const ir::loop::Value& cast) const;
  LaneValue rounded_quotient(const Quantization& what, const LaneValue& bounded);
  std::optional<LaneValue> quantized(const ir::loop::Value& cast);
  LaneValue quantized_to_pack(const Quantization& what);
  LaneValue function(const ir::lane::Program& program, const LaneValue& argument);
  LaneValue index_value(const ir::Dim& dim);
  std::optional<ir::Dim> as_dim(int id) const;
  bool depends_on_lanes(int id);
  void count_uses(int id);
  static LaneValue without_death(LaneValue value);

  // Products of neighbours
  struct Dot {
    Address one, each;
  };
  const ir::loop::Access* widened_load(int id) const;
  std::optional<Dot> as_dot(const ir::loop::Compute& compute, int64_t apart);
  bool are_dots(const ir::loop::Loop& neighbours, const ir::loop::Compute& compute, int64_t count);
  bool emit_dots(const ir::loop::Loop& neighbours);
  Address as_each(const ir::loop::Compute& compute, const ir::loop::Loop& neighbours);
  void add_dots(const ir::loop::Compute& compute, int64_t count);

  // Pairs of words
  bool are_packed(const ir::loop::Loop& neighbours, const ir::loop::Compute& compute, int64_t count);
  bool emit_packed(const ir::loop::Loop& neighbours);
  int unwrapped(int id) const;
  void add_packed(const ir::loop::Loop& neighbours, const ir::loop::Compute& compute, int64_t count);

  // Loads
  /// Lanes of the vector at hand that are read.
  struct Selection {
    LaneValue mask;                ///< undefined: all
    std::string name;              ///< tells masks apart, where `shared`
    std::optional<uint32_t> bits;  ///< of the mask, where that is known; bit k is lane k
    bool guarded = false;          ///< fewer than exist
    bool shared = true;            ///< what is read may serve others that select the same
    /// Where one of these is negative no lane is read: guards that are the same for all lanes.
    std::vector<ir::Dim> margins = {};
  };
  Selection present_lanes();
  uint32_t all_lanes() const;
  /// Lanes where a guard may hold, and the comparisons that are to be made at run time.
  struct Guard {
    uint32_t lanes = 0;
    std::vector<int> open;
  };
  Guard known_guard(int id) const;
  void narrow(Selection& lanes, const LaneValue& mask, const std::string& name);
  std::optional<LaneValue> interval_mask(int id, std::string& name);
  LaneValue named_mask(const std::string& name, const std::function<LaneValue()>& make);
  LaneValue literal_mask(uint32_t bits);
  LaneValue load(const ir::loop::Value& value);
  LaneValue load_memory(const ir::loop::Access& access, const Selection& lanes,
                        const LaneValue& otherwise = {});
  asmjit::x86::Mem inside(const asmjit::x86::Mem& place, int buffer, const std::vector<ir::Dim>& margins);
  LaneValue load_selected(const ir::loop::Buffer& of, const Address& address, const Selection& lanes);
  LaneValue load_typed(const ir::loop::Buffer& of, const Address& address, const Selection& lanes);
  std::optional<LaneValue> load_every_other_byte(const ir::loop::Buffer& of, const Address& address,
                                                 const Selection& lanes);
  std::optional<LaneValue> load_from_shared(const ir::loop::Buffer& of, const Address& address, int64_t step);
  std::optional<LaneValue> find_load(const std::string& key);
  void keep_load(const std::string& key, const LaneValue& value);
  LaneValue kept(const std::string& key, const std::function<LaneValue()>& make);
  LaneValue load_steps(const asmjit::x86::Mem& first, int64_t step, const Selection& lanes);

  // Addresses
  ir::Dim at(const ir::Dim& dim) const;
  /// Works addresses out once for equal values of the unrolled variables that they mention.
  const Address& address_of(const ir::loop::Access& access);
  /// The same, refused where it is not linear in the lanes.
  const Address& linear_address_of(const ir::loop::Access& access);
  Address work_out(const ir::loop::Access& access);
  std::string place_key(const ir::loop::Access& access);
  asmjit::x86::Mem memory(const Address& address, int element_bytes);
  std::string load_key(const Address& address, const std::string& mask_name) const;
  void store_strided(const Address& address, const LaneValue& value);
  void store_steps(const asmjit::x86::Mem& first, int64_t step, const LaneValue& value);
  Pointer pointer(int buffer, const ir::Dim& form);
  Pointer make_pointer(int buffer, const ir::Dim& form);
  const Pointer* find_pointer(const std::string& key) const;
  std::optional<std::pair<asmjit::x86::Gp, int>> stride_register(const Monomial& difference, int64_t element);
  std::optional<Pointer> from_neighbour(int buffer, const ir::Dim& form, const std::string& variable);
  std::vector<std::pair<int, ir::Dim>> forms_in(const Block& body);
  void collect_value(int id, const std::function<void(const ir::loop::Access&)>& see) const;
  /// Cache lines that each iteration of a loop fetches.
  struct Fetched {
    std::vector<int64_t> places;  ///< bytes from where a pointer is
    bool to_write = false;
  };
  struct Moving {
    asmjit::x86::Gp pointer;
    ir::Dim step;  ///< bytes
    asmjit::x86::Gp step_register;
    Fetched fetched;
    asmjit::x86::Gp last;  ///< valid: the pointer moves no further than this
  };
  /// A loop that counts at run time, around the place where code is made.
  struct OpenLoop {
    const ir::loop::Loop* loop;
    asmjit::x86::Gp variable;
    int64_t most;  ///< iterations; INT64_MAX: not known
  };
  /// Accesses of what is written out in a body, and of loops of at most so many iterations.
  void for_accesses(const Block& body,
                    const std::function<void(const ir::loop::Access& access, bool read)>& see,
                    int64_t most_iterations = 0);
  /// Pointers to everything in the body, as they are at the loop's first iteration, which may be any one.
  std::vector<Moving> hoist_pointers(const Block& body, const ir::loop::Loop& loop, bool from_zero);

  // Fetching ahead
  int64_t element_bytes(int id) const;
  bool is_larger(int id, int64_t bytes) const;
  void plan_tiles_ahead(const Block& body);
  struct Panels {
    size_t moved = 0;     ///< of loops_: the outermost one that reads the same panel again
    int64_t passes = 1;   ///< over a panel, about
    int64_t to_next = 0;  ///< bytes
  };
  std::optional<Panels> panels(int id, const ir::Dim& form) const;
  asmjit::x86::Gp bytes_before_pass(size_t outermost, int64_t parts, int64_t part_bytes);
  asmjit::x86::Gp part_of_next(const Panels& panels, const Moving& read, int64_t parts, int64_t part_bytes);
  std::optional<Moving> fetch_panel(int id, const ir::Dim& form, const Moving& read);
  std::optional<Moving> fetch_rows(int id, const ir::Dim& form, const Moving& read, const Block& body);
  Fetched stream_ahead(int id, const ir::Dim& form, const Moving& read);
  Fetched filled_ahead(int id, const Moving& filled);
  /// What each iteration of a loop reads of an input, once, and first of all.
  struct Portion {
    const ir::loop::Loop* around = nullptr;
    int buffer = ir::none;
    ir::Dim form;  ///< of what is read, elements
    int64_t bytes = 0;
    std::vector<std::string> inside;  ///< variables of the loops below `around` that read it
  };
  void note_portions(int id, const ir::Dim& form);
  std::optional<Moving> fetch_next_portion();
  static Fetched lines_from(int64_t distance, int64_t count);
  void fetch(const Moving& one);
  void advance(const Moving& one);

  // Fetching for what follows a loop
  /// Rows of lines that lie a step apart.
  struct Rows {
    int buffer = ir::none;
    ir::Dim form;       ///< of the first one, elements
    int64_t first = 0;  ///< bytes from there
    int64_t step = 0;   ///< bytes
    int64_t count = 0;
    std::vector<int64_t> lines;  ///< bytes from a row's beginning
    bool written = false;
    std::optional<ir::Dim> apart;  ///< bytes, instead of `step`: what no number says
  };
  void fetch_for_later(const Block& block, size_t loop);
  static void move_to_next_tile(Rows& rows, const ir::loop::Loop& around);
  std::vector<Rows> rows_after(const Block& block, size_t loop);
  std::optional<Rows> rows_of(int buffer, const ir::Dim& form, const std::map<int64_t, int64_t>& runs) const;
  std::vector<Rows> rows_by_sizes(std::vector<Rows> single) const;
  std::vector<Moving> fetch_along(const std::vector<Rows>& later, int64_t iterations);

  // Indices that are data
  struct LookedUp {
    Address from;
    ir::Dim extent;                  ///< of the dimension that the index leads into
    std::vector<std::string> names;  ///< that its place mentions
  };
  std::optional<ir::Dim> looked_up(const ir::loop::Lookup& lookup, const ir::Dim& extent);
  const LookedUp& lookup_of(const std::string& name) const;
  static bool looks_up(const ir::Dim& form);
  bool looks_up_outside(const ir::Dim& form, const std::string& loop_variable) const;
  void bind_lookups(const ir::Dim& form);
  void bind_lookups(const ir::loop::Compute& compute);
  asmjit::x86::Gp read_lookup(const LookedUp& lookup);
  LaneValue load_each_lane(const ir::loop::Buffer& of, const Address& address, const Selection& lanes);
  LaneValue lane_indices(const Address::LaneLookup& lookup, const Selection& lanes);
  void emit_outside(const asmjit::x86::Gp& arguments);

  // Indices that are not linear in the lanes
  LaneValue each_lane(const ir::Dim& dim);
  std::optional<std::vector<int64_t>> literal_lanes(const ir::Dim& dim) const;
  std::optional<LaneValue> load_close(const ir::loop::Buffer& of, const Address& address,
                                      const Selection& lanes);
  LaneValue each_lanes_atom(const ir::Dim& factor);
  LaneValue each_lanes_quotient(const ir::Dim& dividend, const ir::Dim& divisor);
  LaneValue for_all_lanes(const ir::Dim& dim);

  // Registers
  std::string slot_key(const ir::loop::Access& access) const;
  void forget_addresses();
  asmjit::x86::Vec slot(const ir::loop::Access& access);
  asmjit::x86::Vec upper_slot(const ir::loop::Access& access);
  LaneValue read_slot(const ir::loop::Access& access);
  void write_slot(const ir::loop::Access& access, ir::loop::Combine how, const LaneValue& value,
                  const LaneValue& mask);
  LaneValue folded(ir::loop::Combine how, ir::ElementType type, const std::vector<LaneValue>& parts);
  void check_register_buffers();
  bool uses_whole_vectors(const ir::loop::Block& block, int buffer) const;
  int registers_of(int buffer) const;
  void plan_release(const ir::loop::Block& block, int buffer);
  void take_registers(const ir::loop::Statement& statement);
  void release_registers(const ir::loop::Statement& statement);

  // Registers read by columns
  static bool is_row(const ir::loop::Access& access, const std::string& vector_variable);
  static bool is_column(const ir::loop::Access& access, const std::string& vector_variable);
  void plan_columns(const ir::loop::Block& block, int buffer);
  bool writes_all(int buffer, const std::vector<const ir::loop::Loop*>& around) const;
  void prepare_columns(const ir::loop::Statement& statement);
  asmjit::x86::Vec row_slot(int buffer, int64_t row);
  asmjit::x86::Vec column(const ir::loop::Access& access);

  const ir::loop::Buffer& buffer(int id) const { return program_.buffers[static_cast<size_t>(id)]; }
  bool in_registers(int id) const { return buffer(id).level == ir::loop::Level::registers; }
  void hoist_masks(const Block& body, const std::string& variable);
  LaneValue mask_of(const ir::Dim& rest, std::string& name);
  void drop_loads(const Address& written);
  bool lies_apart(const std::string& load_key, const Address& written) const;

  asmjit::x86::Compiler& cc_;
  const ir::loop::LoopProgram& program_;
  const Layout& layout_;
  Lanes lanes_;
  TypedLanes typed_;
  Facts facts_;
  Integers integers_;
  asmjit::x86::Gp worker_scratch_;
  std::map<std::string, ir::Dim> literals_;  ///< sizes of one value, unrolled variables
  std::vector<Scope> scopes_;
  std::vector<OpenLoop> loops_;
  std::vector<Rows> later_;             ///< what follows the loop that is made next
  std::vector<Portion> portions_;       ///< of loops that are open, read before the place where code is made
  std::map<int, int64_t> tiles_ahead_;  ///< inputs of which the next tile is fetched: how far away, in bytes
  std::vector<LookedUp> lookups_;       ///< the symbol of number k is "@k"
  std::map<std::string, size_t> lookup_numbers_;
  std::map<const ir::loop::Lookup*, ir::loop::Access> looked_up_;  ///< what lanes read as indices
  asmjit::Label outside_;  ///< where the function goes with an index outside of its dimension
  std::optional<Lane> lane_;
  std::map<std::string, asmjit::x86::Vec> slots_;
  struct Columns {
    std::vector<std::vector<const ir::loop::Loop*>>
        writers;  ///< per statement: the loops below the allocation
    std::vector<asmjit::x86::Vec> vectors;
  };
  std::map<int, Columns> columns_;  ///< per buffer that is read by columns
  std::map<const ir::loop::Statement*, std::vector<int>> transposed_before_;
  std::map<const ir::loop::Access*, std::vector<std::string>> names_;  ///< that an access mentions
  std::map<std::string, Address> addresses_;  ///< by place_key; what the facts at this place make of them
  std::map<std::string, asmjit::x86::Vec> slot_of_;  ///< the same for buffers in registers
  std::map<const ir::loop::Statement*, std::vector<int>> released_after_;  ///< buffers in registers
  int registers_taken_ = 0;                                                ///< by them, at this place
  uint64_t loads_used_ = 0;
  /// Buffers in registers of which no lane beyond the mask is read.
  std::set<int> whole_vectors_;
  std::map<std::pair<int, int>, LaneValue> values_;  ///< of the statement: value, chunk or -1
  std::map<int, int64_t> uses_;                      ///< of the statement
  std::map<std::pair<int, std::string>, bool> lane_dependent_;
  std::map<const ir::loop::Loop*, std::vector<uint32_t>> held_constants_;
  int64_t second_cache_;  ///< bytes
  bool annotate_;
  bool has_dots_;  ///< instructions for products of small integers
  int versions_ = 0;
};

}  // namespace axrun::jit::x86
