// Triangles that show only the white pixel of the font picture: no sampling.
#version 460
layout(location = 0) in vec2 uv;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 result;

void main() { result = color; }
