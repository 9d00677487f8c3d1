// The one place where volk's functions are defined.
#define VOLK_IMPLEMENTATION
#include <volk.h>
