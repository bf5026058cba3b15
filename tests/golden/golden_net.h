/* golden_net.h - a recorded ResNet, built with the recording's weights and data. */
#ifndef GOLDEN_NET_H
#define GOLDEN_NET_H

#include "golden_data.h"
#include "nn/plan.h"

struct golden_net {
    const struct golden_case *c;
    struct golden_report *r;
    struct ck_net net;
    enum ck_dtype dtype; /* f32 unless set */
    int64_t n, size, classes;
    float *images, *seed;
    int fc;
};

/* Clears the report. Release it also after a failure. */
int golden_net_init(struct golden_net *p, const struct golden_case *c, struct golden_report *r);
void golden_net_release(struct golden_net *p);
/* The pass that was recorded: yields fc and gives it the gradient `seed`. */
struct ck_plan_request golden_net_request(const struct golden_net *p, int train, int backward);

#endif
