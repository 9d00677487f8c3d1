#include "app/network/model.h"

#include <filesystem>
#include <fstream>

#include "app/network/graph.h"
#include "app/network/lowering.h"

namespace convlens::network {

struct Model::Impl {
    std::string path;
    ParsedModel parsed;
    std::size_t weights_bytes = 0;
};

Model::Model() : impl_(std::make_unique<Impl>()) {}
Model::~Model() = default;

const std::string& Model::path() const { return impl_->path; }
const std::string& Model::name() const { return impl_->parsed.name; }
const std::map<std::string, std::string>& Model::metadata() const { return impl_->parsed.metadata; }
const std::vector<ValueInfo>& Model::inputs() const { return impl_->parsed.inputs; }
const std::vector<ValueInfo>& Model::outputs() const { return impl_->parsed.outputs; }
std::size_t Model::weights_bytes() const { return impl_->weights_bytes; }
const Graph& Model::graph() const { return impl_->parsed.graph; }

// The only maker of models.
struct ModelMaker {
    static std::shared_ptr<const Model> make(ParsedModel parsed, const std::string& path);
};

std::shared_ptr<const Model> make_model(ParsedModel parsed, const std::string& path) {
    return ModelMaker::make(std::move(parsed), path);
}

std::shared_ptr<const Model> ModelMaker::make(ParsedModel parsed, const std::string& path) {
    try {
        fold_graph(parsed.graph);
        for (const auto& node : parsed.graph.nodes) check_operator(node, parsed.graph.opset);
    } catch (const Error& error) {
        throw Error(error.status(), (path.empty() ? "the model" : path) + ": " + error.what());
    }
    const std::shared_ptr<Model> model(new Model);
    model->impl_->path = path;
    std::vector<bool> counted(parsed.graph.values.size(), false);
    for (const auto& node : parsed.graph.nodes) {
        for (const int value : node.inputs) {
            if (value < 0 || counted[static_cast<std::size_t>(value)]) continue;
            counted[static_cast<std::size_t>(value)] = true;
            const auto& constant = parsed.graph.values[static_cast<std::size_t>(value)].constant;
            if (constant && constant->is_real())
                model->impl_->weights_bytes += static_cast<std::size_t>(constant->elements()) * sizeof(float);
        }
    }
    model->impl_->parsed = std::move(parsed);
    return model;
}

std::shared_ptr<const Model> Model::parse(const std::string& bytes, const std::string& path) {
    ParsedModel parsed;
    try {
        parsed = read_onnx(bytes, path);
    } catch (const Error& error) {
        throw Error(error.status(), (path.empty() ? "the model" : path) + ": " + error.what());
    }
    return make_model(std::move(parsed), path);
}

std::shared_ptr<const Model> Model::load(const std::string& path) {
    std::error_code error;
    const auto refuse_file = [&](const std::string& why) {
        throw Error(Status::bad_parameter, path + ": " + why);
    };
    if (!std::filesystem::exists(path, error)) refuse_file("no such file; give the path of an ONNX file");
    if (!std::filesystem::is_regular_file(path, error))
        refuse_file("not a file; give the path of an ONNX file");
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error) refuse_file("its size can't be read: " + error.message());
    if (size > std::uintmax_t{1} << 31) refuse_file("larger than 2 GiB; keep the weights in external data");
    std::ifstream stream(path, std::ios::binary);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    if (!stream || !stream.read(bytes.data(), static_cast<std::streamsize>(size)))
        refuse_file("can't be read; check its permissions");
    return parse(bytes, path);
}

std::shared_ptr<const Model> bind_inputs(const Model& model,
                                         const std::map<std::string, ConstantPtr>& values) {
    ParsedModel parsed{model.name(), model.metadata(), {}, model.outputs(), model.graph()};
    parsed.graph.inputs.clear();
    for (std::size_t i = 0; i < model.inputs().size(); ++i) {
        const auto bound = values.find(model.inputs()[i].name);
        const int value = model.graph().inputs[i];
        if (bound != values.end()) {
            parsed.graph.values[static_cast<std::size_t>(value)].constant = bound->second;
        } else {
            parsed.inputs.push_back(model.inputs()[i]);
            parsed.graph.inputs.push_back(value);
        }
    }
    return make_model(std::move(parsed), model.path());
}

}  // namespace convlens::network
