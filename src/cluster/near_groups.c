/* near_groups.c - groups of vectors that coincide, or nearly.
 *
 * Vectors that are near to each other are near on any line: after sorting along one, each looks at
 * its neighbors alone. */
#include "cluster/near_groups.h"
#include "coke/types.h"
#include "core/mem.h"
#include "core/rng.h"

#include <math.h>
#include <stdlib.h>

struct place {
    double at; /* along a random direction */
    int64_t i;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->i > y->i) - (x->i < y->i);
}

double ck_near_distance(const float *a, const float *b, int ld)
{
    double sum = 0;
    for (int j = 0; j < ld; j++)
        sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
    return sqrt(sum);
}

void ck_near_line(int ld, double *line)
{
    double length = 0;
    for (int j = 0; j < ld; j++) {
        line[j] = (double)ck_rng_u32(1, CK_RNG_SAMPLE, (uint64_t)j, 0) - 0x1p31;
        length += line[j] * line[j];
    }
    for (int j = 0; j < ld; j++)
        line[j] /= sqrt(length);
}

static struct place *sort_places(const float *x, int64_t n, int ld)
{
    struct place *place = ck_alloc_array((size_t)n, sizeof *place);
    double *line = ck_alloc_array((size_t)ld, sizeof *line);
    if (line)
        ck_near_line(ld, line);
    for (int64_t i = 0; line && place && i < n; i++) {
        place[i] = (struct place){0, i};
        for (int j = 0; j < ld; j++)
            place[i].at += (double)x[i * ld + j] * line[j];
    }
    if (!line || !place) {
        ck_free(place);
        place = NULL;
    } else {
        qsort(place, (size_t)n, sizeof *place, by_place);
    }
    ck_free(line);
    return place;
}

int ck_near_groups(const float *x, int64_t n, int ld, double limit, int32_t *group,
                   int64_t *groups, double *radius)
{
    struct place *place = sort_places(x, n, ld);
    if (!place)
        return COKE_ENOMEM;
    *groups = 0;
    *radius = 0;
    for (int64_t i = 0; i < n; i++)
        group[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t first = place[i].i;
        if (group[first] >= 0)
            continue;
        group[first] = (int32_t)(*groups)++;
        for (int64_t j = i + 1; j < n && place[j].at - place[i].at <= limit; j++) {
            int64_t k = place[j].i;
            double d =
                group[k] >= 0 ? INFINITY : ck_near_distance(x + first * ld, x + k * ld, ld);
            if (d > limit)
                continue;
            group[k] = group[first];
            *radius = fmax(*radius, d);
        }
    }
    ck_free(place);
    return COKE_OK;
}
