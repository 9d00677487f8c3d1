// Everything a C++ user of the library needs.
#pragma once

#include "convlens/context.h"
#include "convlens/error.h"
#include "convlens/external.h"
#include "convlens/plan.h"
#include "convlens/problem.h"
#include "convlens/tensor.h"
#include "convlens/version.h"
