/* The version, from this file alone: CMake reads it here. Semantic: while MAJOR is 0, MINOR counts breaks. C
 * and C++. */
#ifndef CONVLENS_VERSION_H
#define CONVLENS_VERSION_H

#include "convlens/export.h"

#define CONVLENS_VERSION_MAJOR 0
#define CONVLENS_VERSION_MINOR 1
#define CONVLENS_VERSION_PATCH 0
/* One number for comparisons by the preprocessor: 100 for 0.1.0. */
#define CONVLENS_VERSION \
    (CONVLENS_VERSION_MAJOR * 10000 + CONVLENS_VERSION_MINOR * 100 + CONVLENS_VERSION_PATCH)

#ifdef __cplusplus
namespace convlens {
// "0.1.0", of the library that is linked.
CONVLENS_API const char* version() noexcept;
}  // namespace convlens
#endif

#endif
