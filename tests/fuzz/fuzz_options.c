/* fuzz_options.c - values of options as text: NAME=VALUE lines for the kind of options that the
 * first byte chooses. A value that is accepted is printed as one that means the same. */
#include "coke.h"
#include "fuzz_file.h"

#include <string.h>

static void set_one(struct coke_options *o, const char *name, const char *value)
{
    char once[2048], twice[2048];
    int rc = coke_options_set(o, name, value);
    if (rc && rc != COKE_EUSAGE && rc != COKE_ENOMEM)
        abort();
    if (rc || coke_options_get(o, name, once, sizeof once))
        return;
    if (coke_options_set(o, name, once) || coke_options_get(o, name, twice, sizeof twice) ||
        strcmp(once, twice) != 0)
        abort();
}

/* A line that begins with a byte below 128 is the value of the option with that number. */
static void take_line(struct coke_options *o, char *line)
{
    struct coke_option_info info;
    char *equals = strchr(line, '=');
    if (equals) {
        *equals = 0;
        set_one(o, line, equals + 1);
    } else if (line[0] > 0 &&
               coke_options_describe(o, line[0] % coke_options_count(o), &info) == COKE_OK)
        set_one(o, info.name, line + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const kinds[] = {"train", "cluster", "rows", "use", "report", "import"};
    struct coke_options *o;
    char text[4096];
    if (size < 1 || size > sizeof text - 1)
        return 0;
    if (coke_options_new(&o, kinds[data[0] % (sizeof kinds / sizeof *kinds)]))
        abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    for (char *at = text, *line; (line = strsep(&at, "\n"));)
        take_line(o, line);
    coke_options_free(o);
    return 0;
}
