#pragma once

#include <string>
#include <string_view>

#include "onnx_import/names.h"

namespace axrun::onnx_import {

/// What an error is about: "attribute 'axis' of Concat 'join'". The text is made only when it is needed.
struct Origin {
  std::string_view role;          ///< "initializer"; an operator, for a node
  std::string_view name;          ///< shown in quotes, unless it is a default string_view
  const Origin* owner = nullptr;  ///< alive as long as this

  std::string text() const {
    std::string result = printable(role);
    if (name.data() != nullptr) result += " " + in_quotes(name);
    if (owner != nullptr) result += " of " + owner->text();
    return result;
  }
};

}  // namespace axrun::onnx_import
