#include "app/engine/faces.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <list>
#include <optional>
#include <utility>

#include "app/engine/outputs.h"
#include "app/input/preprocess.h"
#include "app/input/resize.h"
#include "convlens/error.h"

namespace convlens::engine {
namespace {

using Kind = OutputEntry::Kind;
// Plans kept: two frames' worth of scales, so that two alternating pictures don't plan again and again.
constexpr std::size_t most_plans = 24;
// Places of one scale that go on; a picture of stripes may light up everywhere.
constexpr std::size_t most_places_per_scale = 400;
constexpr double same_place_overlap = 0.7;  // of the union: places this close see the same face
constexpr const char* landmarks_file = "face-landmarks.onnx";

const OutputEntry* entry_of(const OutputMeaning& meaning, Kind kind) {
    for (const OutputEntry& entry : meaning.entries)
        if (entry.kind == kind) return &entry;
    return nullptr;
}

int output_number(const network::Model& model, const std::string& name) {
    for (std::size_t i = 0; i < model.outputs().size(); ++i)
        if (model.outputs()[i].name == name) return static_cast<int>(i);
    return -1;
}

Dims input_dims(const network::Model& model) {
    Dims dims;
    for (const network::SymbolicDim& dim : model.inputs().at(0).dims) dims.push_back(dim.value);
    return dims;
}

bool is_finder(const network::Model& model) {
    if (model.inputs().empty()) return false;
    const OutputMeaning meaning = read_output_meaning(model);
    const auto resize = model.metadata().find("convlens.input.resize");
    return meaning.has(Kind::heat_map) && meaning.has(Kind::boxes) && meaning.window_width > 0 &&
           resize != model.metadata().end() && resize->second.rfind("pyramid", 0) == 0;
}

FoundBox squared(FoundBox box) {
    const double side = std::max(box.x1 - box.x0, box.y1 - box.y0);
    const double x = 0.5 * (box.x0 + box.x1), y = 0.5 * (box.y0 + box.y1);
    box.x0 = x - 0.5 * side;
    box.x1 = x + 0.5 * side;
    box.y0 = y - 0.5 * side;
    box.y1 = y + 0.5 * side;
    return box;
}

bool usable(const FoundBox& box, const input::Frame& frame) {
    return std::isfinite(box.x0 + box.x1 + box.y0 + box.y1) && box.x1 - box.x0 >= 1 && box.y1 - box.y0 >= 1 &&
           box.x1 > 1 && box.y1 > 1 && box.x0 < frame.width - 1 && box.y0 < frame.height - 1;
}

}  // namespace

struct FaceFinder::Impl {
    struct Plan {
        Dims dims;
        std::unique_ptr<network::Executor> executor;
    };
    std::shared_ptr<const network::Model> finder, landmarks;
    OutputMeaning finder_meaning, landmarks_meaning;
    input::Preprocessing finder_input, landmarks_input;
    int face_output = -1, face_plane = 0, box_output = -1;  // of the finder
    int score_output = -1, score_index = 0, refine_output = -1,
        points_output = -1;  // of the landmark network
    std::list<Plan> plans;   // most recently used first
    std::unique_ptr<network::Executor> judge;
    Context* context = nullptr;

