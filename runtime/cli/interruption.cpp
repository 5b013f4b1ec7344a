#include "runtime/cli/interruption.h"

#include <csignal>
#include <iterator>

namespace axrun::cli {
namespace {

// A closed terminal's (SIGHUP) among them: what an ssh session has begun ends in order when that breaks.
constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction before[std::size(signals)];
volatile std::sig_atomic_t caught = 0;

void note(int signal) { caught = signal; }

}  // namespace

Interruption::Interruption() {
  caught = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (size_t k = 0; k < std::size(signals); ++k) {
    sigaction(signals[k], nullptr, &before[k]);
    // nohup, and shells for what runs in the background, have some ignored.
    if (before[k].sa_handler != SIG_IGN) sigaction(signals[k], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (size_t k = 0; k < std::size(signals); ++k) sigaction(signals[k], &before[k], nullptr);
  caught = 0;
}

int Interruption::signal() { return caught; }

}  // namespace axrun::cli
