// What the plugin's two functions answer to runtimes that are too old, too new, or broken.
#include <gtest/gtest.h>

#include <map>

#include "runtime/onnxruntime_ep/host.h"
#include "runtime/onnxruntime_ep/provider_options.h"
#include "tests/onnxruntime_ep/fake_host.h"

extern "C" {
axrun::ort::Status* CreateEpFactories(const char* name, const axrun::ort::ApiBase*, const axrun::ort::Logger*,
                                      axrun::ort::EpFactory**, std::size_t room, std::size_t* count);
axrun::ort::Status* ReleaseEpFactory(axrun::ort::EpFactory*);
}

namespace axrun::ort {
namespace {

struct Created {
  EpFactory* factory = nullptr;
  std::size_t count = 7;
  std::string message;
};

Created create(FakeHost& host, std::size_t room = 4) {
  Created created;
  EpFactory* factories[4] = {};
  created.message =
      host.message(CreateEpFactories("any name", host.base(), nullptr, factories, room, &created.count));
  created.factory = factories[0];
  return created;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Factory, AnswersARuntimeOfTheOldestVersion) {
  FakeHost host("1.23.0");
  const Created created = create(host);
  EXPECT_EQ(created.message, "");
  ASSERT_EQ(created.count, 1u);
  EXPECT_EQ(host.asked, 23u);
  EXPECT_STREQ(created.factory->get_name(created.factory), provider_name);
  EXPECT_STREQ(created.factory->get_vendor(created.factory), "axrun");
  EXPECT_EQ(created.factory->version, declared_version);
  EXPECT_FALSE(created.factory->is_stream_aware(created.factory));
  void* transfer = &host;
  EXPECT_EQ(created.factory->create_data_transfer(created.factory, &transfer), nullptr);
  EXPECT_EQ(transfer, nullptr);
  EXPECT_EQ(ReleaseEpFactory(created.factory), nullptr);
}

TEST(Factory, HasAVersionThatParses) {
  FakeHost host("1.30.0");
  const Created created = create(host);
  int major = 0, minor = 0, patch = 0;
  EXPECT_EQ(std::sscanf(created.factory->get_version(created.factory), "%d.%d.%d", &major, &minor, &patch),
            3);
  ReleaseEpFactory(created.factory);
}

TEST(Factory, AsksALaterRuntimeForWhatItKnows) {
  FakeHost host("1.99.1-dev");
  // "1-dev" is the patch: only the minor version counts.
  const Created created = create(host);
  EXPECT_EQ(created.message, "");
  EXPECT_EQ(host.asked, declared_version);
  ReleaseEpFactory(created.factory);
}

TEST(Factory, RefusesOlderRuntimesInWords) {
  for (const char* version : {"1.22.9", "1.9.0", "0.5.0", "2.0.0", "", "1.x", "1.", "newest"}) {
    FakeHost host(version);
    const Created created = create(host);
    EXPECT_EQ(created.count, 0u) << version;
    EXPECT_TRUE(has(created.message, "1.23")) << version << ": " << created.message;
    EXPECT_EQ(host.statuses, 0);
  }
}

TEST(Factory, RefusesARuntimeThatHidesItsInterface) {
  FakeHost host("1.28.0");
  host.newest = 20;
  const Created created = create(host);
  EXPECT_EQ(created.count, 0u);
  EXPECT_TRUE(has(created.message, "interface")) << created.message;
  host.newest = 1000;
  host.takes_providers = false;
  EXPECT_TRUE(has(create(host).message, "takes no execution providers"));
  // Not even a status can be made.
  host.newest = 0;
  std::size_t count = 7;
  EpFactory* factories[1] = {};
  EXPECT_EQ(CreateEpFactories("name", host.base(), nullptr, factories, 1, &count), nullptr);
  EXPECT_EQ(count, 0u);
}

TEST(Factory, NeedsRoomForOne) {
  FakeHost host("1.28.0");
  EXPECT_TRUE(has(create(host, 0).message, "no room"));
}

/// Functions that a fake answers with.
struct Pairs {
  static inline std::map<std::string, std::string> entries;
  static inline std::vector<const char*> keys, values;
  static inline int alive = 0;
};

void answer_with_options(FakeHost& host, std::map<std::string, std::string> entries) {
  Pairs::entries = std::move(entries);
  host.set(
      session_config, +[](const SessionOptions*, KeyValuePairs** pairs) -> Status* {
        ++Pairs::alive;
        *pairs = reinterpret_cast<KeyValuePairs*>(&Pairs::entries);
        return nullptr;
      });
  host.set(
      release_key_value_pairs, +[](KeyValuePairs*) { --Pairs::alive; });
  host.set(
      key_value_pairs,
      +[](const KeyValuePairs*, const char* const** keys, const char* const** values, std::size_t* count) {
        Pairs::keys.clear();
        Pairs::values.clear();
        for (const auto& [key, value] : Pairs::entries) {
          Pairs::keys.push_back(key.c_str());
          Pairs::values.push_back(value.c_str());
        }
        *keys = Pairs::keys.data();
        *values = Pairs::values.data();
        *count = Pairs::keys.size();
      });
}

TEST(Factory, MakesAProviderFromTheSessionsOptions) {
  FakeHost host("1.30.0");
  answer_with_options(host, {{"ep.axrunexecutionprovider.threads", "1"}, {"other", "x"}});
  const Created created = create(host);
  Ep* ep = nullptr;
  EXPECT_EQ(
      host.message(created.factory->create_ep(created.factory, nullptr, nullptr, 0, nullptr, nullptr, &ep)),
      "");
  ASSERT_NE(ep, nullptr);
  EXPECT_STREQ(ep->get_name(ep), provider_name);
  EXPECT_NE(ep->get_capability, nullptr);
  EXPECT_NE(ep->compile, nullptr);
  EXPECT_NE(ep->release_node_compute_infos, nullptr);
  created.factory->release_ep(created.factory, ep);
  EXPECT_EQ(Pairs::alive, 0);
  ReleaseEpFactory(created.factory);
}

TEST(Factory, RefusesOptionsInWords) {
  FakeHost host("1.30.0");
  answer_with_options(host, {{"ep.axrunexecutionprovider.thread", "1"}});
  const Created created = create(host);
  Ep* ep = reinterpret_cast<Ep*>(&host);
  const std::string message =
      host.message(created.factory->create_ep(created.factory, nullptr, nullptr, 0, nullptr, nullptr, &ep));
  EXPECT_TRUE(has(message, "there is no option 'thread'")) << message;
  EXPECT_EQ(ep, nullptr);
  EXPECT_EQ(Pairs::alive, 0);
  ReleaseEpFactory(created.factory);
}

TEST(Factory, AFailureOfTheRuntimeBecomesAStatus) {
  FakeHost host("1.30.0");
  host.set(
      session_config, +[](const SessionOptions*, KeyValuePairs**) -> Status* {
        throw 1;  // worse than any status
      });
  const Created created = create(host);
  Ep* ep = nullptr;
  EXPECT_TRUE(has(
      host.message(created.factory->create_ep(created.factory, nullptr, nullptr, 0, nullptr, nullptr, &ep)),
      "unknown failure"));
  ReleaseEpFactory(created.factory);
}

TEST(Factory, SaysWhichContextsFit) {
  FakeHost host("1.30.0");
  const Created created = create(host);
  const auto answer = [&](const char* information) {
    int said = 9;
    EXPECT_EQ(created.factory->validate_compiled_model_compatibility_info(created.factory, nullptr, 0,
                                                                          information, &said),
              nullptr);
    return said;
  };
  EXPECT_EQ(answer("axrun context 1"), 1);
  EXPECT_EQ(answer("axrun context 2"), 3);
  EXPECT_EQ(answer("axrun context 11"), 3);
  EXPECT_EQ(answer("another provider"), 0);
  EXPECT_EQ(answer(nullptr), 0);
  ReleaseEpFactory(created.factory);
}

TEST(Factory, OffersTheProcessorOnce) {
  FakeHost host("1.30.0");
  static std::vector<int> types;
  types = {1, 0, 0};
  host.set(
      hardware_type, +[](const HardwareDevice* device) { return *reinterpret_cast<const int*>(device); });
  host.set_ep(
      create_ep_device,
      +[](EpFactory*, const HardwareDevice* hardware, const KeyValuePairs*, const KeyValuePairs*,
          EpDevice** device) -> Status* {
        *device = reinterpret_cast<EpDevice*>(const_cast<HardwareDevice*>(hardware));
        return nullptr;
      });
  const Created created = create(host);
  const HardwareDevice* hardware[3];
  for (int k = 0; k < 3; ++k)
    hardware[k] = reinterpret_cast<const HardwareDevice*>(&types[static_cast<std::size_t>(k)]);
  EpDevice* devices[8] = {};
  std::size_t found = 9;
  EXPECT_EQ(
      host.message(created.factory->get_supported_devices(created.factory, hardware, 3, devices, 8, &found)),
      "");
  EXPECT_EQ(found, 1u);
  EXPECT_EQ(reinterpret_cast<const int*>(devices[0]), &types[1]);
  EXPECT_EQ(
      host.message(created.factory->get_supported_devices(created.factory, hardware, 3, devices, 0, &found)),
      "");
  EXPECT_EQ(found, 0u);
  ReleaseEpFactory(created.factory);
}

}  // namespace
}  // namespace axrun::ort
