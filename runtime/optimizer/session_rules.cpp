#include "runtime/optimizer/session_rules.h"

#include <fmt/format.h>

#include <utility>

namespace axrun::runtime {

SessionRules::SessionRules(std::unique_ptr<search::algebra::RuleStore> store) : store_(std::move(store)) {
  if (store_) known_.stored = store_->load().value_or("");
}

void SessionRules::note(std::string_view bytes) {
  RuleNote note = read_note(bytes);
  switch (note.kind) {
    case RuleNote::Kind::proving:
      proving_ = std::move(note.text);
      break;
    case RuleNote::Kind::proved:
      known_.proofs[note.text] = std::move(note.evidence);
      proving_.clear();
      break;
    case RuleNote::Kind::rule:
      ++found_;
      known_.found.push_back(std::move(note.text));
      break;
    case RuleNote::Kind::split:
      known_.found.push_back(std::move(note.text));
      break;
    case RuleNote::Kind::damaged:
      known_.stored.clear();
      if (store_) store_->reject(note.text);
      break;
  }
}

bool SessionRules::blame(const std::string& reason) {
  if (proving_.empty()) return false;
  known_.proofs[std::exchange(proving_, "")].equality = {verify::Verdict::unknown, reason, 0};
  ++blamed_;
  blamed_for_ = reason;
  return true;
}

std::string SessionRules::left_out() const {
  return blamed_ == 0 ? "" : fmt::format("identities left out: {}; {}", blamed_, blamed_for_);
}

void SessionRules::replace(std::string rules) {
  known_.stored = std::move(rules);
  known_.found.clear();
}

std::optional<MergeQuestion> SessionRules::to_be_merged() const {
  if (!store_ || found_ == stored_) return std::nullopt;
  return MergeQuestion{store_->load().value_or(""), known_};
}

void SessionRules::store(const std::string& merged) {
  if (!merged.empty()) store_->save(merged);
  stored_ = found_;
}

}  // namespace axrun::runtime
