/* assign_pack.c - centers packed for the paths of an assigner, and their biases. */
#include "cluster/assign_internal.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

static void set_dense(struct ck_assigner *a, int64_t k)
{
    int width = a->kn->panel;
    float *panel = a->dense + (k / width) * (int64_t)width * a->ld;
    ck_panel_set(panel, width, (int)(k % width), a->center + k * a->ld, a->ld);
}

static void set_screen(struct ck_assigner *a, int64_t k)
{
    float copy[WIDEST];
    const float *c = without_lift(a, a->center + k * a->ld, copy);
    struct ck_screen_panel *panel = panel_at(a, k / CK_SCREEN_PANEL);
    int column = (int)(k % CK_SCREEN_PANEL);
    ck_screen_panel_set(a->kn, panel, column, c, a->reference, a->width);
    panel->lift[column] = a->lift >= 0 ? a->center[k * a->ld + a->lift] : 0;
    a->reference_dot[k] = a->kn->dot(a->reference, c, a->width) - a->reference_square;
    a->length[k] = sqrtf(a->kn->dot(c, c, a->width));
}

/* m, the mean of all centers. Summed in double on one thread: the same bits for any team. It
 * need not follow the centers when they move: the bounds hold for any m, only less tightly. */
static void choose_reference(struct ck_assigner *a)
{
    for (int j = 0; j < a->width; j++) {
        double sum = 0;
        for (int64_t k = 0; k < a->k; k++)
            sum += (double)a->center[k * a->ld + j];
        a->reference[j] = j == a->lift ? 0 : (float)(sum / (double)a->k);
    }
    a->reference_square = a->kn->dot(a->reference, a->reference, a->ld);
    a->reference_length = sqrtf(a->reference_square);
}

enum { PACK_CHUNK = 64 };

static void pack_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct ck_assigner *a = arg;
    int64_t end = (chunk + 1) * PACK_CHUNK < a->k ? (chunk + 1) * PACK_CHUNK : a->k;
    for (int64_t k = chunk * PACK_CHUNK; k < end; k++)
        if (a->path == CK_PATH_SCREEN)
            set_screen(a, k);
        else
            set_dense(a, k);
}

/* Packs all centers for the path in use. Columns of the last dense panel beyond k are zeros. */
static void pack_all(struct ck_assigner *a)
{
    if (a->path == CK_PATH_SCREEN)
        choose_reference(a);
    else
        memset(a->dense + (a->panels - 1) * a->kn->panel * (int64_t)a->ld, 0,
               (size_t)a->kn->panel * (size_t)a->ld * sizeof *a->dense);
    ck_parallel((a->k + PACK_CHUNK - 1) / PACK_CHUNK, pack_chunk, a);
    a->valid[a->path] = 1;
}

void ck_assigner_reset(struct ck_assigner *a, const float *center)
{
    a->center = center;
    a->valid[CK_PATH_DENSE] = a->valid[CK_PATH_SCREEN] = 0;
}

void ck_assigner_update(struct ck_assigner *a, int64_t k)
{
    if (a->valid[CK_PATH_SCREEN])
        set_screen(a, k);
    if (a->valid[CK_PATH_DENSE])
        set_dense(a, k);
}

/* Biases of the panels, and the largest lengths and biases for slack_of(). O(k). */
static void settle_screen(struct ck_assigner *a)
{
    a->bias_size = a->center_length = a->center_lift = 0;
    for (int64_t p = 0; p < a->screen_panels; p++) {
        struct ck_screen_panel *panel = panel_at(a, p);
        for (int c = 0; c < CK_SCREEN_PANEL; c++) {
            int64_t k = p * CK_SCREEN_PANEL + c;
            if (k >= a->k) {
                panel->bias[c] = -INFINITY;
                continue;
            }
            panel->bias[c] = a->raised[k] + a->reference_dot[k];
            float size = larger(fabsf(a->bias[k]), fabsf(a->raised[k]));
            a->bias_size = larger(a->bias_size, size + fabsf(a->reference_dot[k]));
            a->center_length = larger(a->center_length, a->length[k]);
            a->center_lift = larger(a->center_lift, fabsf(panel->lift[c]));
        }
    }
}

void ck_assigner_settle(struct ck_assigner *a, const float *bias)
{
    if (!a->valid[a->path])
        pack_all(a);
    a->lowest = INFINITY;
    a->most_more = 0;
    for (int64_t k = a->k; k < a->panels * a->kn->panel; k++)
        a->bias[k] = a->raised[k] = -INFINITY;
    for (int64_t k = 0; k < a->k; k++) {
        float more = a->more ? a->more[k] : 0;
        a->bias[k] = bias ? bias[k] : 0;
        a->raised[k] = a->bias[k] + (a->rise ? a->rise[k] : 0);
        a->lowest = a->bias[k] < a->lowest ? a->bias[k] : a->lowest;
        a->most_more = larger(a->most_more, more);
    }
    if (a->path == CK_PATH_SCREEN)
        settle_screen(a);
}
