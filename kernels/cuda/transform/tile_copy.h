// Copies in which src and dst are contiguous along different axes.
//
// A tile of both axes is read along src's, turned in shared memory and written along dst's: 64 x 64 elements
// of four bytes in groups of four where all lengths, steps and pointers allow it, else 32 x 32 of any size.
#pragma once

#include "kernels/cuda/transform/transform.h"

namespace convlens::cuda {

// Of equal types. False, with nothing done, where the copy is not of this kind or has too many tiles.
bool tile_copy(const StridedCopy& copy, const void* src, void* dst, Stream stream);

}  // namespace convlens::cuda
