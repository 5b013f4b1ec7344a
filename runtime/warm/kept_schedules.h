#pragma once

#include <memory>

#include "runtime/cache/store.h"
#include "search/schedule_store.h"

namespace axrun::runtime {

/// What searches for schedules find, in a cache: for all models and processes. Damaged entries are dropped
/// when they are read.
std::shared_ptr<search::ScheduleStore> schedules_in(std::shared_ptr<cache::Store> store);

}  // namespace axrun::runtime
