// The whole face finder: the finder network over a pyramid of scales, each place refined and judged by the
// landmark network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/engine/snapshot.h"
#include "app/input/frame.h"
#include "app/network/executor.h"

namespace convlens::engine {

struct FaceOptions {
    double smallest_face = 0;           // in frame pixels; 0: a twelfth of the shorter side, at least 20
    double finder_threshold = 0.9;      // of the finder's probability
    double landmarks_threshold = 0.95;  // of the landmark network's
    double overlap = 0.3;               // of the smaller box: above it only the better face stays
    int most_candidates = 300;          // best places that go to the landmark network
};

class FaceFinder {
  public:
    // finder: a model with a heat map, boxes and a pyramid; landmarks: a model with score, boxes and points.
    // Throws Error(bad_parameter) naming what is missing.
    FaceFinder(std::shared_ptr<const network::Model> finder, std::shared_ptr<const network::Model> landmarks);
    ~FaceFinder();
    FaceFinder(const FaceFinder&) = delete;
    FaceFinder& operator=(const FaceFinder&) = delete;

    // The finder for a running model: null when it has no heat map, boxes and pyramid. Its partner is
    // face-landmarks.onnx beside it; without that null too, and `message` says so.
    static std::unique_ptr<FaceFinder> for_model(std::shared_ptr<const network::Model> model,
                                                 std::string& message);

    // Faces in frame pixels, best first, with their points (left eye, right eye, nose, left and right mouth
    // corner). Plans are made at the first frame of a size and kept for the next. One thread at a time, with
    // always the same context.
    std::vector<FoundBox> find(Context& context, const input::Frame& frame, const FaceOptions& options = {});

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Keeps the better of each two boxes whose overlap is more than `overlap` of the smaller (of_smaller) or of
// their union; the rest comes best first.
std::vector<FoundBox> suppress_overlaps(std::vector<FoundBox> boxes, double overlap, bool of_smaller = true);

}  // namespace convlens::engine
