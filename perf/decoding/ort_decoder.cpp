#include "perf/decoding/ort_decoder.h"

#include <utility>

namespace axrun::perf {

OrtDecoder::OrtDecoder(const std::string& library, const std::string& model,
                       std::vector<InputDeclaration> inputs, std::vector<std::string> outputs)
    : api_(library),
      env_(api_, ort::release_env),
      session_(api_, ort::release_session),
      memory_(api_, ort::release_memory_info),
      declared_(std::move(inputs)),
      output_names_(std::move(outputs)) {
  api_.call(ort::create_env, ort::log_error, "decode_host", env_.out());
  ort::Owned<ort::SessionOptions> settings(api_, ort::release_session_options);
  api_.call(ort::create_session_options, settings.out());
  api_.call(ort::set_optimization_level, settings.get(), ort::optimize_all);
  api_.call(ort::set_execution_mode, settings.get(), ort::sequential);
  api_.call(ort::set_intra_op_threads, settings.get(), 1);
  api_.call(ort::set_inter_op_threads, settings.get(), 1);
  api_.call(ort::create_session, env_.get(), model.c_str(), settings.get(), session_.out());
  api_.call(ort::create_cpu_memory_info, ort::arena_allocator, ort::default_memory, memory_.out());
  for (const InputDeclaration& input : declared_) input_pointers_.push_back(input.name.c_str());
  for (std::size_t k = 0; k < output_names_.size(); ++k) {
    output_pointers_.push_back(output_names_[k].c_str());
    if (output_names_[k].rfind("present", 0) == 0) presents_.push_back(k);
  }
}

void OrtDecoder::take(const std::vector<Tensor>& values) {
  inputs_.clear();
  own_.clear();
  states_.clear();
  for (std::size_t k = 0; !results_.empty() && k < presents_.size(); ++k)
    states_.push_back(std::move(results_[presents_[k]]));
  std::size_t state = 0;
  for (const Tensor& value : values) {
    if (state < states_.size() && value.bytes.size() == 0 && element_count(value.shape) > 0) {
      inputs_.push_back(states_[state++].get());
      continue;
    }
    own_.emplace_back(api_, ort::release_value);
    api_.call(ort::wrap_tensor, memory_.get(), static_cast<void*>(value.bytes.data()), value.bytes.size(),
              value.shape.data(), value.shape.size(), static_cast<int>(value.type), own_.back().out());
    inputs_.push_back(own_.back().get());
  }
}

void OrtDecoder::run() {
  std::vector<ort::Value*> given(output_pointers_.size(), nullptr);
  api_.call(ort::run, session_.get(), nullptr, input_pointers_.data(), inputs_.data(), inputs_.size(),
            output_pointers_.data(), output_pointers_.size(), given.data());
  results_.clear();
  for (ort::Value* value : given) {
    results_.emplace_back(api_, ort::release_value);
    *results_.back().out() = value;
  }
}

std::vector<float> OrtDecoder::result() const {
  void* data = nullptr;
  api_.call(ort::tensor_data, results_.front().get(), &data);
  ort::Owned<ort::TensorInfo> info(api_, ort::release_tensor_info);
  api_.call(ort::tensor_info, results_.front().get(), info.out());
  std::size_t rank = 0;
  api_.call(ort::dim_count, info.get(), &rank);
  std::vector<std::int64_t> shape(rank);
  api_.call(ort::get_dims, info.get(), shape.data(), rank);
  const auto* const first = static_cast<const float*>(data);
  return {first, first + element_count(shape)};
}

}  // namespace axrun::perf
