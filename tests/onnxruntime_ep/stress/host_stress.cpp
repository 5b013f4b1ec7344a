// A program that hosts the plugin as applications do, for sanitizers: these want to be in the main program.
//
// Usage: onnxruntime_ep_stress LIBONNXRUNTIME PLUGIN [CYCLES [SHAPE_RUNS]]
// 16 threads on one session (of a plain model, and of one with bodies within bodies), 8 sessions at once,
// CYCLES (200) of register, run, unregister, SHAPE_RUNS (100,000) of changing shapes; every result is
// compared with that of ONNX Runtime's own provider. Exit code 77: there is no such ONNX Runtime.
#include <dlfcn.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "runtime/onnxruntime_ep/ort_plugin.h"
#include "tests/onnxruntime_ep/stress/stress_models.h"

namespace axrun::ort {
namespace {

constexpr const char* plugin_name = "AxrunExecutionProvider";
constexpr std::int64_t most_rows = 24, row = std::int64_t{3} * 12 * 12;
constexpr std::int64_t classes = tests::stress_classes;
constexpr int f32 = 1, skipped = 77;
constexpr Function<Status*(SessionOptions*, const char* key, const char* value)> add_config_entry{
    130, "AddSessionConfigEntry"};
constexpr int hands_over_bodies = 27;  ///< the minor version from which the plugin gets all that is in them

/// Takes x [rows, 3, 12, 12] and gives [rows, classes].
struct TestModel {
  explicit TestModel(tests::ModelMaker maker)
      : bytes(maker.bytes()), output(maker.graph().value(maker.graph().outputs[0]).name) {}

  std::string bytes, output;
  std::map<std::int64_t, std::vector<float>> expected;  ///< by rows: what ONNX Runtime's own provider gives
};

class Application {
 public:
  explicit Application(const ApiBase* base)
      : api_(base->get_api(oldest_version)),
        whole_(std::atoi(base->get_version_string() + std::strlen("1.")) >= hands_over_bodies) {
    call(create_env, 2, "stress", &env_);
    call(create_cpu_memory_info, static_cast<int>(arena_allocator), static_cast<int>(default_memory),
         &memory_);
  }
  ~Application() {
    function_of(api_, release_memory_info)(memory_);
    function_of(api_, release_env)(env_);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  template <class... Parameters, class... Arguments>
  void call(const Function<Status*(Parameters...)>& function, Arguments... arguments) const {
    Status* const status = function_of(api_, function)(arguments...);
    if (status == nullptr) return;
    std::fprintf(stderr, "%s: %s\n", function.name, function_of(api_, get_error_message)(status));
    std::exit(1);
  }

  void register_plugin(const std::string& path) {
    call(register_provider_library, env_, "axrun", path.c_str());
  }
  void unregister_plugin() { call(unregister_provider_library, env_, "axrun"); }

  /// threads 0: of ONNX Runtime's own provider.
  Session* make_session(const TestModel& model, int threads) {
    SessionOptions* options = nullptr;
    call(create_session_options, &options);
    call(set_intra_op_threads, options, threads < 1 ? 1 : threads);
    if (threads > 0) {
      // A session is refused where anything but the plugin would run a node: nobody else is to be tested.
      if (whole_) call(add_config_entry, options, "session.disable_cpu_ep_fallback", "1");
      const EpDevice* const* devices = nullptr;
      std::size_t count = 0;
      call(get_ep_devices, static_cast<const Env*>(env_), &devices, &count);
      const char* const keys[] = {"cache", "optimizer_priority"};
      const char* const values[] = {"off", "normal"};
      for (std::size_t k = 0; k < count; ++k) {
        if (std::string(function_of(api_, ep_device_name)(devices[k])) != plugin_name) continue;
        call(append_provider, options, env_, &devices[k], std::size_t{1}, keys, values, std::size_t{2});
      }
    }
    Session* session = nullptr;
    call(create_session_from_array, static_cast<const Env*>(env_),
         static_cast<const void*>(model.bytes.data()), model.bytes.size(),
         static_cast<const SessionOptions*>(options), &session);
    function_of(api_, release_session_options)(options);
    return session;
  }
  void release(Session* session) { function_of(api_, release_session)(session); }

  std::vector<float> run(Session* session, const TestModel& model, std::int64_t rows) const {
    std::vector<float> image(static_cast<std::size_t>(rows * row));
    for (std::size_t k = 0; k < image.size(); ++k) image[k] = static_cast<float>(k % 97) / 97 - 0.5F;
    const std::int64_t dims[] = {rows, 3, 12, 12};
    Value* input = nullptr;
    call(wrap_tensor, static_cast<const MemoryInfo*>(memory_), static_cast<void*>(image.data()),
         image.size() * sizeof(float), dims, std::size_t{4}, f32, &input);
    const char* const input_names[] = {"x"};
    const char* const output_names[] = {model.output.c_str()};
    const Value* const inputs[] = {input};
    Value* output = nullptr;
    call(ort::run, session, static_cast<const RunOptions*>(nullptr), input_names, inputs, std::size_t{1},
         output_names, std::size_t{1}, &output);
    void* data = nullptr;
    call(tensor_data, output, &data);
    std::vector<float> result(static_cast<const float*>(data),
                              static_cast<const float*>(data) + rows * classes);
    function_of(api_, release_value)(output);
    function_of(api_, release_value)(input);
    return result;
  }

  void expect(TestModel& model) {
    Session* const session = make_session(model, 0);
    for (std::int64_t rows = 1; rows <= most_rows; ++rows) model.expected[rows] = run(session, model, rows);
    release(session);
  }
  void check(Session* session, const TestModel& model, std::int64_t rows) {
    const std::vector<float> got = run(session, model, rows);
    const std::vector<float>& want = model.expected.at(rows);
    for (std::size_t k = 0; k < want.size(); ++k) {
      if (!(std::fabs(got[k] - want[k]) < 1e-4F)) ++wrong;
    }
  }

  std::atomic<int> wrong{0};

 private:
  const Table api_;
  const bool whole_;
  Env* env_ = nullptr;
  MemoryInfo* memory_ = nullptr;
};

template <class Work>
void in_threads(int count, const Work& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&work, t] { work(t); });
  for (std::thread& thread : threads) thread.join();
}

std::int64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4;
}

