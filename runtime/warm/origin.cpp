#include "runtime/warm/origin.h"

#include <cpuid.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <cstring>

#include "jit/cpu_features.h"
#include "jit/target_file.h"
#include "runtime/host_target.h"
#include "runtime/knobs.h"
#include "runtime/machine.h"
#include "runtime/parallel.h"
#include "runtime/version.h"

namespace axrun::runtime {
namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

/// The note of the object that holds the address.
int look_at(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool holds = false;
  for (int k = 0; k < object->dlpi_phnum; ++k) {
    const ElfW(Phdr)& part = object->dlpi_phdr[k];
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    holds = holds || (part.p_type == PT_LOAD && search.address - begin < part.p_memsz);
  }
  if (!holds) return 0;
  for (int k = 0; k < object->dlpi_phnum; ++k) {
    const ElfW(Phdr)& part = object->dlpi_phdr[k];
    if (part.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
    const char* const end = at + part.p_memsz;
    while (end - at > static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* name = at + sizeof note;
      const char* id = name + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        for (uint32_t b = 0; b < note.n_descsz; ++b)
          search.id += fmt::format("{:02x}", static_cast<unsigned char>(id[b]));
        return 1;
      }
      at = id + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

std::string processor_name() {
  std::array<unsigned, 12> words{};
  unsigned most = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x80000000U, &most, &b, &c, &d) == 0 || most < 0x80000004U) return "x86-64";
  for (unsigned k = 0; k < 3; ++k)
    __get_cpuid(0x80000002U + k, &words[4 * k], &words[4 * k + 1], &words[4 * k + 2], &words[4 * k + 3]);
  const auto* text = reinterpret_cast<const char*>(words.data());
  return {text, strnlen(text, sizeof words)};
}

}  // namespace

std::string generator_text() {
  Search search{reinterpret_cast<uintptr_t>(&generator_text), {}};
  dl_iterate_phdr(look_at, &search);
  return search.id.empty() ? std::string() : fmt::format("{} {}", version(), search.id);
}

std::string processor_text() {
  const char* level = knob_value(KnobName::isa);
  return processor_name() + (level != nullptr ? fmt::format("; at most {}", level) : "");
}

std::string machine_text() {
  std::string text = processor_name();
  for (const jit::CpuFeature& feature : jit::cpu_features()) {
    if (!jit::host_has(feature.name)) continue;
    text += ' ';
    text += feature.name;
  }
  if (const char* level = knob_value(KnobName::isa)) text += fmt::format("; at most {}", level);
  text += fmt::format("; {} processors", default_threads());
  if (knob_value(KnobName::target) != nullptr) text += "; " + jit::print_target(host_target());
  return text;
}

}  // namespace axrun::runtime
