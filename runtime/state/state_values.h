#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/state/stateful_model.h"
#include "runtime/value.h"

namespace axrun::runtime {

/// One value of a state: what its input is in the next run.
class StateValue {
 public:
  StateValue(const StatefulModel::Kept& kept, int64_t capacity, uint64_t state,
             std::shared_ptr<std::atomic<int64_t>> bytes)
      : kept_(&kept), capacity_(capacity), state_(state), bytes_(std::move(bytes)) {}
  /// The same value in another state, without memory that only one may write.
  StateValue for_state(uint64_t state) const;

  void reset();
  void set(const ir::Tensor& value);
  ir::Tensor get() const;
  /// Along the axis along which it grows; 0 where it does not.
  int64_t length() const;
  const StatefulModel::Kept& kept() const { return *kept_; }

  /// Before a run: has the memory that it reads and writes. inputs, outputs: of the graph for states.
  void give(std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs);
  /// After a run that has ended well. Throws Error(user) where the result exceeds the capacity.
  void check(const std::vector<RuntimeValue>& outputs) const;
  void take(std::vector<RuntimeValue>& outputs);

 private:
  /// Memory, counted while it is there. In place it is as long as the capacity, and only one state writes
  /// behind what is there.
  class Buffer {
   public:
    Buffer(ir::Tensor tensor, uint64_t state, std::shared_ptr<std::atomic<int64_t>> count);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ir::Tensor memory;
    std::atomic<uint64_t> writer;

   private:
    std::shared_ptr<std::atomic<int64_t>> count_;
  };
  bool is_in_place() const { return kept_->feed.buffer.has_value(); }
  std::shared_ptr<Buffer> new_buffer(const ir::Shape& shape) const;
  std::shared_ptr<Buffer> buffer_of(ir::Tensor tensor) const;
  /// Sizes as the other inputs of this run tell them, of a value that has none yet.
  void begin(const std::vector<RuntimeValue>& inputs);
  void require_room(const ir::Shape& shape) const;
  ir::Shape whole(const ir::Shape& shape) const;
  void own_buffer();
  void give_in_place(std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs);
  void give_anew(std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs);

  const StatefulModel::Kept* kept_;
  int64_t capacity_;
  uint64_t state_;
  std::shared_ptr<std::atomic<int64_t>> bytes_;
  bool has_value_ = false;
  ir::Shape shape_;                 ///< of the value; without one, of what the next run begins with
  std::shared_ptr<Buffer> buffer_;  ///< in place
  int64_t filled_ = 0;              ///< what the run says of it
  /// Otherwise: where the value is, perhaps that of other states, too, and memory for the next one.
  std::shared_ptr<Buffer> memory_, spare_;
  ir::Shape next_shape_;
  int64_t growth_ = 0;  ///< of the last run, along the axis
};

/// What a RunState is made of.
class StateValues {
 public:
  StateValues(std::shared_ptr<StatefulModel> model, int64_t capacity);
  std::unique_ptr<StateValues> fork() const;

  StatefulModel& model() const { return *model_; }
  int64_t capacity() const { return capacity_; }
  std::vector<StateValue>& values() { return values_; }
  StateValue& value_of(const std::string& input);

  /// While it lives nobody else may use the state. Throws Error(user) where somebody does.
  class Use {
   public:
    explicit Use(const StateValues& state);
    ~Use() { state_.in_use_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const StateValues& state_;
  };

  // Kept between runs, so that nothing is allocated.
  std::vector<RuntimeValue> inputs, outputs;
  ir::Shape shape;

 private:
  StateValues(const StateValues& like);
  std::shared_ptr<StatefulModel> model_;
  int64_t capacity_;
  std::vector<StateValue> values_;
  mutable std::atomic<bool> in_use_{false};
};

}  // namespace axrun::runtime
