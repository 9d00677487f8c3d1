#include "app/cli/dump_maps.h"

#include <bit>
#include <cctype>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <span>

#include "app/input/file.h"
#include "convlens/error.h"

namespace convlens::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "NPY files are written as '<f4'");

// The head of a NumPy file, version 1.0: padded so that the data begins at a multiple of 64 bytes.
std::string npy_head(const Dims& dims) {
    std::string shape;
    for (const std::int64_t dim : dims) shape += std::to_string(dim) + ",";
    if (dims.rank() > 1) shape.pop_back();
    std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
    constexpr std::size_t fixed_bytes = 10;
    text.append(63 - (fixed_bytes + text.size()) % 64, ' ');
    text += '\n';
    std::string head("\x93NUMPY\x01\x00", 8);
    head += static_cast<char>(text.size() & 0xFF);
    head += static_cast<char>(text.size() >> 8);
    return head + text;
}

// Tensor names may hold anything, also slashes.
std::string file_name(int tensor, const std::string& name) {
    std::string number = std::to_string(tensor);
    number.insert(0, number.size() < 4 ? 4 - number.size() : 0, '0');
    std::string clean;
    for (const char c : name.substr(0, 80))
        clean += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' ? c : '_';
    return number + "_" + clean + ".npy";
}

class Dumper {
  public:
    Dumper(network::Executor& executor, const std::string& folder)
        : executor_(executor), folder_(folder), done_(executor.tensors().size(), false) {}

    void dump(int tensor, const std::string& layer) {
        if (done_[static_cast<std::size_t>(tensor)]) return;
        done_[static_cast<std::size_t>(tensor)] = true;
        const network::Tensor& t = executor_.tensors()[static_cast<std::size_t>(tensor)];
        const std::vector<float> values = executor_.copy(tensor);
        const DumpedTensor dumped{t.name, file_name(tensor, t.name), layer, t.desc.dims};
        input::write_file((std::filesystem::path(folder_) / dumped.file).string(), npy_head(t.desc.dims),
                          std::as_bytes(std::span(values)));
        index_.push_back(dumped);
        // Views of the same memory carry names of their own.
        for (std::size_t i = 0; i < done_.size(); ++i)
            if (executor_.tensors()[i].alias_of == tensor) dump(static_cast<int>(i), layer);
    }
    void write_index() const {
        input::write_file((std::filesystem::path(folder_) / "index.json").string(), index_json(index_));
    }

  private:
    network::Executor& executor_;
    std::string folder_;
    std::vector<bool> done_;
    std::vector<DumpedTensor> index_;
};

}  // namespace

void dump_maps(network::Executor& executor, const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        throw Error(Status::runtime_failure, "the folder '" + folder + "' can't be made: " + error.message() +
                                                 "; give one that can be written");
    Dumper dumper(executor, folder);
    for (const int tensor : executor.input_tensors()) dumper.dump(tensor, {});
    // An exception must not cross the running pass.
    std::exception_ptr failure;
    network::PassObserver observer;
    observer.after = [&](int layer) {
        if (failure) return;
        try {
            const network::Layer& l = executor.layers()[static_cast<std::size_t>(layer)];
            for (const int tensor : l.outputs) dumper.dump(tensor, l.name);
        } catch (...) {
            failure = std::current_exception();
        }
    };
    executor.run(0, &observer);
    if (failure) std::rethrow_exception(failure);
    dumper.write_index();
}

}  // namespace convlens::cli
