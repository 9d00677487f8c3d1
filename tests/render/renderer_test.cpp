#include "tests/render/scene.h"
