#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace axrun::verify {

enum class Answer : uint8_t { yes, no, unknown };

/// What Z3 has answered, by the text of the question (question.h): programs have much in common with
/// themselves and with the next one. Safe for threads. Never holds `unknown`.
class Answers {
 public:
  /// bytes: of texts; all are forgotten when there are more.
  explicit Answers(size_t bytes = size_t{16} << 20) : most_(bytes) {}

  std::optional<Answer> find(const std::string& question) const;
  void keep(const std::string& question, Answer answer);

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  std::unordered_map<std::string, Answer> known_;
};

}  // namespace axrun::verify
