/* synthetic_scene.h - paints a pattern: colors, light, shadow, background and noise, drawn from
 * the same distributions for every class. */
#ifndef CK_SYNTHETIC_SCENE_H
#define CK_SYNTHETIC_SCENE_H

#include <stdint.h>

/* Draws rgb [size][size][3]. Every byte is a function of (seed, image, kind, size). Any
 * thread. */
void ck_scene_draw(uint64_t seed, uint64_t image, int32_t kind, int32_t size, uint8_t *rgb);

#endif
