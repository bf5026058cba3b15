/* exchanged.c - the output of the commands export and import. */
#include "exchanged.h"
#include "emit.h"
#include "outputs.h"
#include "talk.h"

#include <string.h>
#include <sys/stat.h>

/* Encoder options that are shown, in this order. */
static const char *const options[] = {"arch", "stem", "width", "channels", "projector", "dim"};
enum { OPTIONS = sizeof options / sizeof options[0] };

/* The value of option i of the encoder; NULL = not shown (the dimension of no projector). */
static const char *value_of(const struct coke_exchange_summary *x, int i, char *value,
                            size_t size)
{
    if (strcmp(options[i], "dim") == 0 &&
        (coke_options_get(x->encoder, "projector", value, size) || strcmp(value, "none") == 0))
        return NULL;
    return coke_options_get(x->encoder, options[i], value, size) ? NULL : value;
}

static int print_json(const struct coke_exchange_summary *x, const char *path, int64_t bytes,
                      FILE *to)
{
    char value[256];
    struct coke_json *j = coke_json_open(to, COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_text(j, "read", x->weights);
    coke_json_put_text(j, "written", path);
    coke_json_put_int(j, "tensors", x->tensors);
    coke_json_put_int(j, "numbers", x->numbers);
    coke_json_put_int(j, "bytes", bytes);
    coke_json_begin_object(j, "encoder");
    for (int i = 0; i < OPTIONS; i++)
        if (value_of(x, i, value, sizeof value))
            coke_json_put_text(j, options[i], value);
    coke_json_end(j);
    coke_json_put_text(j, "note", x->note);
    return emit_close(j);
}

/* tensors is 0 for ONNX, where weights are part of a graph. */
static void print_text(const struct coke_exchange_summary *x, const char *path, int64_t bytes,
                       FILE *to)
{
    char value[256];
    fprintf(to, "%-12s%s\n%-12s", "read", x->weights, "encoder");
    for (int i = 0; i < OPTIONS; i++)
        if (value_of(x, i, value, sizeof value))
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

/* The size is that of the written file; 0 for pipes and devices, which have none. */
int exchanged_print(const struct coke_exchange_summary *x, const char *path, int json,
                    int quiet)
{
    struct stat st;
    int64_t bytes = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    FILE *to = outputs_words(path);
    if (x->note[0] && !quiet)
        talk_line("", x->note);
    if (json)
        return print_json(x, path, bytes, to);
    print_text(x, path, bytes, to);
    return COKE_OK;
}
