/* synthetic_scene.h - paints a pattern: colours, light, shadow, background and noise, chosen
 * alike for every class. */
#ifndef CK_SYNTHETIC_SCENE_H
#define CK_SYNTHETIC_SCENE_H

#include <stdint.h>

/* The picture is a function of (seed, image, kind, size) to the byte; rgb [size][size][3]. */
void ck_scene_draw(uint64_t seed, uint64_t image, int32_t kind, int32_t size, uint8_t *rgb);

#endif
