#include "verify/answers.h"

namespace axrun::verify {

std::optional<Answer> Answers::find(const std::string& question) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(question);
  if (found == known_.end()) return std::nullopt;
  return found->second;
}

void Answers::keep(const std::string& question, Answer answer) {
  if (answer == Answer::unknown) return;
  const std::lock_guard lock(mutex_);
  if (bytes_ + question.size() > most_) {
    known_.clear();
    bytes_ = 0;
  }
  if (known_.emplace(question, answer).second) bytes_ += question.size();
}

}  // namespace axrun::verify
