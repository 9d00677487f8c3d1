// Functions that kernels of both backends call.
#pragma once

#ifdef __CUDACC__
#define CONVLENS_HD __host__ __device__
#else
#define CONVLENS_HD
#endif
