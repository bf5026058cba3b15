/* emit.c - results of clusterings on stdout: a short table, or JSON. */
#include "emit.h"
#include "talk.h"

/* ---- JSON ---- */

int emit_close(struct coke_json *j)
{
    int rc = coke_json_close(j);
    return rc == COKE_OK || rc == COKE_EIO ? COKE_OK : talk_fail_library(rc);
}

static void emit_sizes(struct coke_json *j, const struct coke_head_summary *s)
{
    coke_json_begin_object(j, "sizes");
    coke_json_put_int(j, "min", s->size_min);
    coke_json_put_int(j, "median", s->size_median);
    coke_json_put_int(j, "max", s->size_max);
    coke_json_put_int(j, "lower_bound_min", s->lower_bound_min);
    coke_json_put_int(j, "lower_bound_max", s->lower_bound_max);
    if (s->upper_bound_max >= 0) {
        coke_json_put_int(j, "upper_bound_min", s->upper_bound_min);
        coke_json_put_int(j, "upper_bound_max", s->upper_bound_max);
    }
    coke_json_put_int(j, "below_before_repair", s->below_before_repair);
    coke_json_put_int(j, "above_before_repair", s->above_before_repair);
    coke_json_put_int(j, "missing_before_repair", s->missing_before_repair);
    coke_json_end(j);
}

/* The same keys as store/result_files.c writes to summary.json. */
void emit_head(struct coke_json *j, const struct coke_head_summary *s)
{
    coke_json_put_int(j, "k", s->k);
    if (s->fit_rows)
        coke_json_put_int(j, "fit_rows", s->fit_rows);
    coke_json_put_int(j, "epochs", s->epochs);
    coke_json_put_flag(j, "converged", s->converged);
    coke_json_put_int(j, "restarts", s->restarts);
    coke_json_put_int(j, "polish", s->polish);
    coke_json_put_flag(j, "settled", s->settled);
    coke_json_put_real(j, "passes", s->reads);
    coke_json_put_real(j, "eta", s->eta);
    coke_json_put_int(j, "levels", s->levels);
    if (s->levels == 2) {
        coke_json_put_int(j, "groups", s->groups);
        coke_json_put_int(j, "probes", s->probes);
    }
    coke_json_put_real(j, "objective", s->objective);
    coke_json_put_real(j, "labels_objective", s->labels_objective);
    if (s->metric == COKE_METRIC_EUCLIDEAN)
        coke_json_put_real(j, "inertia", s->inertia);
    emit_sizes(j, s);
    if (s->not_nearest >= 0)
        coke_json_put_int(j, "not_nearest", s->not_nearest);
    coke_json_put_flag(j, "repaired", s->repaired);
    if (!s->repaired)
        return;
    coke_json_begin_object(j, "certificate");
    coke_json_put_real(j, "primal", s->primal);
    coke_json_put_real(j, "dual", s->dual);
    coke_json_put_real(j, "gap", s->gap);
    coke_json_put_int(j, "bytes", s->repair_bytes);
    coke_json_put_text(j, "covers", s->levels == 2 ? "candidates" : "all");
    if (s->levels == 2)
        coke_json_put_int(j, "beyond", s->beyond);
    coke_json_end(j);
}

/* ---- text ---- */

/* "; at least 5" or "; at least 5 to 9": one number if all clusters have the same bound. */
static void print_bound(FILE *to, const char *words, int64_t min, int64_t max)
{
    fprintf(to, "%s %lld", words, (long long)min);
    if (max != min)
        fprintf(to, " to %lld", (long long)max);
}

static void print_bounds(FILE *to, const struct coke_head_summary *s)
{
    if (s->lower_bound_max > 0)
        print_bound(to, "; lower bound", s->lower_bound_min, s->lower_bound_max);
    if (s->upper_bound_max >= 0)
        print_bound(to, "; upper bound", s->upper_bound_min, s->upper_bound_max);
}

/* Violations that the repair removed, or that remain without one. */
static void print_violations(FILE *to, const struct coke_head_summary *s)
{
    if (s->lower_bound_max == 0 && !s->above_before_repair)
        return;
    fprintf(to, "%-12s%lld cluster%s below the lower bound%s (%lld row%s missing)", "",
            (long long)s->below_before_repair, s->below_before_repair == 1 ? "" : "s",
            s->repaired ? " before the repair" : "", (long long)s->missing_before_repair,
            s->missing_before_repair == 1 ? "" : "s");
    if (s->above_before_repair)
        fprintf(to, ", %lld above the upper bound", (long long)s->above_before_repair);
    fputc('\n', to);
}

/* Cosines are within -1..1, squared distances have any size. */
static void print_mean(FILE *to, const char *name, double mean, int any_size)
{
    fprintf(to, any_size ? "%-12s%.7g" : "%-12s%.6f", name, mean);
}

void emit_head_text(FILE *to, const struct coke_head_summary *s)
{
    int euclidean = s->metric == COKE_METRIC_EUCLIDEAN;
    const char *what = euclidean ? "squared distance" : "cosine";
    print_mean(to, "objective", s->objective, euclidean);
    fprintf(to, "  mean %s to the nearest center\n", what);
    print_mean(to, "labels", s->labels_objective, euclidean);
    fprintf(to, "  mean %s to the center of the label\n", what);
    if (s->not_nearest > 0)
        fprintf(to, "%-12s%lld row%s nearer to another center than to that of the label\n", "",
                (long long)s->not_nearest, s->not_nearest == 1 ? " is" : "s are");
    fprintf(to, "%-12smin %lld, median %lld, max %lld", "sizes", (long long)s->size_min,
            (long long)s->size_median, (long long)s->size_max);
    print_bounds(to, s);
    fputc('\n', to);
    print_violations(to, s);
    if (s->levels == 2)
        fprintf(to,
                "%-12s2: nearest, and the upper bound, are over the clusters of the nearest %d "
                "of %lld groups\n",
                "levels", (int)s->probes, (long long)s->groups);
    if (s->beyond)
        fprintf(to, "%-12s%lld row%s beyond these, to keep the sizes\n", "",
                (long long)s->beyond, s->beyond == 1 ? "" : "s");
    if (s->repaired && euclidean)
        fprintf(to, "%-12sinertia %.9g, lower bound %.9g: gap %.3g\n", "certificate", s->primal,
                s->dual, s->gap);
    else if (s->repaired)
        fprintf(to, "%-12stotal similarity %.6f, upper bound %.6f: gap %.3g\n", "certificate",
                s->primal, s->dual, s->gap);
}
