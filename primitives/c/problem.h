// How a problem of the C interface is made from its struct (inside the library only).
#pragma once

#include <memory>

#include "primitives/c/structs.h"

namespace convlens::c {

// `make` turns the struct into the C++ problem.
template <class Desc, class Make>
convlens_status create(const Desc* desc, const Desc& defaults, convlens_problem** problem, const Make& make) {
    return guarded([&] {
        const Result<convlens_problem> result(problem);
        auto made = std::make_unique<Problem>(make(read_struct(desc, defaults, "desc")));
        check(*made);
        result.set(std::move(made));
    });
}

}  // namespace convlens::c
