// write_random_model MODEL SEED OUT: the model with seeded random weights, written as plain initializers, for
// comparison with other runtimes.
#include <cstdio>
#include <cstdlib>

#include "app/network/graph.h"

int main(int argc, char** argv) {
    using namespace convlens::network;
    if (argc != 4) {
        std::fprintf(stderr, "usage: write_random_model MODEL SEED OUT\n");
        return 2;
    }
    try {
        write_onnx(*Model::with_random_weights(*Model::load(argv[1]), std::strtoull(argv[2], nullptr, 10)),
                   argv[3]);
    } catch (const convlens::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
