// Pictures that no vertex colour changes.
#version 460
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(location = 0) in vec2 uv;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 result;

void main() { result = texture(picture, uv); }
