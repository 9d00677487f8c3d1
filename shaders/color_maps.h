// The colour maps, in the common subset of GLSL and C++: the tile shader and color_at() share this text, so a
// tooltip and a map agree. Polynomials of the position t in [0, 1], fitted to a few key colours of each map.
#ifndef CONVLENS_SHADERS_COLOR_MAPS_H
#define CONVLENS_SHADERS_COLOR_MAPS_H

#ifdef __cplusplus
#define CONVLENS_INLINE inline
#else
#define CONVLENS_INLINE
#endif

#define COLOR_MAP_DIVERGING 0u
#define COLOR_MAP_VIRIDIS 1u
#define COLOR_MAP_NATURAL 2u
#define COLOR_MAP_WEIGHTS 3u
#define COLOR_MAP_GREY 4u
#define COLOR_MAP_DIVERGING_LIGHT 5u
#define COLOR_MAP_TURBO 6u

CONVLENS_INLINE float cubic(float p, float c0, float c1, float c2, float c3) {
    return c0 + p * (c1 + p * (c2 + p * c3));
}

CONVLENS_INLINE float quintic(float p, float c0, float c1, float c2, float c3, float c4, float c5) {
    return c0 + p * (c1 + p * (c2 + p * (c3 + p * (c4 + p * c5))));
}

// Blue, black, orange-red: zero is dark, so quiet maps stay quiet.
CONVLENS_INLINE vec3 diverging_color(float t) {
    float p = abs(2.0f * t - 1.0f);
    if (t < 0.5f)
        return vec3(cubic(p, 0.0392f, 0.1529f, 0.1412f, 0.3176f), cubic(p, 0.0392f, 0.1765f, 2.1176f, -1.5882f),
                    cubic(p, 0.0510f, 0.6137f, 1.8882f, -1.5529f));
    return vec3(cubic(p, 0.0392f, 0.7843f, 1.3588f, -1.1824f), cubic(p, 0.0392f, 0.2392f, 0.3176f, 0.0706f),
                cubic(p, 0.0510f, 0.0804f, -0.3529f, 0.8647f));
}

// Purple, black, green.
CONVLENS_INLINE vec3 weights_color(float t) {
    float p = abs(2.0f * t - 1.0f);
    if (t < 0.5f)
        return vec3(cubic(p, 0.0392f, 0.7294f, 0.0706f, 0.0f), cubic(p, 0.0392f, 0.3412f, 0.1059f, 0.2118f),
                    cubic(p, 0.0510f, 1.0176f, 0.2824f, -0.3706f));
    return vec3(cubic(p, 0.0392f, 0.0902f, 0.3529f, 0.2471f), cubic(p, 0.0392f, 0.8667f, 0.1059f, -0.0706f),
                cubic(p, 0.0510f, 0.3863f, -0.3176f, 0.5471f));
}

// Blue, white, red: for the light theme.
CONVLENS_INLINE vec3 diverging_light_color(float t) {
    float p = abs(2.0f * t - 1.0f);
    if (t < 0.5f)
        return vec3(cubic(p, 0.9647f, -0.5686f, -1.3059f, 0.9882f),
                    cubic(p, 0.9686f, -0.3588f, -0.4941f, 0.1588f),
                    cubic(p, 0.9765f, -0.1980f, 0.1059f, -0.3353f));
    return vec3(cubic(p, 0.9647f, 0.0471f, 0.0f, -0.4235f), cubic(p, 0.9686f, -0.3078f, -1.3412f, 0.7588f),
                cubic(p, 0.9765f, -0.6961f, -0.9882f, 0.8647f));
}

CONVLENS_INLINE vec3 viridis_color(float t) {
    return vec3(quintic(t, 0.2677f, 0.0228f, 1.5043f, -13.4705f, 24.1175f, -11.4499f),
                quintic(t, 0.0036f, 1.5885f, -1.9058f, 2.9658f, -2.1997f, 0.4531f),
                quintic(t, 0.3274f, 2.3068f, -10.9944f, 27.8533f, -33.6419f, 14.2917f));
}

CONVLENS_INLINE vec3 turbo_color(float t) {
    return vec3(0.1678f + t * quintic(t, 5.0742f, -53.4298f, 187.7478f, -272.2642f, 173.9483f, -40.7566f),
                0.0705f + t * quintic(t, 2.9841f, -3.9690f, 23.1381f, -67.9757f, 67.7902f, -22.0204f),
                0.2258f + t * quintic(t, 7.4711f, -9.8835f, -87.8338f, 273.7916f, -286.3517f, 102.6025f));
}

// Components may leave [0, 1] by the fit's error: clamp before storing.
CONVLENS_INLINE vec3 map_color(unsigned_int map, float t) {
    if (map == COLOR_MAP_DIVERGING) return diverging_color(t);
    if (map == COLOR_MAP_VIRIDIS) return viridis_color(t);
    if (map == COLOR_MAP_WEIGHTS) return weights_color(t);
    if (map == COLOR_MAP_DIVERGING_LIGHT) return diverging_light_color(t);
    if (map == COLOR_MAP_TURBO) return turbo_color(t);
    return vec3(t, t, t);
}

// Where a map without any spread (lo == hi) lies on the colour bar: at the zero of a map that has one.
CONVLENS_INLINE float constant_position(unsigned_int map) {
    bool has_zero = map == COLOR_MAP_DIVERGING || map == COLOR_MAP_WEIGHTS || map == COLOR_MAP_DIVERGING_LIGHT;
    return has_zero ? 0.5f : 0.0f;
}

#endif
