// Tensors as feature maps under the name that the panels use.
#pragma once

#include "app/measure/tensor_maps.h"

namespace convlens::ui {

using measure::TensorMaps;

}  // namespace convlens::ui
