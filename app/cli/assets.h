// Where the bundled models and photos lie, and which model a word on the command line means.
#pragma once

#include <string>
#include <vector>

namespace convlens::cli {

// The first of these that holds models/: $CONVLENS_ASSETS, the source tree of this build, ../../assets and
// ../share/convlens from the executable. Empty when there is none.
std::string assets_folder();
std::string bundled_model(const std::string& name);  // "" when it isn't there
std::string bundled_photo(const std::string& name);  // "chelsea.jpg"; "" when it isn't there
std::vector<std::string> bundled_models();           // paths, sorted; partners such as face-landmarks too
std::vector<std::string> bundled_photos();           // paths, sorted

// A path of an ONNX file, or the name of a bundled model ("face-finder"); empty: the bundled photo network.
// Throws Error(bad_parameter) naming the bundled ones when it is neither.
std::string resolve_model(const std::string& text);

}  // namespace convlens::cli
