// Vertices of ImGui's draw lists, in pixels.
#version 460
layout(location = 0) in vec2 position;
layout(location = 1) in vec2 uv;
layout(location = 2) in vec4 color;
layout(push_constant) uniform Push { vec2 scale, offset; } push;
layout(location = 0) out vec2 out_uv;
layout(location = 1) out vec4 out_color;

void main() {
    out_uv = uv;
    out_color = color;
    gl_Position = vec4(position * push.scale + push.offset, 0.0, 1.0);
}
