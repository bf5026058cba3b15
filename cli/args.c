/* args.c - the command line, read by the rows of option tables. */
#include "args.h"
#include "talk.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void args_init(struct args *a, const struct command *cmd)
{
    *a = (struct args){.cmd = cmd};
    for (int g = 0; g < MAX_GROUPS && cmd->group[g].table; g++) {
        const struct coke_option_table *t = cmd->group[g].table();
        a->part[g] = (struct ck_option_part){t, cmd->group[g].offset, NULL};
        a->table.nparts = g + 1;
        assert(a->own + t->n + cmd->nargs <= ARGS_MAX_ROWS);
        for (int i = 0; i < t->n; i++) {
            if (t->row[i].local)
                continue;
            a->row[a->own] = t->row[i];
            a->row[a->own++].offset += cmd->group[g].offset;
        }
    }
    for (int i = 0; i < cmd->nargs; i++)
        a->row[a->own + i] = cmd->arg[i].row;
    a->table = (struct coke_option_table){a->row, a->own + cmd->nargs, cmd->size, a->part,
                                          a->table.nparts};
}

const struct arg *args_own(const struct args *a, int row)
{
    return row >= a->own ? &a->cmd->arg[row - a->own] : NULL;
}

static int find(const struct args *a, const char *name, size_t len)
{
    for (int i = 0; i < a->table.n; i++)
        if (strlen(a->row[i].name) == len && memcmp(a->row[i].name, name, len) == 0)
            return i;
    for (int i = 0; i < a->table.n; i++)
        if (a->row[i].alias && strlen(a->row[i].alias) == len &&
            memcmp(a->row[i].alias, name, len) == 0)
            return i;
    return -1;
}

static int find_letter(const struct args *a, char letter)
{
    for (int i = a->own; i < a->table.n; i++)
        if (args_own(a, i)->letter == letter)
            return i;
    return find(a, &letter, 1);
}

static int is_text(const struct args *a, int row)
{
    const struct arg *own = args_own(a, row);
    return own && own->value;
}

static int is_flag(const struct args *a, int row)
{
    return a->row[row].type == COKE_OPT_FLAG && !is_text(a, row);
}

static const char **text_of(const struct args *a, int row)
{
    return (const char **)((char *)a->options + a->row[row].offset);
}

static int set(const struct args *a, int row, const char *value)
{
    if (is_text(a, row)) {
        *text_of(a, row) = value;
        return COKE_OK;
    }
    int rc = coke_table_set(&a->table, a->options, a->row[row].name, value);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* Sets the row from what stands with the option, or from the next word: *used = 1. */
static int set_from(const struct args *a, int row, const char *value, const char *next,
                    int *used)
{
    if (is_flag(a, row))
        return set(a, row, value ? value : "on");
    if (value)
        return set(a, row, value);
    if (!next || strncmp(next, "--", 2) == 0)
        return talk_fail(COKE_EUSAGE, "option '%s' needs a value", a->row[row].name);
    *used = 1;
    return set(a, row, next);
}

static int parse_long(struct args *a, const char *word, const char *next, int *used)
{
    size_t len = strcspn(word, "=");
    const char *value = word[len] ? word + len + 1 : NULL;
    int row = find(a, word, len);
    if (row >= 0)
        return set_from(a, row, value, next, used);
    if (strcmp(word, "help") == 0) {
        a->help = 1;
        return COKE_OK;
    }
    if (len > 3 && strncmp(word, "no-", 3) == 0 && !value) {
        row = find(a, word + 3, len - 3);
        if (row >= 0 && is_flag(a, row))
            return set(a, row, "off");
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(len < 60 ? len : 60), word);
    int rc = coke_table_set(&a->table, a->options, name, "");
    return talk_fail_library(rc ? rc : COKE_EUSAGE);
}

static int parse_short(struct args *a, const char *word, const char *next, int *used)
{
    int row = find_letter(a, word[0]);
    if (row < 0 && word[0] == 'h') {
        a->help = 1;
        return COKE_OK;
    }
    if (row < 0)
        return talk_fail(COKE_EUSAGE, "unknown option '-%c'; 'coke %s --help' lists all",
                         word[0], a->cmd->name);
    if (is_flag(a, row) && word[1])
        return talk_fail(COKE_EUSAGE, "option '-%c' takes no value, '%s' follows it", word[0],
                         word + 1);
    return set_from(a, row, word[1] ? word + 1 : NULL, next, used);
}

static int parse_words(struct args *a, int argc, const char *const *argv)
{
    a->noperands = 0;
    for (int i = 0; i < argc && !a->help; i++) {
        const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        int used = 0, rc = COKE_OK;
        if (word[0] != '-' || !word[1]) {
            a->operand[a->noperands++] = word;
        } else if (strcmp(word, "--") == 0) {
            while (++i < argc)
                a->operand[a->noperands++] = argv[i];
        } else {
            rc = word[1] == '-' ? parse_long(a, word + 2, next, &used)
                                : parse_short(a, word + 1, next, &used);
        }
        if (rc)
            return rc;
        i += used;
    }
    return COKE_OK;
}

/* COKE_MAX_EPOCHS=5 in the environment is --max-epochs 5. */
static int read_environment(const struct args *a)
{
    char name[96];
    for (int i = 0; i < a->own; i++) {
        size_t n = (size_t)snprintf(name, sizeof name, "COKE_%s", a->row[i].name);
        for (size_t j = 5; j < n && j < sizeof name; j++)
            name[j] = name[j] == '-' ? '_' : (char)toupper((unsigned char)name[j]);
        const char *value = getenv(name);
        int rc = value ? coke_table_set(&a->table, a->options, a->row[i].name, value) : COKE_OK;
        if (rc)
            return talk_fail(rc, "%s in the environment: %s", name, coke_last_error());
    }
    return COKE_OK;
}

static const char *text_option(const struct args *a, const char *name)
{
    int row = find(a, name, strlen(name));
    return row >= 0 && is_text(a, row) ? *text_of(a, row) : NULL;
}

/* What stands later wins: defaults, the preset, the file of --config, the environment, the
 * command line, wherever --preset and --config stand in it. */
int args_parse(struct args *a, void *options, const char **operand, int argc,
               const char *const *argv)
{
    a->options = options;
    a->operand = operand;
    coke_table_default(&a->table, options);
    int rc = parse_words(a, argc, argv);
    if (rc || a->help)
        return rc;
    const char *preset = a->cmd->preset ? text_option(a, "preset") : NULL;
    const char *config = text_option(a, "config");
    coke_table_default(&a->table, options);
    if (preset)
        rc = a->cmd->preset(options, preset);
    struct coke_option_table library = {a->row, a->own, a->cmd->size, NULL, 0};
    if (!rc && config)
        rc = coke_table_load_json(&library, options, config);
    if (rc)
        return talk_fail_library(rc);
    rc = read_environment(a);
    return rc ? rc : parse_words(a, argc, argv);
}
