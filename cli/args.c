/* args.c - the command line: options and operands of a command. */
#include "args.h"
#include "talk.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- rows ---- */

/* hidden is a list of words separated by spaces. */
static int is_hidden(const struct command *cmd, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = cmd->hidden; p && *p; p += strspn(p, " ")) {
        size_t word = strcspn(p, " ");
        if (word == n && memcmp(p, name, n) == 0)
            return 1;
        p += word;
    }
    return 0;
}

/* The command's entry of that name: its own option, or another help text. */
static const struct arg *find_arg(const struct command *cmd, const char *name)
{
    for (int i = 0; i < cmd->nargs; i++)
        if (strcmp(cmd->arg[i].row.name, name) == 0)
            return &cmd->arg[i];
    return NULL;
}

/* Appends option i of `set`. The table is fixed in size: too many rows is a bug. */
static int add_row(struct args *a, struct coke_options *set, int i, const struct arg *own)
{
    assert(a->n < ARGS_MAX_ROWS);
    struct arg_row *r = &a->row[a->n++];
    *r = (struct arg_row){.info = {.size = sizeof r->info}, .own = own, .set = set};
    return coke_options_describe(set, i, &r->info);
}

/* Adds all options of a kind, except hidden ones and those that the program defines itself; its
 * help text may be replaced. */
static int add_library(struct args *a, struct coke_options *set)
{
    for (int i = 0; i < coke_options_count(set); i++) {
        int rc = add_row(a, set, i, NULL);
        if (rc)
            return rc;
        struct coke_option_info *info = &a->row[a->n - 1].info;
        const struct arg *arg = find_arg(a->cmd, info->name);
        if (is_hidden(a->cmd, info->name) || (arg && !arg->help_only && !arg->or_file))
            a->n--;
        else if (arg) {
            info->help = arg->row.help;
            a->row[a->n - 1].takes_file = arg->or_file;
        }
    }
    return COKE_OK;
}

/* The object for the program's own options, last in a->set. */
static int make_own(struct args *a)
{
    struct coke_option_info info[ARGS_MAX_ROWS] = {0};
    const struct arg *own[ARGS_MAX_ROWS];
    int n = 0;
    for (int i = 0; i < a->cmd->nargs; i++)
        if (!a->cmd->arg[i].help_only && !a->cmd->arg[i].or_file) {
            own[n] = &a->cmd->arg[i];
            info[n++] = a->cmd->arg[i].row;
        }
    int rc = coke_options_define(&a->set[a->kinds], info, n);
    for (int i = 0; i < n && !rc; i++)
        rc = add_row(a, a->set[a->kinds], i, own[i]);
    return rc;
}

