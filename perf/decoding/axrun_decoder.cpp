#include "perf/decoding/axrun_decoder.h"

#include "perf/axrun_values.h"

namespace axrun::perf {

AxrunDecoder::AxrunDecoder(const std::string& model, bool optimise, std::int64_t capacity) {
  runtime::SessionOptions options;
  options.threads = 1;
  options.use_cache = false;
  options.optimize = optimise;
  session_ = translated([&] { return runtime::Session::load(model, options); });
  for (std::size_t k = 0; k < session_->outputs().size(); ++k) {
    if (session_->outputs()[k].name.rfind("present", 0) == 0) presents_.push_back(k);
  }
  if (capacity == 0) return;
  const DecodedModel decoded(inputs());
  std::map<std::string, std::string> feeds;
  std::size_t present = 0;
  for (std::size_t k = 0; k < decoded.declared.size(); ++k) {
    if (decoded.is_state[k] && present < presents_.size())
      feeds[session_->outputs()[presents_[present++]].name] = decoded.declared[k].name;
  }
  state_ = translated([&] { return session_->new_state(feeds, capacity); });
}

void AxrunDecoder::begin() {
  results_.clear();
  if (state_) state_->reset();
}

std::vector<InputDeclaration> AxrunDecoder::inputs() const { return declarations_of(*session_); }

std::vector<std::string> AxrunDecoder::output_names() const {
  std::vector<std::string> names;
  for (const runtime::Port& port : session_->outputs()) names.push_back(port.name);
  return names;
}

void AxrunDecoder::take(const std::vector<Tensor>& values) {
  inputs_.clear();
  std::size_t state = 0;
  for (const Tensor& value : values) {
    if (state_) {
      const bool is_kept = state_->has_input(inputs_.size());
      inputs_.push_back(is_kept ? runtime::RuntimeValue() : runtime::RuntimeValue(to_axrun(value)));
      continue;
    }
    const bool is_state = !results_.empty() && state < presents_.size() && value.bytes.size() == 0 &&
                          element_count(value.shape) > 0;
    inputs_.push_back(is_state ? results_[presents_[state++]] : runtime::RuntimeValue(to_axrun(value)));
  }
}

void AxrunDecoder::run() {
  translated([&] { results_ = state_ ? session_->run(inputs_, *state_) : session_->run(inputs_); });
}

std::vector<float> AxrunDecoder::result() const {
  const ir::Tensor& first = results_.front().tensor;
  return {first.as<float>(), first.as<float>() + first.size()};
}

}  // namespace axrun::perf
