#pragma once

#include <memory>
#include <string>
#include <vector>

#include "perf/decoding/decoder.h"
#include "runtime/run_state.h"
#include "runtime/session.h"

namespace axrun::perf {

class AxrunDecoder final : public Decoder {
 public:
  /// One thread. optimise: the optimiser works until freeze(). capacity: of a state that keeps the model's
  /// own; 0: they are given back as any other values.
  AxrunDecoder(const std::string& model, bool optimise, std::int64_t capacity);
  std::vector<InputDeclaration> inputs() const override;
  void begin() override;
  void take(const std::vector<Tensor>& values) override;
  void run() override;
  std::vector<float> result() const override;
  std::vector<std::string> output_names() const;
  void freeze() { session_->freeze(); }

 private:
  std::unique_ptr<runtime::Session> session_;
  std::vector<std::size_t> presents_;  ///< outputs that are states of the next token
  std::unique_ptr<runtime::RunState> state_;
  std::vector<runtime::RuntimeValue> inputs_, results_;
};

}  // namespace axrun::perf