/* Also used by help.c, for the defaults. */
int args_init(struct args *a, const struct command *cmd)
{
    int rc = COKE_OK;
    *a = (struct args){.cmd = cmd};
    while (a->kinds < MAX_KINDS && cmd->kind[a->kinds] && !rc) {
        rc = coke_options_new(&a->set[a->kinds], cmd->kind[a->kinds]);
        if (!rc)
            rc = add_library(a, a->set[a->kinds]);
        a->kinds++;
    }
    if (!rc)
        rc = make_own(a);
    if (rc)
        args_release(a);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* Also safe after a failed args_init: unused entries are NULL. */
void args_release(struct args *a)
{
    for (int i = 0; i < a->n; i++) {
        free(a->row[i].text);
        free(a->row[i].file);
    }
    for (int i = 0; i <= MAX_KINDS; i++)
        coke_options_free(a->set[i]);
    *a = (struct args){.cmd = a->cmd};
}

/* ---- parsing ---- */

/* O(n), but n is below a hundred. -1 = unknown. */
static int find(const struct args *a, const char *name, size_t len)
{
    for (int i = 0; i < a->n; i++)
        if (strlen(a->row[i].info.name) == len && memcmp(a->row[i].info.name, name, len) == 0)
            return i;
    return -1;
}

/* A library option of one letter (-k) is its own short form. */
static int find_letter(const struct args *a, char letter)
{
    for (int i = 0; i < a->n; i++)
        if (a->row[i].own && a->row[i].own->letter == letter)
            return i;
    return find(a, &letter, 1);
}

static int is_flag(const struct args *a, int row)
{
    return a->row[row].info.type == COKE_OPTION_TYPE_FLAG;
}

/* Parsing, bounds and the message are the library's. What is none of the words of an option that
 * takes a file must be one; the later of the two counts. */
static int set_value(struct args *a, int row, const char *value)
{
    struct arg_row *r = &a->row[row];
    int rc = coke_options_set(r->set, r->info.name, value);
    r->given = 1;
    if (!r->takes_file || (rc && access(value, F_OK)))
        return rc;
    free(r->file);
    r->file = rc ? strdup(value) : NULL;
    return rc && !r->file ? COKE_ENOMEM : COKE_OK;
}

static int set(struct args *a, int row, const char *value)
{
    int rc = set_value(a, row, value);
    if (rc && a->row[row].takes_file)
        return talk_fail(rc, "%s, and not a file", coke_last_error());
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* Takes the value after "=", or else the next word (*used = 1). A next word that begins with
 * "--" is a forgotten value, but "-" and negative numbers are values. */
static int take_value(const char *name, const char *value, const char *next, int *used,
                      const char **out)
{
    *out = value ? value : next;
    if (!value && (!next || strncmp(next, "--", 2) == 0))
        return talk_fail(COKE_EUSAGE, "option '%s' needs a value", name);
    *used = !value;
    return COKE_OK;
}

/* A flag takes a value only in the form --name=off. */
static int set_from(struct args *a, int row, const char *value, const char *next, int *used)
{
    if (is_flag(a, row))
        return set(a, row, value ? value : "on");
    int rc = take_value(a->row[row].info.name, value, next, used, &value);
    return rc ? rc : set(a, row, value);
}

/* The library accepts former names of its options (aliases), which it does not list. The kind
 * that knows `name`, or NULL. */
static struct coke_options *find_former(const struct args *a, const char *name)
{
    char text[1024];
    for (int i = 0; i < a->kinds && !is_hidden(a->cmd, name); i++)
        if (coke_options_get(a->set[i], name, text, sizeof text) == COKE_OK)
            return a->set[i];
    return NULL;
}

/* Former names are not suggested: they are not in the rows. */
static int fail_unknown(const struct args *a, const char *name)
{
    const char *names[ARGS_MAX_ROWS];
    for (int i = 0; i < a->n; i++)
        names[i] = a->row[i].info.name;
    const char *near = coke_nearest(name, names, a->n);
    return talk_fail(COKE_EUSAGE, "unknown option '%s'%s%s%s", name,
                     near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
}

static int parse_unlisted(const struct args *a, const char *name, const char *value,
                          const char *next, int *used)
{
    struct coke_options *former = find_former(a, name);
    if (!former)
        return fail_unknown(a, name);
    int rc = take_value(name, value, next, used, &value);
    if (rc)
        return rc;
    rc = coke_options_set(former, name, value);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

int args_can_be_off(const struct args *a, int row)
{
    const char *choices = a->row[row].info.choices;
    enum coke_option_type type = a->row[row].info.type;
    return (type == COKE_OPTION_TYPE_CHOICE || type == COKE_OPTION_TYPE_LAYERS) && choices &&
           strncmp(choices, "off|", 4) == 0;
}

/* word is without its dashes: "name", "name=value" or "no-name". */
static int parse_long(struct args *a, const char *word, const char *next, int *used)
{
    char name[64];
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
        if (row >= 0 && (is_flag(a, row) || args_can_be_off(a, row)))
            return set(a, row, "off");
    }
    snprintf(name, sizeof name, "%.*s", (int)(len < 60 ? len : 60), word);
    return parse_unlisted(a, name, value, next, used);
}

/* "-k", "-k10": the value may follow without a space. */
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
        return talk_fail(COKE_EUSAGE, "option '-%c' takes no value, but '%s' follows it",
                         word[0], word + 1);
    return set_from(a, row, word[1] ? word + 1 : NULL, next, used);
}

/* Fills the operands; "-" alone is an operand, and "--" ends the options. */
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

/* COKE_MAX_EPOCHS=5 in the environment is --max-epochs 5. Only options of the library, which
 * are the first rows: --output in the environment would surprise. */
static int read_environment(struct args *a)
{
    char name[96];
    for (int i = 0; i < a->n && !a->row[i].own; i++) {
        size_t n = (size_t)snprintf(name, sizeof name, "COKE_%s", a->row[i].info.name);
        for (size_t j = 5; j < n && j < sizeof name; j++)
            name[j] = name[j] == '-' ? '_' : (char)toupper((unsigned char)name[j]);
        const char *value = getenv(name);
        int rc = value ? set_value(a, i, value) : COKE_OK;
        if (rc)
            return talk_fail(rc, "%s in the environment: %s", name, coke_last_error());
    }
    return COKE_OK;
}

/* The names are literals in the commands, so a wrong one fails in the first test. */
static const struct arg_row *row_of(const struct args *a, const char *name)
{
    int i = find(a, name, strlen(name));
    assert(i >= 0);
    return &a->row[i];
}

/* For options that only some commands have. */
static const char *text_if_any(struct args *a, const char *name)
{
    return args_has(a, name) ? args_text(a, name) : NULL;
}

/* The preset that the words name: that of --preset, else the one that a method is named after. */
static const char *preset_of(struct args *a, char *method, size_t size)
{
    const char *preset = text_if_any(a, "preset");
    if (preset || !args_has(a, "method") ||
        coke_options_get(row_of(a, "method")->set, "method", method, size))
        return preset;
    return args_number(a, "method") > 0 ? method : NULL;
}

/* Starts over from the defaults and applies preset and file. They were found by a first parse,
 * which may already have set other options; hence the new objects. */
static int read_defaults(struct args *a)
{
    char method[32];
    const char *preset = a->cmd->preset ? preset_of(a, method, sizeof method) : NULL;
    const char *config = text_if_any(a, "config");
    struct args fresh;
    int rc = args_init(&fresh, a->cmd);
    if (rc)
        return rc;
    if (preset && strcmp(preset, "list") != 0)
        rc = coke_train_preset(fresh.set[0], preset);
    if (!rc && config)
        rc = coke_options_load_json(fresh.set[0], config);
    if (rc) {
        args_release(&fresh);
        return talk_fail_library(rc);
    }
    fresh.operand = a->operand;
    args_release(a);
    *a = fresh;
    return COKE_OK;
}

/* Later sources take precedence: defaults, the preset, the file of --config, the environment,
 * the command line. --preset and --config may be anywhere in it, so it is parsed twice. */
int args_parse(struct args *a, const char **operand, int argc, const char *const *argv)
{
    a->operand = operand;
    int rc = parse_words(a, argc, argv);
    if (rc || a->help)
        return rc;
    rc = read_defaults(a);
    if (!rc)
        rc = read_environment(a);
    return rc ? rc : parse_words(a, argc, argv);
}

/* ---- values ---- */

int args_has(const struct args *a, const char *name)
{
    return find(a, name, strlen(name)) >= 0;
}

int64_t args_number(const struct args *a, const char *name)
{
    int64_t value;
    return coke_options_get_int(row_of(a, name)->set, name, &value) ? 0 : value;
}

int args_flag(const struct args *a, const char *name)
{
    return args_number(a, name) != 0;
}

double args_real(const struct args *a, const char *name)
{
    double value;
    return coke_options_get_float(row_of(a, name)->set, name, &value) ? 0 : value;
}

int args_given(const struct args *a, const char *name)
{
    return row_of(a, name)->given;
}

/* The length is not known in advance: doubles the buffer until the value fits. NULL means unset,
 * so a lack of memory ends the program instead of changing what it does. */
const char *args_text(struct args *a, const char *name)
{
    struct arg_row *r = &a->row[find(a, name, strlen(name))];
    for (size_t size = r->text_room ? r->text_room : 256; size < 1 << 24; size *= 2) {
        if (size > r->text_room) { /* else earlier results stay valid */
            char *text = realloc(r->text, size);
            if (!text)
                exit(-talk_fail(COKE_ENOMEM, "out of memory for option '%s'", name));
            r->text = text;
            r->text_room = size;
        }
        if (coke_options_get(r->set, name, r->text, size) == COKE_OK)
            return r->text[0] ? r->text : NULL;
    }
    return NULL;
}

const char *args_file(const struct args *a, const char *name)
{
    return row_of(a, name)->file;
}

/* The library has validated the list: every part is a number. */
int args_ints(const struct args *a, const char *name, int32_t v[COKE_MAX_HEADS])
{
    char text[1024];
    int n = 0;
    if (coke_options_get(row_of(a, name)->set, name, text, sizeof text))
        return 0;
    for (char *p = text; *p && n < COKE_MAX_HEADS; p += *p == ',')
        v[n++] = (int32_t)strtol(p, &p, 10);
    return n;
}

struct coke_options *args_options(const struct args *a, const char *kind)
{
    for (int i = 0; i < a->kinds; i++)
        if (strcmp(coke_options_kind(a->set[i]), kind) == 0)
            return a->set[i];
    assert(0 && "a kind that the command does not have");
    return NULL;
}

int args_use_threads(const struct args *a)
{
    int rc = coke_set_threads((int)args_number(a, "threads"));
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* The result can be given to --config. */
int args_print_config(const struct args *a)
{
    int rc = coke_options_print_json(a->set[0], stdout);
    return rc ? talk_fail_library(rc) : COKE_OK;
}
