#pragma once

// Models with operators of the user's own, and the C interface from C++, for short tests.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/axrun_operators.h"

namespace axrun::custom_operators_test {

inline constexpr const char* domain = "com.example";

struct Input {
  std::string name;
  int type = onnx::TensorProto::FLOAT;
  std::vector<std::string> dims;  ///< numbers, or names of open sizes
};

/// A graph in the making; ai.onnx at 17 and com.example at 2 are imported.
class ModelMaker {
 public:
  ModelMaker(const std::vector<Input>& inputs, const std::vector<std::string>& outputs);
  /// Of com.example where the operator's name begins with "My".
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs);
  ModelMaker& floats(const std::string& name, const std::vector<int64_t>& dims,
                     const std::vector<float>& values);
  std::string bytes() const { return model_.SerializeAsString(); }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

 private:
  onnx::ModelProto model_;
};

void set(onnx::NodeProto& node, const std::string& name, int64_t value);
void set(onnx::NodeProto& node, const std::string& name, double value);
void set(onnx::NodeProto& node, const std::string& name, const std::string& value);
void set(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values);
void set(onnx::NodeProto& node, const std::string& name, const std::vector<std::string>& values);

/// A set of operators. Functions that fail fail the test, but for `refused`.
class Operators {
 public:
  Operators() { EXPECT_EQ(axrun_operators_create(&handle_), AXRUN_OK); }
  ~Operators() { axrun_operators_free(handle_); }
  Operators(const Operators&) = delete;
  Operators& operator=(const Operators&) = delete;

  Operators& add(const axrun_operator& made);
  /// The error that adding it ends with.
  std::string refused(const axrun_operator& made);
  axrun_operators* handle() const { return handle_; }

 private:
  axrun_operators* handle_ = nullptr;
};

/// An operator of com.example, version 1, that is only named so far.
axrun_operator named(const char* name);
axrun_operator with_text(const char* name, const char* text);

struct Values {
  int type = AXRUN_UNDEFINED;
  std::vector<int64_t> dims;
  std::vector<float> floats;
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
};
Values floats(const std::vector<int64_t>& dims, const std::vector<float>& values);
Values integers(const std::vector<int64_t>& dims, const std::vector<int64_t>& values);
Values strings(const std::vector<int64_t>& dims, const std::vector<std::string>& values);

/// A session and one request of it.
class Loaded {
 public:
  struct How {
    int tier = AXRUN_TIER_FALLBACK;
    int threads = 1;
    std::string cache;  ///< empty: none
  };
  Loaded(const std::string& bytes, const Operators* operators) : Loaded(bytes, operators, How()) {}
  Loaded(const std::string& bytes, const Operators* operators, const How& how);
  ~Loaded();
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  axrun_status status() const { return status_; }  ///< of loading
  const std::string& error() const { return error_; }
  axrun_session* session() const { return session_; }
  /// Results of one run, in the model's order; empty when it fails.
  std::vector<Values> run(const std::vector<Values>& inputs);
  axrun_status last() const { return last_; }  ///< of the last run
  std::string explanation();                   ///< for the inputs of the last run

 private:
  axrun_session* session_ = nullptr;
  axrun_request* request_ = nullptr;
  axrun_status status_, last_ = AXRUN_OK;
  std::string error_;
  std::vector<Values> inputs_;
};

}  // namespace axrun::custom_operators_test
