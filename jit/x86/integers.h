#pragma once

#include <asmjit/x86.h>

#include <map>
#include <string>

#include "ir/dim.h"
#include "jit/facts.h"

namespace axrun::jit::x86 {

/// Makes the code that works out Dims: sizes are read from the array of arguments, loop variables are in
/// registers.
class Integers {
 public:
  Integers(asmjit::x86::Compiler& compiler, const Facts& facts) : cc_(compiler), facts_(facts) {}

  void set_arguments(const asmjit::x86::Gp& arguments) { arguments_ = arguments; }
  void add_size(const std::string& name, int place) { places_[name] = place; }
  void set_variable(const std::string& name, const asmjit::x86::Gp& value) { variables_[name] = value; }
  void remove_variable(const std::string& name) { variables_.erase(name); }

  /// In a register of its own, which may be overwritten.
  asmjit::x86::Gp value(const ir::Dim& dim);
  /// register += dim.
  void add(const asmjit::x86::Gp& to, const ir::Dim& dim);
  asmjit::x86::Gp argument(int place);

 private:
  asmjit::x86::Gp atom(const ir::Dim& factor);
  asmjit::x86::Gp product(const Monomial& monomial);
  void multiply(const asmjit::x86::Gp& by, int64_t literal);
  asmjit::x86::Gp quotient(const ir::Dim& dividend, const ir::Dim& divisor, bool remainder);

  asmjit::x86::Compiler& cc_;
  const Facts& facts_;
  asmjit::x86::Gp arguments_;
  std::map<std::string, int> places_;
  std::map<std::string, asmjit::x86::Gp> variables_;
};

}  // namespace axrun::jit::x86
