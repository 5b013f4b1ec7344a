#pragma once

#include <memory>

#include "runtime/cache/store.h"

namespace axrun::runtime {

/// What searches for schedules find is kept in the store from now on, for all sessions of this process, and
/// what others have found is taken over. A session that comes later may say otherwise.
void keep_schedules_in(std::shared_ptr<cache::Store> store);

}  // namespace axrun::runtime
