#include "primitives/cuda/map_statistics.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

#include "kernels/cuda/statistics/statistics.h"
#include "primitives/layout_of.h"

namespace convlens {
namespace {

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    cudaGetLastError();  // it must not be found again by the next launch
    throw Error(Status::runtime_failure, std::string("statistics of maps: ") + cudaGetErrorString(error) +
                                             " (" + cudaGetErrorName(error) + ")");
}

[[noreturn]] void refuse(const std::string& text) { throw Error(Status::bad_parameter, text); }

// Memory of the device, or host memory that it copies to and from at full speed; grows and is kept.
template <cudaError_t (*allocate)(void**, std::size_t), cudaError_t (*release)(void*)>
class Kept {
  public:
    Kept() = default;
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() { release(memory_); }
    std::byte* of(std::size_t bytes) {
        if (bytes > bytes_) {
            release(memory_);
            memory_ = nullptr;
            bytes_ = 0;
            check(allocate(&memory_, bytes));
            bytes_ = bytes;
        }
        return static_cast<std::byte*>(memory_);
    }

  private:
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};
cudaError_t allocate_device(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
cudaError_t allocate_host(void** memory, std::size_t bytes) { return cudaMallocHost(memory, bytes); }
using DeviceMemory = Kept<allocate_device, cudaFree>;
using HostMemory = Kept<allocate_host, cudaFreeHost>;

cuda::StatisticsSource source_of(const StatisticsRequest::Tensor& tensor) {
    const TensorDesc& desc = tensor.desc;
    const int rank = desc.rank();
    if (rank < 1 || rank > 5) refuse("statistics take tensors of rank 1 to 5, not " + desc.text());
    if (desc.type != DataType::f32) refuse("statistics take f32 tensors, not " + desc.text());
    cuda::StatisticsSource source;
    const int channel_axis = rank == 1 ? 0 : 1;
    if (rank > 1 && desc.dims[0] == 0) refuse("statistics take a batch of at least 1, not " + desc.text());
    source.channels = desc.dims[channel_axis];
    source.channel_stride = desc.strides[channel_axis];
    std::int64_t cells = 1;
    for (int axis = 2; axis < rank; ++axis) {
        source.dims[axis + 3 - rank] = desc.dims[axis];
        source.strides[axis + 3 - rank] = desc.strides[axis];
        cells *= desc.dims[axis];
    }
    if (cells >= cuda::divisor_limit)
        refuse("statistics take maps of fewer than 2147483648 values, not " + desc.text());
    return source;
}

template <class Result>
ValueStatistics statistics_of(const Result& result, std::int64_t count) {
    ValueStatistics s;
    s.min = result.min;
    s.max = result.max;
    s.mean = static_cast<double>(result.mean);
    s.deviation = static_cast<double>(result.deviation);
    s.count = count;
    s.nan_count = static_cast<std::int64_t>(result.nans);
    s.inf_count = static_cast<std::int64_t>(result.infinities);
    if (count > 0) s.zero_share = static_cast<double>(result.zeros) / static_cast<double>(count);
    return s;
}

class Taker final : public MapStatisticsTaker {
  public:
    explicit Taker(const CudaDevice& device) : device_(device) {}

    const StatisticsResult& take(const StatisticsRequest& request) override {
        device_.activate();
        prepare(request);
        launch(request);
        collect(request);
        return result_;
    }

  private:
    // What comes back lies together: tensors, maps, bins.
    struct Places {
        std::size_t bins = 0, tensors = 0, maps = 0, bytes = 0;
    };

    static void check_request(const StatisticsRequest& request) {
        const auto count = static_cast<int>(request.tensors.size());
        if (request.maps_of >= count)
            refuse("statistics: there is no tensor " + std::to_string(request.maps_of));
        if (request.histogram_of >= count)
            refuse("statistics: there is no tensor " + std::to_string(request.histogram_of));
        if (request.bins < 1 || request.bins > cuda::max_bins)
            refuse("a histogram has 1 to " + std::to_string(cuda::max_bins) + " bins, not " +
                   std::to_string(request.bins));
    }

    // The plan of the same tensors in other memory is the same.
    bool is_planned(const StatisticsRequest& request) const {
        if (planned_.tensors.size() != request.tensors.size() || planned_.maps_of != request.maps_of ||
            planned_.histogram_of != request.histogram_of || planned_.channel != request.channel ||
            planned_.bins != request.bins)
            return false;
        for (std::size_t i = 0; i < request.tensors.size(); ++i)
            if (!(planned_.tensors[i].desc == request.tensors[i].desc)) return false;
        return true;
    }

    void prepare(const StatisticsRequest& request) {
        check_request(request);
        for (const auto& tensor : request.tensors)
            if (tensor.data == nullptr && !tensor.desc.is_empty()) refuse("statistics: data is null");
        if (!is_planned(request)) make_plan_of(request);
        for (std::size_t i = 0; i < request.tensors.size(); ++i)
            plan_.tensors[i].data = static_cast<const float*>(request.tensors[i].data);
    }

    void make_plan_of(const StatisticsRequest& request) {
        planned_ = {};
        std::vector<cuda::StatisticsSource> sources;
        for (const auto& tensor : request.tensors) sources.push_back(source_of(tensor));
        if (request.maps_of >= 0) sources[static_cast<std::size_t>(request.maps_of)].maps = true;
        if (request.histogram_of >= 0) {
            auto& source = sources[static_cast<std::size_t>(request.histogram_of)];
            if (request.channel < -1 || request.channel >= source.channels)
                refuse("channel " + std::to_string(request.channel) + " is not in 0 to " +
                       std::to_string(source.channels - 1));
            source.maps = source.maps || request.channel >= 0;
        }
        plan_ = cuda::plan_statistics(sources);
        if (plan_.blocks >= cuda::divisor_limit) refuse("statistics: the tensors are too many or too large");
        const auto bins = static_cast<std::size_t>(request.histogram_of >= 0 ? request.bins : 0);
        places_.bins = 0;
        places_.tensors = bins * sizeof(std::uint64_t);
        places_.maps = places_.tensors + plan_.tensors.size() * sizeof(cuda::TensorResult);
        places_.bytes = places_.maps + static_cast<std::size_t>(plan_.maps) * sizeof(cuda::MapResult);
        planned_ = request;
    }

    void launch(const StatisticsRequest& request) {
        const auto stream = static_cast<cuda::Stream>(device_.stream());
        if (plan_.tensors.empty()) return;
        const std::size_t tensor_bytes = plan_.tensors.size() * sizeof(cuda::StatisticsTensor);
        const std::size_t table_bytes = tensor_bytes + plan_.first_blocks.size() * sizeof(std::uint32_t);
        // The last copy out of the host's table has ended: take() waits.
        std::byte* host_table = host_table_.of(table_bytes);
        std::memcpy(host_table, plan_.tensors.data(), tensor_bytes);
        std::memcpy(host_table + tensor_bytes, plan_.first_blocks.data(), table_bytes - tensor_bytes);
        std::byte* table = table_.of(table_bytes);
        check(cudaMemcpyAsync(table, host_table, table_bytes, cudaMemcpyHostToDevice, stream));
        std::byte* out = out_.of(places_.bytes);
        auto* tensors = reinterpret_cast<cuda::TensorResult*>(out + places_.tensors);
        auto* maps = reinterpret_cast<cuda::MapResult*>(out + places_.maps);
        cuda::run_statistics(
            plan_,
            {reinterpret_cast<const cuda::StatisticsTensor*>(table),
             reinterpret_cast<const std::uint32_t*>(table + tensor_bytes),
             reinterpret_cast<cuda::StatisticsPart*>(parts_.of(plan_.part_bytes())), tensors, maps},
            stream);
        if (request.histogram_of >= 0) launch_histogram(request, out, tensors, maps);
        check(cudaGetLastError());
        check(
            cudaMemcpyAsync(host_out_.of(places_.bytes), out, places_.bytes, cudaMemcpyDeviceToHost, stream));
        check(cudaStreamSynchronize(stream));
    }

    void launch_histogram(const StatisticsRequest& request, std::byte* out, const cuda::TensorResult* tensors,
                          const cuda::MapResult* maps) {
        const auto stream = static_cast<cuda::Stream>(device_.stream());
        const auto which = static_cast<std::size_t>(request.histogram_of);
        const StatisticsRequest::Tensor& tensor = request.tensors[which];
        cuda::HistogramParams params;
        kernels::Layout layout = layout_of(tensor.desc);
        layout.offset = 0;
        if (layout.rank > 1) layout.dims[0] = 1;
        params.data = static_cast<const float*>(tensor.data);
        params.tensor = tensors + which;
        if (request.channel >= 0) {
            const std::size_t axis = layout.rank == 1 ? 0 : 1;
            layout.dims[axis] = 1;
            params.data += request.channel * layout.strides[axis];
            params.map = maps + plan_.tensors[which].first_map + request.channel;
        }
        params.shape = kernels::join({layout});
        params.bins = request.bins;
        params.counts = reinterpret_cast<std::uint64_t*>(out + places_.bins);
        check(cudaMemsetAsync(params.counts, 0,
                              static_cast<std::size_t>(request.bins) * sizeof(std::uint64_t), stream));
        cuda::run_histogram(params, device_.traits().multiprocessors, stream);
    }

    void collect(const StatisticsRequest& request) {
        result_ = {};
        if (plan_.tensors.empty()) return;
        const std::byte* out = host_out_.of(places_.bytes);
        const auto* tensors = reinterpret_cast<const cuda::TensorResult*>(out + places_.tensors);
        const auto* maps = reinterpret_cast<const cuda::MapResult*>(out + places_.maps);
        for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
            const cuda::StatisticsTensor& tensor = plan_.tensors[i];
            result_.tensors.push_back(statistics_of(tensors[i], tensor.channels * tensor.cells.count));
        }
        if (request.maps_of >= 0) {
            const auto& tensor = plan_.tensors[static_cast<std::size_t>(request.maps_of)];
            for (std::int64_t c = 0; c < tensor.channels; ++c)
                result_.maps.push_back(statistics_of(maps[tensor.first_map + c], tensor.cells.count));
        }
        if (request.histogram_of < 0) return;
        const auto which = static_cast<std::size_t>(request.histogram_of);
        const ValueStatistics whole =
            request.channel >= 0 ? statistics_of(maps[plan_.tensors[which].first_map + request.channel], 0)
                                 : result_.tensors[which];
        result_.low = whole.min;
        result_.high = whole.max;
        result_.nan_count = whole.nan_count;
        result_.inf_count = whole.inf_count;
        const auto* counts = reinterpret_cast<const std::uint64_t*>(out + places_.bins);
        result_.counts.assign(counts, counts + request.bins);
    }

    const CudaDevice& device_;
    StatisticsRequest planned_;  // what plan_ is for
    cuda::StatisticsPlan plan_;
    Places places_;
    StatisticsResult result_;
    DeviceMemory table_, parts_, out_;
    HostMemory host_table_, host_out_;
};

}  // namespace

std::unique_ptr<MapStatisticsTaker> cuda_map_statistics(const CudaDevice& device) {
    return std::make_unique<Taker>(device);
}

}  // namespace convlens
