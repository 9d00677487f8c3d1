// The structs of the C interface as a C compiler lays them out (c_structs.c), to be compared with a C++
// compiler's.
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
// Sizes of all structs that cross the interface, in the order of the table in c_structs.c; returns how many.
size_t c_struct_sizes(size_t* sizes, size_t most);
// struct_size of each default, in the same order (0 where a struct has none).
size_t c_default_sizes(size_t* sizes, size_t most);
// A whole life through the interface in C alone: 0 when a small convolution gives what it should, else the
// number of the step.
int c_small_convolution(void);
#ifdef __cplusplus
}
#endif
