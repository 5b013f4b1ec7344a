#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "runtime/session.h"

namespace axrun::cli {

/// What the command line says of one value. The same grammar serves inputs and expected outputs:
///
///     @x.npy  @x.npz:KEY  @x.pb     a file that knows its type and shape
///     2x3xf32=@x.bin                raw little-endian elements
///     2xf32=1,2   i64=5   2x3xf32=0 elements in order; a single one fills the tensor; no sizes: a scalar
///     zeros  ones  random           of the shape the model declares; or with a type: 2x3xf32=zeros
struct ValueSpec {
  enum class Source { npy, npz, protobuf, raw, elements, zeros, ones, random };
  Source source = Source::zeros;
  std::optional<ir::ElementType> type;  ///< with `shape`, where the specification states them
  ir::Shape shape;
  std::string path;
  std::string key;                    ///< of an array in a .npz
  std::vector<std::string> elements;  ///< as written
};

/// Throws Error(user) that shows the text and what is wrong with it.
ValueSpec parse_value_spec(const std::string& text);

/// NAME:SPEC, where NAME is one of `ports`; names may contain colons. Returns the port's index and SPEC.
/// Throws Error(user) that lists the names. `flag` is for messages.
std::pair<size_t, std::string> split_port_spec(const std::string& text,
                                               const std::vector<runtime::Port>& ports,
                                               const std::string& flag);

/// Reads or makes the value. zeros and ones need a shape, from the specification or from `shape`; random is
/// not made here. Throws Error(user): a file that is missing or damaged, or that differs from what the
/// specification states.
runtime::RuntimeValue value_of(const ValueSpec& spec, const runtime::Port& port,
                               const std::optional<ir::Shape>& shape);

}  // namespace axrun::cli