std::int64_t rows_of(int k) { return 1 + k % most_rows; }

void many_threads(Application& application, const TestModel& model) {
  Session* const session = application.make_session(model, 2);
  in_threads(16, [&](int t) {
    for (int k = 0; k < 60; ++k) application.check(session, model, rows_of(t + k));
  });
  application.release(session);
}

void many_sessions(Application& application, const TestModel& model) {
  in_threads(8, [&](int t) {
    for (int k = 0; k < 3; ++k) {
      Session* const session = application.make_session(model, 1);
      for (int run = 0; run < 5; ++run) application.check(session, model, rows_of(t + run));
      application.release(session);
    }
  });
}

void cycles(Application& application, const TestModel& model, const std::string& plugin, int count) {
  for (int k = 0; k < count; ++k) {
    application.register_plugin(plugin);
    if (k % 4 == 0) {
      Session* const session = application.make_session(model, k % 8 == 0 ? 2 : 1);
      for (int run = 0; run < 3; ++run) application.check(session, model, rows_of(run));
      application.release(session);
    }
    application.unregister_plugin();
  }
}

/// Sanitizers hold back what is freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_counts = false;
#else
constexpr bool memory_counts = true;
#endif
constexpr std::int64_t most_growth_kib = 16 << 10;

/// False where the process grows from the first quarter of the runs to their end.
bool changing_shapes(Application& application, const TestModel& model, int runs) {
  Session* const session = application.make_session(model, 1);
  std::int64_t before = 0;
  for (int k = 0; k < runs; ++k) {
    application.check(session, model, rows_of(k * 7 + k / 5));
    if (k == runs / 4) before = resident_kib();
  }
  const std::int64_t growth = resident_kib() - before;
  std::printf("%d runs of changing shapes: %+lld KiB\n", runs, static_cast<long long>(growth));
  application.release(session);
  return !memory_counts || growth < most_growth_kib;
}

int stress(const char* library_path, const std::string& plugin, int cycle_count, int shape_runs) {
  void* const library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("skipped: %s\n", dlerror());
    return skipped;
  }
  const auto get_base = reinterpret_cast<const ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr || get_base()->get_api(oldest_version) == nullptr) {
    std::printf("skipped: %s is no ONNX Runtime of 1.%u or later\n", library_path, oldest_version);
    return skipped;
  }
  TestModel model(tests::residual_network(ir::Dim::symbol("batch")));
  TestModel bodies(tests::bodies_within_bodies(ir::Dim::symbol("batch")));
  Application application(get_base());
  application.expect(model);
  application.expect(bodies);
  application.register_plugin(plugin);
  many_threads(application, model);
  std::printf("16 threads on one session: %d wrong\n", application.wrong.load());
  many_threads(application, bodies);
  std::printf("16 threads on one session with bodies: %d wrong\n", application.wrong.load());
  many_sessions(application, model);
  many_sessions(application, bodies);
  std::printf("8 sessions at once: %d wrong\n", application.wrong.load());
  const bool flat = changing_shapes(application, model, shape_runs);
  application.unregister_plugin();
  cycles(application, model, plugin, cycle_count);
  std::printf("%d cycles of register and unregister: %d wrong\n", cycle_count, application.wrong.load());
  return application.wrong == 0 && flat ? 0 : 1;
}

}  // namespace
}  // namespace axrun::ort

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s LIBONNXRUNTIME PLUGIN [CYCLES [SHAPE_RUNS]]\n", arguments[0]);
    return 1;
  }
  return axrun::ort::stress(arguments[1], arguments[2], count > 3 ? std::atoi(arguments[3]) : 200,
                            count > 4 ? std::atoi(arguments[4]) : 100'000);
}
