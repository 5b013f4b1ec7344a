#include "verify/gate_host.h"

#include <cfenv>
#include <fstream>

namespace axrun::verify {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

bool environment_intact() {
  volatile float tiny = 0x1p-140f;
  volatile float half = 0.5f;
  const float product = tiny * half;
  return std::fegetround() == FE_TONEAREST && product == 0x1p-141f;
}

}  // namespace axrun::verify
