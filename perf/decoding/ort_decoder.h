#pragma once

#include <string>
#include <vector>

#include "perf/decoding/decoder.h"
#include "perf/ort_abi.h"

namespace axrun::perf {

/// ONNX Runtime's CPU provider, one thread, all optimisations; states are its own values, not copied.
class OrtDecoder final : public Decoder {
 public:
  OrtDecoder(const std::string& library, const std::string& model, std::vector<InputDeclaration> inputs,
             std::vector<std::string> outputs);
  std::string version() const { return api_.version(); }
  std::vector<InputDeclaration> inputs() const override { return declared_; }
  void begin() override { results_.clear(); }
  void take(const std::vector<Tensor>& values) override;
  void run() override;
  std::vector<float> result() const override;

 private:
  ort::Api api_;
  ort::Owned<ort::Env> env_;
  ort::Owned<ort::Session> session_;
  ort::Owned<ort::MemoryInfo> memory_;
  std::vector<InputDeclaration> declared_;
  std::vector<std::string> output_names_;
  std::vector<const char*> input_pointers_, output_pointers_;
  std::vector<std::size_t> presents_;
  std::vector<ort::Owned<ort::Value>> own_;     ///< over the caller's memory
  std::vector<ort::Owned<ort::Value>> states_;  ///< given by the last token but one
  std::vector<ort::Owned<ort::Value>> results_;
  std::vector<const ort::Value*> inputs_;
};

}  // namespace axrun::perf