    network::Executor& plan(Context& with, const Dims& dims);
    void find_places(Context& with, const input::Frame& frame, double scale, const FaceOptions& options,
                     std::vector<FoundBox>& places);
    std::optional<FoundBox> judge_place(Context& with, const input::Frame& frame, const FoundBox& square,
                                        double threshold);
};

network::Executor& FaceFinder::Impl::plan(Context& with, const Dims& dims) {
    for (auto at = plans.begin(); at != plans.end(); ++at)
        if (at->dims == dims) {
            plans.splice(plans.begin(), plans, at);
            return *plans.front().executor;
        }
    network::ExecutorOptions options;
    options.mode = network::Mode::lean;
    options.input_dims[finder->inputs().front().name] = dims;
    plans.push_front({dims, std::make_unique<network::Executor>(with, finder, options)});
    if (plans.size() > most_plans) plans.pop_back();
    return *plans.front().executor;
}

// Adds the places of one scale, corrected by their boxes, in frame pixels.
void FaceFinder::Impl::find_places(Context& with, const input::Frame& frame, double scale,
                                   const FaceOptions& options, std::vector<FoundBox>& places) {
    const int width =
        std::max(finder_meaning.window_width, static_cast<int>(std::lround(frame.width * scale)));
    const int height =
        std::max(finder_meaning.window_height, static_cast<int>(std::lround(frame.height * scale)));
    const input::NetworkInput fed = input::normalise(input::resize(frame, width, height), finder_input);
    network::Executor& executor = plan(with, fed.dims);
    executor.set_input(0, fed.nchw.data());
    executor.run();
    const std::vector<int> outputs = executor.output_tensors();
    const int face_tensor = outputs[static_cast<std::size_t>(face_output)];
    const std::vector<float> face = executor.copy(face_tensor);
    const std::vector<float> edges = executor.copy(outputs[static_cast<std::size_t>(box_output)]);
    const Dims& dims = executor.tensors()[static_cast<std::size_t>(face_tensor)].desc.dims;
    const std::int64_t rows = dims[2], columns = dims[3];
    const auto plane = static_cast<std::size_t>(rows * columns);
    if (edges.size() < 4 * plane || face.size() < (static_cast<std::size_t>(face_plane) + 1) * plane) return;
    const double px = static_cast<double>(frame.width) / width,
                 py = static_cast<double>(frame.height) / height;
    const double ww = finder_meaning.window_width * px, wh = finder_meaning.window_height * py;
    std::vector<FoundBox> here;
    for (std::int64_t y = 0; y < rows; ++y)
        for (std::int64_t x = 0; x < columns; ++x) {
            const auto at = static_cast<std::size_t>(y * columns + x);
            const float score = face[static_cast<std::size_t>(face_plane) * plane + at];
            if (!(score >= options.finder_threshold)) continue;
            const double left = static_cast<double>(x * finder_meaning.window_stride) * px;
            const double top = static_cast<double>(y * finder_meaning.window_stride) * py;
            FoundBox box;
            box.score = score;
            box.x0 = left + edges[at] * ww;
            box.y0 = top + edges[plane + at] * wh;
            box.x1 = left + ww + edges[2 * plane + at] * ww;
            box.y1 = top + wh + edges[3 * plane + at] * wh;
            if (usable(box, frame)) here.push_back(box);
        }
    if (here.size() > most_places_per_scale) {
        std::stable_sort(here.begin(), here.end(),
                         [](const FoundBox& a, const FoundBox& b) { return a.score > b.score; });
        here.resize(most_places_per_scale);
    }
    here = suppress_overlaps(std::move(here), same_place_overlap, false);
    places.insert(places.end(), here.begin(), here.end());
}

// The square cut out, judged, corrected and marked.
std::optional<FoundBox> FaceFinder::Impl::judge_place(Context& with, const input::Frame& frame,
                                                      const FoundBox& square, double threshold) {
    if (judge == nullptr) {
        network::ExecutorOptions options;
        options.mode = network::Mode::lean;
        judge = std::make_unique<network::Executor>(with, landmarks, options);
    }
    const Dims wanted = input_dims(*landmarks);
    const int width = static_cast<int>(wanted[3]), height = static_cast<int>(wanted[2]);
    const input::FloatPicture crop = input::resize(frame, {square.x0, square.y0, square.x1, square.y1}, width,
                                                   height, {0, 0, width, height});
    const input::NetworkInput fed = input::normalise(crop, landmarks_input);
    judge->set_input(0, fed.nchw.data());
    judge->run();
    const std::vector<int> outputs = judge->output_tensors();
    const auto values = [&](int output) { return judge->copy(outputs[static_cast<std::size_t>(output)]); };
    const std::vector<float> prob = values(score_output), edges = values(refine_output),
                             points = values(points_output);
    if (score_index >= static_cast<int>(prob.size()) || edges.size() < 4) return std::nullopt;
    const double score = prob[static_cast<std::size_t>(score_index)];
    if (!(score >= threshold)) return std::nullopt;
    const double w = square.x1 - square.x0, h = square.y1 - square.y0;
    FoundBox face;
    face.score = score;
    face.x0 = square.x0 + edges[0] * w;
    face.y0 = square.y0 + edges[1] * h;
    face.x1 = square.x1 + edges[2] * w;
    face.y1 = square.y1 + edges[3] * h;
    for (std::size_t i = 0; i < points.size() / 2; ++i)
        face.points.emplace_back(square.x0 + points[i] * w, square.y0 + points[points.size() / 2 + i] * h);
    return face;
}

FaceFinder::FaceFinder(std::shared_ptr<const network::Model> finder,
                       std::shared_ptr<const network::Model> landmarks)
    : impl_(std::make_unique<Impl>()) {
    Impl& impl = *impl_;
    impl.finder = std::move(finder);
    impl.landmarks = std::move(landmarks);
    if (!is_finder(*impl.finder))
        throw Error(
            Status::bad_parameter,
            "'" + impl.finder->path() +
                "' is no face finder: its metadata must state a pyramid, a window, a heat map and boxes");
    impl.finder_meaning = read_output_meaning(*impl.finder);
    impl.landmarks_meaning = read_output_meaning(*impl.landmarks);
    impl.finder_input = input::parse_preprocessing(impl.finder->metadata());
    impl.landmarks_input = input::parse_preprocessing(impl.landmarks->metadata());
    const OutputEntry* score = entry_of(impl.landmarks_meaning, Kind::score);
    const OutputEntry* boxes = entry_of(impl.landmarks_meaning, Kind::boxes);
    const OutputEntry* points = entry_of(impl.landmarks_meaning, Kind::points);
    const bool square = impl.landmarks->inputs().size() == 1 && input_dims(*impl.landmarks).rank() == 4 &&
                        input_dims(*impl.landmarks)[2] > 0 && input_dims(*impl.landmarks)[3] > 0;
    if (score == nullptr || boxes == nullptr || points == nullptr || !square)
        throw Error(Status::bad_parameter,
                    "'" + impl.landmarks->path() +
                        "' is no landmark network: its metadata must state a score, boxes and points");
    const OutputEntry* face = entry_of(impl.finder_meaning, Kind::heat_map);
    impl.face_output = output_number(*impl.finder, face->output);
    impl.face_plane = face->index;
    impl.box_output = output_number(*impl.finder, entry_of(impl.finder_meaning, Kind::boxes)->output);
    impl.score_output = output_number(*impl.landmarks, score->output);
    impl.score_index = score->index;
    impl.refine_output = output_number(*impl.landmarks, boxes->output);
    impl.points_output = output_number(*impl.landmarks, points->output);
}

FaceFinder::~FaceFinder() = default;

std::unique_ptr<FaceFinder> FaceFinder::for_model(std::shared_ptr<const network::Model> model,
                                                  std::string& message) {
    if (model == nullptr || !is_finder(*model)) return nullptr;
    const auto path = (std::filesystem::path(model->path()).parent_path() / landmarks_file).string();
    try {
        return std::make_unique<FaceFinder>(std::move(model), network::Model::load(path));
    } catch (const Error& error) {
        message = std::string("faces are not marked, only the heat map is shown: ") + error.what();
        return nullptr;
    }
}

std::vector<FoundBox> FaceFinder::find(Context& context, const input::Frame& frame,
                                       const FaceOptions& options) {
    Impl& impl = *impl_;
    if (impl.context != &context) {
        impl.plans.clear();
        impl.judge.reset();
        impl.context = &context;
    }
    const int shorter = std::min(frame.width, frame.height);
    const double smallest =
        options.smallest_face > 0 ? options.smallest_face : std::max(20.0, shorter / 12.0);
    const double window = std::max(impl.finder_meaning.window_width, impl.finder_meaning.window_height);
    std::vector<FoundBox> places;
    for (double scale = window / smallest; shorter * scale >= window;
         scale *= impl.finder_input.pyramid_factor)
        impl.find_places(context, frame, scale, options, places);
    places = suppress_overlaps(std::move(places), same_place_overlap, false);
    if (static_cast<int>(places.size()) > options.most_candidates)
        places.resize(static_cast<std::size_t>(std::max(options.most_candidates, 0)));
    std::vector<FoundBox> faces;
    for (const FoundBox& place : places) {
        const FoundBox square = squared(place);
        if (auto face = impl.judge_place(context, frame, square, options.landmarks_threshold))
            faces.push_back(std::move(*face));
    }
    return suppress_overlaps(std::move(faces), options.overlap);
}

std::vector<FoundBox> suppress_overlaps(std::vector<FoundBox> boxes, double overlap, bool of_smaller) {
    std::stable_sort(boxes.begin(), boxes.end(),
                     [](const FoundBox& a, const FoundBox& b) { return a.score > b.score; });
    const auto area = [](const FoundBox& b) {
        return std::max(0.0, b.x1 - b.x0) * std::max(0.0, b.y1 - b.y0);
    };
    std::vector<FoundBox> kept;
    for (FoundBox& box : boxes) {
        const bool covered = std::any_of(kept.begin(), kept.end(), [&](const FoundBox& better) {
            const double w = std::min(box.x1, better.x1) - std::max(box.x0, better.x0);
            const double h = std::min(box.y1, better.y1) - std::max(box.y0, better.y0);
            if (w <= 0 || h <= 0) return false;
            const double whole =
                of_smaller ? std::min(area(box), area(better)) : area(box) + area(better) - w * h;
            return w * h > overlap * whole;
        });
        if (!covered) kept.push_back(std::move(box));
    }
    return kept;
}

}  // namespace convlens::engine
