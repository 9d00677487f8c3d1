// `--dump-maps`: every tensor of one pass as an NPY file, written before its memory is used again.
#pragma once

#include <string>
#include <vector>

#include "app/network/executor.h"

namespace convlens::cli {

// Runs one pass (the input must be set) and writes index.json (tensor name -> file, shape, layer) and the
// files into `folder`, which is made. float32, logical N C H W. Throws Error(runtime_failure) when something
// can't be written.
void dump_maps(network::Executor& executor, const std::string& folder);

struct DumpedTensor {
    std::string name, file, layer;  // layer: empty for a network input
    Dims dims;
};
// run_report.cpp
std::string index_json(const std::vector<DumpedTensor>& tensors);

}  // namespace convlens::cli
