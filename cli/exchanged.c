/* exchanged.c - what the commands export and import print. */
#include "exchanged.h"
#include "emit.h"
#include "outputs.h"
#include "talk.h"

#include <string.h>
#include <sys/stat.h>

static const char *const options[] = {"arch", "stem", "width", "channels", "head", "dim"};
enum { OPTIONS = sizeof options / sizeof options[0] };

static int is_shown(const struct coke_exchanged *x, const char *name)
{
    return strcmp(name, "dim") != 0 || x->encoder.head != COKE_PROJECTOR_NONE;
}

static void print_json(const struct coke_exchanged *x, const char *path, int64_t bytes,
                       FILE *to)
{
    char value[64];
    struct emit e = {.to = to};
    emit_begin(&e, NULL, '{');
    emit_text(&e, "read", x->weights);
    emit_text(&e, "written", path);
    emit_int(&e, "tensors", x->tensors);
    emit_int(&e, "numbers", x->numbers);
    emit_int(&e, "bytes", bytes);
    emit_begin(&e, "encoder", '{');
    for (int i = 0; i < OPTIONS; i++)
        if (is_shown(x, options[i]) &&
            !coke_options_get(coke_encoder_option_table(), &x->encoder, options[i], value,
                              sizeof value))
            emit_text(&e, options[i], value);
    emit_end(&e, '}');
    emit_text(&e, "note", x->note);
    emit_end(&e, '}');
}

static void print_text(const struct coke_exchanged *x, const char *path, int64_t bytes,
                       FILE *to)
{
    char value[64];
    fprintf(to, "%-12s%s\n%-12s", "read", x->weights, "encoder");
    for (int i = 0; i < OPTIONS; i++)
        if (is_shown(x, options[i]) &&
            !coke_options_get(coke_encoder_option_table(), &x->encoder, options[i], value,
                              sizeof value))
            fprintf(to, "%s%s %s", i ? ", " : "", options[i], value);
    fputc('\n', to);
    if (x->tensors)
        fprintf(to, "%-12s%lld, %s numbers\n", "tensors", (long long)x->tensors,
                talk_count((double)x->numbers, value, sizeof value));
    fprintf(to, "%-12s%s", "written to", path);
    if (bytes > 0)
        fprintf(to, " (%sB)", talk_count((double)bytes, value, sizeof value));
    fputc('\n', to);
}

void exchanged_print(const struct coke_exchanged *x, const char *path, int json, int quiet)
{
    struct stat st;
    int64_t bytes = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    FILE *to = outputs_words(path);
    if (x->note[0] && !quiet)
        talk_line("", x->note);
    if (json)
        print_json(x, path, bytes, to);
    else
        print_text(x, path, bytes, to);
}
