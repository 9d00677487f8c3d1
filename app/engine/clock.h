// The steady clock in milliseconds, as frames, snapshots and messages carry it.
#pragma once

#include "app/input/frame.h"

namespace convlens::engine {

using input::now_ms;

}  // namespace convlens::engine
