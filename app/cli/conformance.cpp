// `convlens conformance DIR`: the ONNX project's backend tests.
#include "app/network/conformance.h"

#include <nlohmann/json.hpp>

#include "app/cli/backend.h"
#include "app/cli/listing.h"
#include "app/cli/text.h"
#include "app/input/file.h"
#include "convlens/convlens.hpp"

namespace convlens::cli {
namespace {

std::string report_json(const network::ConformanceReport& report) {
    using Json = nlohmann::ordered_json;
    Json json = {{"schema", "convlens.conformance/1"},
                 {"passed", report.passed},
                 {"failed", report.failed},
                 {"not_supported", report.not_supported}};
    json["cases"] = Json::array();
    for (const network::ConformanceCase& c : report.cases)
        json["cases"].push_back({{"name", c.name},
                                 {"status", network::to_string(c.status)},
                                 {"reason", c.reason.empty() ? Json() : Json(c.reason)}});
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_text(const network::ConformanceReport& report) {
    TextTable table({{"test", false, 60}, {"status"}, {"reason", false, 160}});
    for (const network::Conformance status :
         {network::Conformance::not_supported, network::Conformance::failed})
        for (const network::ConformanceCase& c : report.cases)
            if (c.status == status) table.add({c.name, network::to_string(c.status), c.reason});
    const bool all = report.failed + report.not_supported == 0;
    return (all ? std::string() : table.text() + "\n") + std::to_string(report.passed) + " passed, " +
           std::to_string(report.failed) + " failed, " + std::to_string(report.not_supported) +
           " not supported\n";
}

}  // namespace

int conformance(const ConformanceOptions& options) {
    Context context(context_options(options));
    const network::ConformanceReport report = network::run_conformance(context, options.folder);
    if (options.json != "-") input::write_file("-", report_text(report));
    if (!options.json.empty()) input::write_file(options.json, report_json(report));
    return report.failed == 0 ? exit_done : exit_failed;
}

}  // namespace convlens::cli
