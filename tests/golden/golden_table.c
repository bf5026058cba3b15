/* golden_table.c - replays the second stage's label tables with prescribed labels. */
#include "cluster/labels.h"
#include "golden_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of slot weights: the same roundings, as ties depend on them; of targets. */
static const double WEIGHTS = 0, TARGETS = 2e-6;

struct table {
    const struct golden_case *c;
    struct golden_report *r;
    int64_t n, k, epochs;
    int slots;
    struct ck_slots t;
    float *target; /* [k] */
};

static int check_target(struct table *t, int64_t e, int64_t i)
{
    const struct golden_array *soft = golden_array(t->c, "soft_labels");
    char text[96];
    if (e == 0 || e - 1 >= soft->shape[0])
        return 0;
    ck_slots_target(&t->t, i, (float)golden_number(t->c, "t", 0.5), t->target, t->k);
    snprintf(text, sizeof text, "soft_labels, epoch %d, instance %d", (int)e, (int)i);
    return golden_close(t->r, text, t->target, soft->f + ((e - 1) * t->n + i) * t->k, t->k,
                        TARGETS);
}

static int check_row(struct table *t, int64_t e, int64_t i)
{
    char text[96];
    int64_t from = (e * t->n + i) * t->slots;
    const int32_t *label = golden_array(t->c, "assign_labels")->i + from;
    const float *weight = golden_array(t->c, "label_val")->f + from;
    if (golden_array(t->c, "flags")->i[i] & 1)
        return 0;
    snprintf(text, sizeof text, "label_val, epoch %d, instance %d", (int)e, (int)i);
    if (golden_close(t->r, text, t->t.weight + i * t->slots, weight, t->slots, WEIGHTS))
        return -1;
    snprintf(text, sizeof text, "assign_labels, epoch %d, instance %d", (int)e, (int)i);
    for (int j = 0; j < t->slots; j++) {
        int32_t want = weight[j] > 0 ? label[j] : -1;
        if (golden_same_ints(t->r, text, t->t.label + i * t->slots + j, &want, 1))
            return -1;
    }
    return 0;
}

static int run(struct table *t)
{
    const struct golden_array *labels = golden_array(t->c, "labels");
    for (int64_t e = 0; e < t->epochs; e++)
        for (int64_t i = 0; i < t->n; i++) {
            if (check_target(t, e, i))
                return -1;
            ck_slots_update(&t->t, i, labels->i[e * t->n + i], 1.0 / (double)(e + 1));
            if (check_row(t, e, i))
                return -1;
        }
    return 0;
}

int golden_check_table(const struct golden_case *c, struct golden_report *r)
{
    struct table t = {.c = c, .r = r};
    memset(r, 0, sizeof *r);
    t.n = (int64_t)golden_number(c, "num_ins", 0);
    t.k = golden_item(c, "K", 0);
    t.slots = (int)golden_number(c, "ls", 0);
    const char *const needed[] = {"labels", "assign_labels", "label_val", "flags",
                                  "soft_labels"};
    for (int i = 0; i < 5; i++)
        if (!golden_array(c, "%s", needed[i])) {
            snprintf(r->text, sizeof r->text, "%s is missing", needed[i]);
            return -1;
        }
    t.epochs = golden_array(c, "labels")->shape[0];
    t.target = malloc((size_t)t.k * sizeof *t.target);
    int rc = ck_slots_init(&t.t, t.n, t.slots);
    if (!rc)
        rc = run(&t);
    ck_slots_release(&t.t);
    free(t.target);
    return rc;
}
