// What any execution provider costs: the plugin, but its parts compute nothing after the first run of each
// thread. ONNX Runtime gives inputs and memory for outputs as ever; what is in that memory are earlier
// results, or nothing.
#include <unordered_map>
#include <vector>

#include "runtime/onnxruntime_ep/compiled_part.h"

namespace axrun::ort {
namespace {

/// An output of the first run: its form where ONNX Runtime gave the memory, else itself.
struct Output {
  ir::ElementType type = ir::ElementType::undefined;
  ir::Shape shape;
  ir::Tensor itself;
};

}  // namespace

void CompiledPart::run_session(Call& call, const runtime::Session::OutputMaker& make) {
  thread_local std::unordered_map<const CompiledPart*, std::vector<Output>> known;
  std::vector<Output>& outputs = known[this];
  if (outputs.size() == call.outputs.size()) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Output& one = outputs[k];
      call.outputs[k] = one.itself.defined() ? one.itself : make(k, one.type, one.shape);
    }
    return;
  }
  session_->run_into(call.inputs, call.outputs, nullptr, &make);
  outputs.resize(call.outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const ir::Tensor& output = call.outputs[k];
    outputs[k] = {output.type(), output.shape(), call.in_place[k] ? ir::Tensor() : output};
  }
}

}  // namespace axrun::ort
