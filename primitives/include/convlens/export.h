/* What a shared library of ConvLens shows: everything is hidden but what the public headers declare. */
#ifndef CONVLENS_EXPORT_H
#define CONVLENS_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
#define CONVLENS_API __attribute__((visibility("default")))
#else
#define CONVLENS_API
#endif

#endif
