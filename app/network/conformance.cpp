#include "app/network/conformance.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/network/executor.h"
#include "app/network/graph.h"

namespace convlens::network {

namespace fs = std::filesystem;

const char* to_string(Conformance status) noexcept {
    switch (status) {
        case Conformance::passed:
            return "passed";
        case Conformance::failed:
            return "failed";
        case Conformance::not_supported:
            return "not_supported";
    }
    return "unknown";
}

namespace {

std::vector<ConstantPtr> read_tensors(const fs::path& folder, const std::string& kind) {
    std::vector<ConstantPtr> tensors;
    for (int i = 0;; ++i) {
        const fs::path file = folder / (kind + "_" + std::to_string(i) + ".pb");
        if (!fs::exists(file)) return tensors;
        tensors.push_back(read_tensor_file(file.string()));
    }
}

// How many of the inputs are computed values rather than constants.
enum class Dynamic { all_real, first_real, none };

std::vector<bool> dynamic_inputs(const Model& model, Dynamic how) {
    std::vector<bool> dynamic;
    bool first = true;
    for (const ValueInfo& info : model.inputs()) {
        const bool real = is_real(info.type);
        dynamic.push_back(real && (how == Dynamic::all_real || (how == Dynamic::first_real && first)));
        if (real) first = false;
    }
    return dynamic;
}

std::string compare(const Executor& executor, const std::vector<ConstantPtr>& expected) {
    const auto outputs = executor.output_tensors();
    if (expected.size() > outputs.size()) return "it has fewer outputs than the test";
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Tensor& tensor = executor.tensors()[static_cast<std::size_t>(outputs[i])];
        const Constant& want = *expected[i];
        if (executor.model().outputs()[i].type == DataType::bf16 && !want.is_real())
            throw Error(Status::not_supported, "the test holds bfloat16 values as integers");
        if (tensor.desc.dims != want.dims)
            return "output " + tensor.name + " is " + tensor.desc.dims.text() + ", expected " +
                   want.dims.text();
        const std::vector<float> got = executor.copy(outputs[i]);
        for (std::size_t k = 0; k < got.size(); ++k) {
            const double w = static_cast<double>(want.as_float(static_cast<std::int64_t>(k))),
                         g = static_cast<double>(got[k]);
            const bool same = w == g || (std::isnan(w) && std::isnan(g));
            if (!same && !(std::fabs(w - g) <= 1e-7 + 1e-3 * std::fabs(w)))
                return "output " + tensor.name + " is " + std::to_string(g) + " at element " +
                       std::to_string(k) + ", expected " + std::to_string(w);
        }
    }
    return {};
}

// Empty when the results agree, else where they don't. Throws Error when it can't be run.
std::string run_set(Context& context, const Model& model, Dynamic how, const fs::path& folder) {
    const auto inputs = read_tensors(folder, "input"), expected = read_tensors(folder, "output");
    if (inputs.size() > model.inputs().size()) return "it has fewer inputs than the test";
    const std::vector<bool> dynamic = dynamic_inputs(model, how);
    std::map<std::string, ConstantPtr> bound;
    ExecutorOptions options;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        // The ONNX project's files hold bfloat16 as plain 16-bit integers.
        if (model.inputs()[i].type == DataType::bf16 && !inputs[i]->is_real())
            throw Error(Status::not_supported, "the test holds bfloat16 values as integers");
        if (dynamic[i])
            options.input_dims[model.inputs()[i].name] = inputs[i]->dims;
        else
            bound[model.inputs()[i].name] = inputs[i];
    }
    const auto runnable = bind_inputs(model, bound);
    for (const Mode mode : {Mode::explore, Mode::lean}) {
        options.mode = mode;
        Executor executor(context, runnable, options);
        int index = 0;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (dynamic[i]) executor.set_input(index++, inputs[i]->expanded().data());
        executor.run();
        const std::string fault = compare(executor, expected);
        if (!fault.empty()) return std::string(to_string(mode)) + " mode: " + fault;
    }
    return {};
}

ConformanceCase run_case(Context& context, const fs::path& folder, const std::string& name) {
    ConformanceCase result;
    result.name = name;
    try {
        const auto model = Model::load((folder / "model.onnx").string());
        std::vector<fs::path> sets;
        for (const auto& entry : fs::directory_iterator(folder))
            if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
                sets.push_back(entry.path());
        std::sort(sets.begin(), sets.end());
        if (sets.empty()) throw Error(Status::bad_parameter, name + " holds no test_data_set");
        for (const fs::path& set : sets) {
            std::string reason;
            bool ran = false;
            for (const Dynamic how : {Dynamic::all_real, Dynamic::first_real, Dynamic::none}) {
                try {
                    const std::string fault = run_set(context, *model, how, set);
                    ran = true;
                    if (fault.empty()) break;
                    result.status = Conformance::failed;
                    result.reason = fault;
                    return result;
                } catch (const Error& error) {
                    if (error.status() == Status::runtime_failure) throw;
                    if (how != Dynamic::none) reason = error.what();
                }
            }
            if (!ran) throw Error(Status::not_supported, reason);
        }
        result.status = Conformance::passed;
    } catch (const Error& error) {
        result.status =
            error.status() == Status::runtime_failure ? Conformance::failed : Conformance::not_supported;
        result.reason = error.what();
    } catch (const std::exception& error) {
        result.status = Conformance::failed;
        result.reason = error.what();
    }
    return result;
}

}  // namespace

ConformanceReport run_conformance(Context& context, const std::string& directory,
                                  const std::function<void(const ConformanceCase&)>& progress) {
    std::error_code error;
    if (!fs::is_directory(directory, error))
        throw Error(Status::bad_parameter, directory + ": no such folder; give one with ONNX backend tests");
    std::vector<fs::path> folders;
    for (auto at = fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied,
                                                    error);
         !error && at != fs::recursive_directory_iterator(); at.increment(error))
        if (at->path().filename() == "model.onnx") folders.push_back(at->path().parent_path());
    if (folders.empty())
        throw Error(Status::bad_parameter, directory + ": no ONNX backend test (model.onnx) below it");
    std::sort(folders.begin(), folders.end());
    ConformanceReport report;
    for (const fs::path& folder : folders) {
        std::string name = fs::relative(folder, directory, error).string();
        if (name.empty() || name == ".") name = folder.filename().string();
        ConformanceCase result = run_case(context, folder, name);
        ++(result.status == Conformance::passed   ? report.passed
           : result.status == Conformance::failed ? report.failed
                                                  : report.not_supported);
        if (progress) progress(result);
        report.cases.push_back(std::move(result));
    }
    return report;
}

}  // namespace convlens::network
