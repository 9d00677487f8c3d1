// Commands that change what is looked at.
#include <algorithm>

#include "app/commands/arguments.h"

namespace convlens::commands {
namespace {

void run_layer(CommandContext& context, Arguments a) {
    expect_count("layer", a, 1, 1);
    const auto& network = network_of(context);
    const int last = static_cast<int>(network.layers.size()) - 1;
    int layer = std::clamp(context.view.layer, 0, std::max(0, last));
    if (a[0] == "next")
        layer = std::min(layer + 1, std::max(0, last));
    else if (a[0] == "previous")
        layer = std::max(layer - 1, 0);
    else
        layer = layer_index(network, a[0], Prefer::number);
    // The map cursor stays where the new layer has that map too.
    const std::int64_t map = context.view.map < map_count(network, layer) ? context.view.map : -1;
    context.view.probe.reset();
    select(context, layer, map);
}

void run_map(CommandContext& context, Arguments a) {
    expect_count("map", a, 1, 1);
    const auto& network = network_of(context);
    const std::int64_t count = map_count(network, context.view.layer);
    std::int64_t map = context.view.map;
    if (a[0] == "none")
        map = -1;
    else if (a[0] == "next")
        map = std::min(map + 1, count - 1);
    else if (a[0] == "previous")
        map = std::max<std::int64_t>(map - 1, count > 0 ? 0 : -1);
    else
        map = whole_number("map", a[0], 0, count - 1);
    select(context, context.view.layer, map);
}

void run_probe(CommandContext& context, Arguments a) {
    if (a.size() == 1 && a[0] == "none") {
        context.view.probe.reset();
        return;
    }
    expect_count("probe", a, 3, 3);
    const auto& network = network_of(context);
    const std::int64_t count = map_count(network, context.view.layer);
    if (count == 0) refuse("probe: this layer has no maps; choose another layer");
    const auto& layer = network.layers[static_cast<std::size_t>(context.view.layer)];
    const TensorDesc& desc = network.tensors[static_cast<std::size_t>(layer.outputs[0])].desc;
    const int rank = desc.rank();
    const std::int64_t rows = rank >= 4 ? desc.dims[rank - 2] : 1;
    const std::int64_t columns = rank >= 3 ? desc.dims[rank - 1] : 1;
    context.view.probe = Probe{whole_number("probe: channel", a[0], 0, count - 1),
                               whole_number("probe: row", a[1], 0, rows - 1),
                               whole_number("probe: column", a[2], 0, columns - 1)};
}

void run_range(CommandContext& context, Arguments a) {
    expect_count("range", a, 1, 3);
    const auto policy =
        static_cast<RangePolicy>(one_of("range", a[0], {"map", "layer", "network", "manual"}));
    expect_count("range", a, policy == RangePolicy::manual ? 3 : 1, policy == RangePolicy::manual ? 3 : 1);
    if (policy == RangePolicy::manual) {
        const double lo = decimal_number("range: low end", a[1], -3e38, 3e38);
        const double hi = decimal_number("range: high end", a[2], -3e38, 3e38);
        if (lo >= hi) refuse("range: the low end " + a[1] + " is not below the high end " + a[2]);
        context.view.range_lo = static_cast<float>(lo);
        context.view.range_hi = static_cast<float>(hi);
    }
    context.view.range = policy;
}

void run_tab(CommandContext& context, Arguments a) {
    expect_count("tab", a, 1, 1);
    context.view.right_tab = static_cast<RightTab>(one_of("tab", a[0], {"algorithms", "statistics"}));
}

void run_foot(CommandContext& context, Arguments a) {
    expect_count("foot", a, 1, 1);
    context.view.foot_view = static_cast<FootView>(one_of("foot", a[0], {"charts", "table"}));
}

void run_sort(CommandContext& context, Arguments a) {
    expect_count("sort", a, 1, 2);
    const bool descending = a.size() == 2 && one_of("sort", a[1], {"ascending", "descending"}) == 1;
    context.view.table_sort_column = static_cast<int>(whole_number("sort: column", a[0], 0, 31));
    context.view.table_sort_descending = descending;
}

void run_zoom(CommandContext& context, Arguments a) {
    expect_count("zoom", a, 1, 1);
    context.view.wall_zoom = decimal_number("zoom", a[0], 0.05, 4096);
}

void run_pan(CommandContext& context, Arguments a) {
    expect_count("pan", a, 2, 2);
    const double x = decimal_number("pan: x", a[0], -1e7, 1e7);
    context.view.wall_y = decimal_number("pan: y", a[1], -1e7, 1e7);
    context.view.wall_x = x;
}

void run_fit(CommandContext& context, Arguments a) {
    expect_count("fit", a, 0, 0);
    context.view.wall_zoom = 1;
    context.view.wall_x = context.view.wall_y = 0;
}

void run_help(CommandContext& context, Arguments a) {
    expect_count("help", a, 1, 1);
    context.view.help_open = one_of("help", a[0], {"on", "off"}) == 0;
}

void run_sides(CommandContext& context, Arguments a) {
    expect_count("sides", a, 1, 1);
    context.view.sides_hidden = one_of("sides", a[0], {"on", "off"}) == 1;
}

void run_fixed_figures(CommandContext& context, Arguments a) {
    expect_count("fixed-figures", a, 0, 1);
    context.view.fixed_figures = a.empty() || one_of("fixed-figures", a[0], {"on", "off"}) == 0;
}

constexpr Command rows[] = {
    {"layer", "NAME|NUMBER|next|previous", "Selects a layer; all panes follow.", "Right, Left", run_layer},
    {"map", "NUMBER|next|previous|none", "Selects a map of the layer.", "Down, Up", run_map},
    {"probe", "CHANNEL ROW COLUMN|none", "Pins the value under the cursor to an element.", "", run_probe},
    {"range", "map|layer|network|manual LOW HIGH", "What the ends of the colour bar mean.", "R", run_range},
    {"tab", "algorithms|statistics", "The pane on the right.", "", run_tab},
    {"foot", "charts|table", "The pane at the foot.", "T", run_foot},
    {"sort", "COLUMN [ascending|descending]", "Sorts the table of layers by a column, counted from 0.", "",
     run_sort},
    {"zoom", "FACTOR", "Zooms the wall of maps; 1 fits the pane.", "", run_zoom},
    {"pan", "X Y", "Moves the wall of maps: its centre, in wall pixels at zoom 1.", "", run_pan},
    {"fit", "", "Fits the wall of maps to its pane.", "F", run_fit},
    {"sides", "on|off", "The panes on the left and right; off leaves their room to the wall.", "Tab",
     run_sides},
    {"help", "on|off", "The page of keys and commands.", "H", run_help},
    {"fixed-figures", "[on|off]", "Replaces times and memory by set values, for approved pictures.", "",
     run_fixed_figures},
};

}  // namespace

std::span<const Command> view_commands() { return rows; }

}  // namespace convlens::commands
