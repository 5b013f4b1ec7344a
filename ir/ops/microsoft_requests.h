#pragma once

#include "ir/operator.h"

namespace axrun::ir {

/// Requests of unequal lengths, one after the other in one tensor of tokens: request r has the tokens from
/// offset r up to offset r + 1.
class PackedRequests {
 public:
  /// Input k holds the offsets (i32) of all `tokens`: 0 first, each more than the one before, `tokens` last.
  /// Others are an error of the user's.
  PackedRequests(const OperatorContext& context, Builder& b, int k, const Dim& tokens);

  const Dim& count() const { return count_; }
  /// The request of a token.
  Scalar of(const Scalar& token) const { return request_({token}); }
  /// The first token of a request, and how many it has.
  Scalar start(const Scalar& request) const { return offsets_({request}); }
  Scalar length(const Scalar& request) const { return offsets_({request + 1}) - offsets_({request}); }

 private:
  Dim count_;
  TensorRef offsets_;  ///< [count + 1], i64
  TensorRef request_;  ///< [tokens]
};

/// Input k, how many of a request's first tokens are to be kept (i32), which goes with the attribute
/// state_update_capacity.
class CapturedPrefixes {
 public:
  CapturedPrefixes(const OperatorContext& context, Builder& b, int k, const PackedRequests& requests);

  int64_t capacity() const { return capacity_; }
  /// Whether slot `slot` of a request has a token.
  Scalar is_used(const Scalar& request, const Scalar& slot) const;

 private:
  const PackedRequests& requests_;
  int64_t capacity_ = 0;
  TensorRef counts_;
};

}  // namespace axrun::ir
