#include "tests/checks/switch.h"

#include <array>

namespace axrun::verify::checks {
namespace {

std::array<bool, std::size(table)> taken_out;

}  // namespace

bool on(Id id) { return !taken_out[id.row()]; }

TakenOut::TakenOut(const std::vector<Id>& ids) {
  for (const Id id : ids) taken_out[id.row()] = true;
}

TakenOut::~TakenOut() { taken_out.fill(false); }

}  // namespace axrun::verify::checks
