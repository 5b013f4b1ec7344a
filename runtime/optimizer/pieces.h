#pragma once

#include <optional>

#include "runtime/optimizer/background.h"

namespace axrun::runtime {

/// A piece of background work that is long: it gives way to whoever waits for its end, now and then, and does
/// not last while its thread waits for another process.
class Pieces {
 public:
  explicit Pieces(Background& background) : background_(background) { resume(); }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  void pause() { piece_.reset(); }
  void resume() { piece_.emplace(background_); }
  void give_way() {
    pause();
    resume();
  }

 private:
  Background& background_;
  std::optional<Background::Piece> piece_;
};

}  // namespace axrun::runtime
