#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace axrun::cli {

/// What of "12 s | 36 us | 3/9 swapped" fits on a line of so many columns: whole parts, where one does.
/// columns: 0 where nobody knows.
std::string fitting(const std::string& text, size_t columns);

/// A line on the terminal that says what goes on, once that takes longer than a second. Silent where stderr
/// is no terminal.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Call between timed pieces of work. Writes at most a few times a second.
  bool due() const { return active_ && std::chrono::steady_clock::now() >= next_; }
  void show(const std::string& text);
  /// Removes the line; text for people comes after it. From any thread.
  void clear();

 private:
  bool active_;
  std::atomic<bool> shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace axrun::cli
