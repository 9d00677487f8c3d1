// Errors of the library. Three outcomes are kept apart: the caller's mistake, a case that is not supported
// here (with the reason), and a failure at run time.
#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace convlens {

enum class Status {
    success = 0,
    bad_parameter,    // the caller's mistake: a null pointer, a wrong rank, a negative pad, a small workspace
    not_supported,    // a valid request that no algorithm here can do; the text says why
    runtime_failure,  // memory exhausted, a device lost, a file that can't be read
};

// The name of a status in lower case with underscores, e.g. "bad_parameter".
const char* to_string(Status status) noexcept;

class Error : public std::runtime_error {
  public:
    Error(Status status, const std::string& text) : std::runtime_error(text), status_(status) {}
    Status status() const noexcept { return status_; }

  private:
    Status status_;
};

}  // namespace convlens
#pragma GCC visibility pop
