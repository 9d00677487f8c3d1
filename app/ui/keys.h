// Keys become the same command lines that scripts use.
#pragma once

#include "app/ui/scene.h"

namespace convlens::ui {

void handle_keys(Scene& scene);

}  // namespace convlens::ui
