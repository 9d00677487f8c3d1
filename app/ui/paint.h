// Drawing with recorded fits: every text says where it belongs, and what did not fit is remembered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/ui/theme.h"

namespace convlens::ui {

struct Rect {  // window pixels
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    float w() const { return x1 - x0; }
    float h() const { return y1 - y0; }
    bool empty() const { return x1 <= x0 || y1 <= y0; }
    bool contains(float x, float y) const { return x >= x0 && x < x1 && y >= y0 && y < y1; }
    Rect inset(float dx, float dy) const { return {x0 + dx, y0 + dy, x1 - dx, y1 - dy}; }
    // Cut off from one side; this rectangle becomes the rest.
    Rect take_top(float height);
    Rect take_bottom(float height);
    Rect take_left(float width);
    Rect take_right(float width);
};

enum class Align { left, center, right };
// must_fit: labels and figures; what is wider than its place is recorded. elide: names from outside;
// shortened in the middle with an ellipsis (the panel shows the whole in a tooltip).
enum class Fit { must_fit, elide };

class Painter {
  public:
    explicit Painter(const Theme& theme) : theme_(theme) {}
    void begin();  // of a refresh: forgets the record

    float width(std::string_view text, const ImFont* font) const;
    // At a point (left, top of the line); returns the advance width. Recorded where the clip cuts it.
    float text(float x, float y, std::string_view text, ImU32 color, const ImFont* font);
    // Vertically in the middle of a rectangle. Returns whether the whole text was drawn.
    bool text_in(const Rect& place, std::string_view text, ImU32 color, const ImFont* font,
                 Align align = Align::left, Fit fit = Fit::must_fit);
    // Wrapped lines from the top of a rectangle; returns the height used. Recorded when it needs more.
    float paragraph(const Rect& place, std::string_view text, ImU32 color, const ImFont* font);
    std::string elided(std::string_view text, const ImFont* font, float width) const;

    void fill(const Rect& place, ImU32 color, float rounding = 0);
    void frame(const Rect& place, ImU32 color, float rounding = 0, float thickness = 1);
    void line(float x0, float y0, float x1, float y1, ImU32 color);  // horizontal or vertical, one pixel
    // A track with its filled share from the left.
    void bar(const Rect& place, double share, ImU32 color, ImU32 track);

    // Texts cut by a scrolled region's border are no fault.
    class Scrolling {
      public:
        explicit Scrolling(Painter& painter) : painter_(painter) { ++painter_.scrolling_; }
        ~Scrolling() { --painter_.scrolling_; }
        Scrolling(const Scrolling&) = delete;
        Scrolling& operator=(const Scrolling&) = delete;

      private:
        Painter& painter_;
    };

    const Theme& theme() const { return theme_; }
    const std::vector<std::string>& clipped() const { return clipped_; }

  private:
    void record(std::string_view text);

    const Theme& theme_;
    int scrolling_ = 0;
    std::vector<std::string> clipped_;
};

}  // namespace convlens::ui
