/* emit.c - results on stdout: the short table, or JSON. */
#include "emit.h"

#include <math.h>

/* ---- JSON ---- */

/* Bytes of the UTF-8 character at s, 0 if it is none. */
static int utf8_length(const char *s)
{
    unsigned char c = (unsigned char)*s;
    int n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;
    if (c >= 0xf5 || (c >= 0x80 && c < 0xc2))
        return 0;
    for (int i = 1; i < n; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void emit_json_string(FILE *to, const char *text)
{
    fputc('"', to);
    while (*text) {
        int n = utf8_length(text);
        unsigned char c = (unsigned char)*text;
        if (n == 1 && (c == '"' || c == '\\'))
            fprintf(to, "\\%c", c);
        else if (n == 1 && (c < ' ' || c == 127))
            fprintf(to, "\\u%04x", c);
        else if (n)
            fprintf(to, "%.*s", n, text);
        else
            fputc('?', to);
        text += n ? n : 1;
    }
    fputc('"', to);
}

static void put_key(struct emit *e, const char *key)
{
    fprintf(e->to, "%s", e->items >> e->depth & 1 ? "," : "");
    if (e->depth)
        fprintf(e->to, "\n%*s", 2 * e->depth, "");
    e->items |= 1 << e->depth;
    if (!key)
        return;
    emit_json_string(e->to, key);
    fputs(": ", e->to);
}

void emit_begin(struct emit *e, const char *key, char bracket)
{
    put_key(e, key);
    fputc(bracket, e->to);
    e->depth++;
    e->items &= ~(1 << e->depth);
}

void emit_end(struct emit *e, char bracket)
{
    e->depth--;
    fprintf(e->to, "\n%*s%c%s", 2 * e->depth, "", bracket, e->depth ? "" : "\n");
}

void emit_int(struct emit *e, const char *key, int64_t value)
{
    put_key(e, key);
    fprintf(e->to, "%lld", (long long)value);
}

void emit_real(struct emit *e, const char *key, double value)
{
    put_key(e, key);
    if (isfinite(value))
        fprintf(e->to, "%.15g", value);
    else
        fputs("null", e->to);
}

void emit_flag(struct emit *e, const char *key, int value)
{
    put_key(e, key);
    fputs(value ? "true" : "false", e->to);
}

void emit_text(struct emit *e, const char *key, const char *value)
{
    put_key(e, key);
    emit_json_string(e->to, value);
}

static void emit_sizes(struct emit *e, const struct coke_head_summary *s)
{
    emit_begin(e, "sizes", '{');
    emit_int(e, "min", s->size_min);
    emit_int(e, "median", s->size_median);
    emit_int(e, "max", s->size_max);
    emit_int(e, "bound_min", s->bound_min);
    emit_int(e, "bound_max", s->bound_max);
    emit_int(e, "below_before_repair", s->below_before_repair);
    emit_int(e, "above_before_repair", s->above_before_repair);
    emit_int(e, "missing_before_repair", s->short_before_repair);
    emit_end(e, '}');
}

void emit_head(struct emit *e, const struct coke_head_summary *s)
{
    emit_int(e, "k", s->k);
    emit_int(e, "epochs", s->epochs);
    emit_flag(e, "converged", s->converged);
    emit_real(e, "passes", s->passes);
    emit_real(e, "eta", s->eta);
    emit_real(e, "objective", s->objective);
    emit_real(e, "labels_objective", s->labels_objective);
    emit_sizes(e, s);
    emit_flag(e, "repaired", s->repaired);
    if (!s->repaired)
        return;
    emit_begin(e, "certificate", '{');
    emit_real(e, "primal", s->primal);
    emit_real(e, "dual", s->dual);
    emit_real(e, "gap", s->gap);
    emit_int(e, "moved", s->moved);
    emit_int(e, "bytes", s->repair_bytes);
    emit_end(e, '}');
}

/* ---- text ---- */

static void print_bound(FILE *to, const struct coke_head_summary *s)
{
    if (s->bound_max == 0)
        return;
    fprintf(to, "; bound %lld", (long long)s->bound_min);
    if (s->bound_max != s->bound_min)
        fprintf(to, " to %lld", (long long)s->bound_max);
}

/* What the repair found, or what is left wrong without one. */
static void print_violations(FILE *to, const struct coke_head_summary *s)
{
    if (s->bound_max == 0 && !s->above_before_repair)
        return;
    fprintf(to, "%-12s%lld cluster%s under the bound%s (%lld rows short)", "",
            (long long)s->below_before_repair, s->below_before_repair == 1 ? "" : "s",
            s->repaired ? " before the repair" : "", (long long)s->short_before_repair);
    if (s->above_before_repair)
        fprintf(to, ", %lld above theirs", (long long)s->above_before_repair);
    if (s->repaired)
        fprintf(to, "; it moved %lld row%s", (long long)s->moved, s->moved == 1 ? "" : "s");
    fputc('\n', to);
}

void emit_head_text(FILE *to, const struct coke_head_summary *s)
{
    fprintf(to, "%-12s%.6f  mean cosine to the nearest center\n", "objective", s->objective);
    fprintf(to, "%-12s%.6f  mean cosine to the center of the label\n", "labels",
            s->labels_objective);
    fprintf(to, "%-12smin %lld, median %lld, max %lld", "sizes", (long long)s->size_min,
            (long long)s->size_median, (long long)s->size_max);
    print_bound(to, s);
    fputc('\n', to);
    print_violations(to, s);
    if (s->repaired)
        fprintf(to, "%-12stotal similarity %.6f, none can exceed %.6f: gap %.3g\n",
                "certificate", s->primal, s->dual, s->gap);
}
