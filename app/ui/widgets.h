// Small controls that all panels share. Each takes its place; none lays out by itself.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "app/ui/scene.h"

namespace convlens::ui {

struct Touch {
    bool clicked = false, hovered = false, held = false, double_clicked = false;
};
// A place that takes the mouse. Ids are unique in a refresh.
Touch touch(const char* id, const Rect& place, bool allow_overlap = false);

struct ButtonLook {
    bool enabled = true, on = false;
    std::string_view tooltip;  // the reason when not enabled
};
bool button(Scene& scene, const char* id, const Rect& place, std::string_view label,
            const ButtonLook& look = {});

struct Segment {
    std::string_view label;
    bool enabled = true;
    std::string_view tooltip;
};
float segmented_width(const Scene& scene, std::span<const Segment> segments);
// Returns the clicked segment or -1.
int segmented(Scene& scene, const char* id, float x, float y, float height, std::span<const Segment> segments,
              int selected);

// "Model  efficientnet-lite0": label dim, value strong. `menu`: has a chevron and takes clicks.
float chip_width(const Scene& scene, std::string_view label, std::string_view value, bool menu);
bool chip(Scene& scene, const char* id, const Rect& place, std::string_view label, std::string_view value,
          bool menu, std::string_view tooltip = {});

// A bar between two panes. Changes `size` (unscaled pixels) by dragging; `direction` +1 when moving right or
// down makes it larger.
void splitter(Scene& scene, const char* id, const Rect& place, bool vertical, float direction, float& size,
              float least, float most);

void section_label(Scene& scene, float x, float y, std::string_view text);
// Dim lines in the middle of a place: what would fill it.
void empty_note(Scene& scene, const Rect& place, std::string_view text);
// A thin bar under a title while work is in progress; share < 0: unknown.
void progress_line(Scene& scene, const Rect& place, double share);

// A tooltip that follows the mouse, or stands at a place.
struct Span {
    std::string_view text;
    ImU32 color = colors::dim;
    const ImFont* font = nullptr;  // null: text
};
class Tip {
  public:
    explicit Tip(Scene& scene);
    Tip(Scene& scene, float x, float y);
    ~Tip();
    Tip(const Tip&) = delete;
    Tip& operator=(const Tip&) = delete;
    void line(std::initializer_list<Span> spans);
    void pair(std::string_view label, std::string_view value);  // "median  1.42 ms"
    void wrapped(std::string_view text, ImU32 color = colors::text);
    // Room of a given size in the tooltip, to draw into.
    Rect room(float width, float height);

  private:
    Scene& scene_;
    bool placed_;
};
void tip(Scene& scene, std::string_view text);

// Colour bar of a range from left to right.
void color_bar(const Rect& place, render::ColorMap map);

}  // namespace convlens::ui
