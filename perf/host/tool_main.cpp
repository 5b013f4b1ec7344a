#include "perf/host/tool_main.h"

#include <algorithm>
#include <cstdio>
#include <exception>

namespace axrun::perf {

int tool_main(int argc, char** argv, const std::string& name, const char* help,
              const std::vector<EngineFlag>& flags, const std::function<std::string(const Options&)>& json) {
  if (wants_help(argc, argv)) {
    std::fputs(help, stdout);
    return 0;
  }
  const auto fail = [&](std::string text, int code) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::fprintf(stderr, "%s: %s\n", name.c_str(), text.c_str());
    return code;
  };
  try {
    std::printf("%s\n", json(parse_options(argc, argv, flags)).c_str());
    return 0;
  } catch (const HostError& error) {
    return fail(error.what(), error.exit_code);
  } catch (const std::exception& error) {
    constexpr int internal_error = 70;
    return fail(error.what(), internal_error);
  }
}

}  // namespace axrun::perf
