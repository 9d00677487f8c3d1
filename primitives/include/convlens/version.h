#pragma once
#define CONVLENS_VERSION_MAJOR 0
#define CONVLENS_VERSION_MINOR 1
#define CONVLENS_VERSION_PATCH 0
namespace convlens {
// "0.1.0", of the library that is linked.
const char* version() noexcept;
}  // namespace convlens
