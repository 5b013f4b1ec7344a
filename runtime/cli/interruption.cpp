#include "runtime/cli/interruption.h"

#include <csignal>

namespace axrun::cli {
namespace {

constexpr int signals[] = {SIGINT, SIGTERM};
volatile std::sig_atomic_t caught = 0;

void note(int signal) { caught = signal; }

}  // namespace

Interruption::Interruption() {
  caught = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (const int signal : signals) sigaction(signal, &action, nullptr);
}

Interruption::~Interruption() {
  for (const int signal : signals) std::signal(signal, SIG_DFL);
  caught = 0;
}

int Interruption::signal() { return caught; }

}  // namespace axrun::cli
