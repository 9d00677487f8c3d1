#include "app/network/layout.h"

#include <set>

namespace convlens::network {

namespace {

class LayoutPass {
  public:
    explicit LayoutPass(Program& program) : program_(program), uses_(uses_of(program)) {
        for (const Operation& operation : program.operations) {
            const Problem& p = operation.problem;
            if (operation.is_reshape || operation.sources[0].tensor < 0) continue;
            if (std::holds_alternative<ConvolutionProblem>(p) ||
                std::holds_alternative<TransposedConvolutionProblem>(p) ||
                std::holds_alternative<PoolingProblem>(p) ||
                std::holds_alternative<BatchNormalizationProblem>(p) || std::holds_alternative<LrnProblem>(p))
                image_ranks_.insert(dims(operation.sources[0].tensor).rank());
        }
        layout_.descs.resize(program.tensors.size());
        layout_.alias_of.assign(program.tensors.size(), -1);
    }

    Layout run() {
        for (const int input : program_.inputs) desc(input) = usual(dims(input));
        std::vector<Operation> done;
        for (Operation& operation : program_.operations) {
            if (operation.is_reshape) {
                if (!reshape(operation)) done.push_back(std::move(operation));
                continue;
            }
            desc(operation.output) = output_desc(operation);
            match_residual(operation, done);
            done.push_back(std::move(operation));
        }
        program_.operations = std::move(done);
        for (Operation& operation : program_.operations) fill(operation);
        return std::move(layout_);
    }

  private:
    const Dims& dims(int tensor) const { return program_.tensors[static_cast<std::size_t>(tensor)].dims; }
    TensorDesc& desc(int tensor) { return layout_.descs[static_cast<std::size_t>(tensor)]; }

    TensorDesc usual(const Dims& d) const {
        return image_ranks_.contains(d.rank()) ? TensorDesc::channels_last(d) : TensorDesc::packed(d);
    }

    TensorDesc output_desc(const Operation& operation) {
        const Dims& out = dims(operation.output);
        const TensorDesc standard = usual(out);
        if (std::holds_alternative<TransformProblem>(operation.problem))
            return transform_desc(operation, standard);
        const bool follows = std::holds_alternative<ActivationProblem>(operation.problem) ||
                             std::holds_alternative<ElementwiseProblem>(operation.problem) ||
                             std::holds_alternative<BatchNormalizationProblem>(operation.problem) ||
                             std::holds_alternative<SoftmaxProblem>(operation.problem);
        if (!follows) return standard;
        // Element by element: as its source lies, so that it may be done in place.
        std::optional<TensorDesc> first;
        for (const Operand& source : operation.sources) {
            if (source.tensor < 0 || dims(source.tensor) != out) continue;
            const TensorDesc& d = desc(source.tensor);
            if (d == standard) return standard;
            if (!first && d.is_dense() && d.offset == 0) first = d;
        }
        return first.value_or(standard);
    }

    // A copy may write any layout: the one in which a Reshape after it is a view.
    TensorDesc transform_desc(const Operation& operation, const TensorDesc& standard) {
        const auto& readers = uses_.readers[static_cast<std::size_t>(operation.output)];
        if (readers.empty() || standard.is_empty()) return standard;
        const Operation& reader = program_.operations[static_cast<std::size_t>(readers.front())];
        if (!reader.is_reshape) return standard;
        const Dims& after = dims(reader.output);
        const auto ahead = reshaped_without_copy(standard, after);
        if (ahead && (!image_ranks_.contains(after.rank()) || ahead->is_channels_last())) return standard;
        return reshaped_without_copy(usual(after), standard.dims).value_or(standard);
    }

    // True when the reshape became a view.
    bool reshape(Operation& operation) {
        const int source = operation.sources[0].tensor, output = operation.output;
        const TensorDesc from = desc(source);
        const Dims to = dims(output);
        const auto view = reshaped_without_copy(from, to);
        const bool image = image_ranks_.contains(to.rank());
        if (view && (!image || view->is_channels_last() || to == from.dims || !read_as_image(output))) {
            desc(output) = *view;
            const int root = layout_.alias_of[static_cast<std::size_t>(source)];
            layout_.alias_of[static_cast<std::size_t>(output)] = root >= 0 ? root : source;
            return true;
        }
        TransformProblem copy;
        desc(output) = usual(to);
        if (view) {
            copy.src = *view;
            copy.dst = desc(output);
        } else {
            copy.src = from;
            auto back = reshaped_without_copy(desc(output), from.dims);
            if (!back) {
                desc(output) = TensorDesc::packed(to);
                back = TensorDesc::packed(from.dims);
            }
            copy.dst = *back;
        }
        operation.is_reshape = false;
        operation.sources[0].view = [d = copy.src](const TensorDesc&) { return d; };
        operation.output_view = [d = copy.dst](const TensorDesc&) { return d; };
        operation.problem = copy;
        return false;
    }

    bool read_as_image(int tensor) const {
        for (const int reader : uses_.readers[static_cast<std::size_t>(tensor)]) {
            const Problem& p = program_.operations[static_cast<std::size_t>(reader)].problem;
            if (std::holds_alternative<ConvolutionProblem>(p) ||
                std::holds_alternative<TransposedConvolutionProblem>(p) ||
                std::holds_alternative<PoolingProblem>(p) || std::holds_alternative<LrnProblem>(p) ||
                std::holds_alternative<BatchNormalizationProblem>(p))
                return true;
        }
        return false;
    }

    // A residual is read in the destination's layout.
    void match_residual(Operation& operation, std::vector<Operation>& done) {
        const bool may = std::holds_alternative<ConvolutionProblem>(operation.problem) ||
                         std::holds_alternative<FullyConnectedProblem>(operation.problem);
        if (!may || operation.sources.size() < 3 || operation.sources[2].tensor < 0) return;
        const int residual = operation.sources[2].tensor;
        if (desc(residual) == desc(operation.output)) return;
        Operation copy;
        copy.name = operation.name + "/residual";
        copy.op = operation.op;
        copy.problem = TransformProblem{};
        copy.sources = {Operand::of(residual)};
        copy.output = static_cast<int>(program_.tensors.size());
        ProgramTensor tensor;
        tensor.name = copy.name;
        tensor.dims = dims(residual);
        program_.tensors.push_back(tensor);
        layout_.descs.push_back(desc(operation.output));
        layout_.alias_of.push_back(-1);
        operation.sources[2] = Operand::of(copy.output);
        done.push_back(std::move(copy));
    }

    void fill(Operation& operation) {
        for (std::size_t i = 0; i < operation.sources.size(); ++i) {
            const Operand& source = operation.sources[i];
            TensorDesc* slot = source_desc(operation.problem, i);
            if (slot == nullptr || !source.present()) continue;
            const TensorDesc lies =
                source.constant ? TensorDesc::packed(source.constant->dims) : desc(source.tensor);
            *slot = source.view ? source.view(lies) : lies;
        }
        const TensorDesc& out = desc(operation.output);
        dst_desc(operation.problem) = operation.output_view ? operation.output_view(out) : out;
    }

    Program& program_;
    Uses uses_;
    std::set<int> image_ranks_;
    Layout layout_;
};

}  // namespace

Layout assign_layouts(Program& program) { return LayoutPass(program).run(); }

}  // namespace convlens::network
