/* help.c - usage text, manual page and shell completion, made from the commands' tables.
 *
 * Nothing here knows a single option: all three are generated from the same rows that args.c
 * parses, so they cannot get out of date. The build calls 'coke help --man' and 'coke help
 * --bash' to make the files that are installed. */
#include "help.h"
#include "args.h"

#include <stdlib.h>
#include <string.h>

/* Columns of a line, column of the help texts, room for default and bounds. */
enum { WIDTH = 80, COLUMN = 26, DETAIL = 320 };

/* Prints text from column `at`, wrapped at WIDTH and continued at column `indent`. Words are
 * separated by single spaces. */
static void print_wrapped(FILE *to, const char *text, int at, int indent)
{
    int fresh = 1;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (!fresh && at + 1 + n > WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
            fresh = 1;
        }
        fprintf(to, "%s%.*s", fresh ? "" : " ", n, text);
        at += n + !fresh;
        fresh = 0;
        text += n + (text[n] == ' ');
    }
    fputc('\n', to);
}

/* ---- one option as text ---- */

/* Placeholder of the value in the usage; NULL: a flag, which takes none. */
static const char *value_name(const struct args *a, int row)
{
    const struct coke_option_info *o = &a->row[row].info;
    if (a->row[row].takes_file)
        return "WORD|FILE";
    switch (o->type) {
    case COKE_OPTION_TYPE_INT:
        return "N";
    case COKE_OPTION_TYPE_FLOAT:
        return "X";
    case COKE_OPTION_TYPE_INTS:
        return "N,...";
    case COKE_OPTION_TYPE_CHOICE:
        return "WORD";
    case COKE_OPTION_TYPE_NUMBERS:
        return "WORD|X,...";
    case COKE_OPTION_TYPE_LAYERS:
        return "WORD|LAYERS";
    case COKE_OPTION_TYPE_TEXT:
        return o->choices ? o->choices : "TEXT";
    case COKE_OPTION_TYPE_FLAG:
        break;
    }
    return NULL;
}

/* "-o, --output DIR"; a name of one letter has the short form only. Flags of the library can be
 * negated (--no-repair), flags of the program cannot. */
static void option_form(const struct args *a, int row, char *out, size_t size)
{
    const struct coke_option_info *o = &a->row[row].info;
    const struct arg *own = a->row[row].own;
    const char *value = value_name(a, row);
    char letter[8] = "";
    if (own && own->letter)
        snprintf(letter, sizeof letter, "-%c, ", own->letter);
    if (!o->name[1])
        snprintf(out, size, "-%s %s", o->name, value ? value : "");
    else if (value)
        snprintf(out, size, "%s--%s %s", letter, o->name, value);
    else
        snprintf(out, size, "%s--%s%s", letter, own ? "" : "[no-]", o->name);
}

/* Copies "a|b|c"; a long list becomes "a | b | c", so that it can be wrapped. */
static void list_choices(const char *choices, char *out, size_t size)
{
    int spaced = strlen(choices) > WIDTH - COLUMN - 10;
    size_t n = 0;
    for (const char *p = choices; *p && n + 4 < size; p++) {
        if (*p == '|' && spaced)
            out[n++] = ' ';
        out[n++] = *p;
        if (*p == '|' && spaced)
            out[n++] = ' ';
    }
    out[n] = 0;
}

/* The shortest text that reads back as the same number; 15 digits keep counts such as 16777216
 * out of exponent notation. */
static const char *number_text(double x, char *out, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, x);
        if (strtod(out, NULL) == x)
            break;
    }
    return out;
}

static int has_words(const struct coke_option_info *o)
{
    return o->type == COKE_OPTION_TYPE_CHOICE || o->type == COKE_OPTION_TYPE_NUMBERS ||
           o->type == COKE_OPTION_TYPE_LAYERS;
}

/* Writes default and bounds in brackets to out [size]; "" for texts and for flags of the
 * program, which are off. Numbers with a word for the default (auto) show that. */
static void option_detail(const struct args *a, int row, char *out, size_t size)
{
    const struct coke_option_info *o = &a->row[row].info;
    const struct arg *own = a->row[row].own;
    const char *word = o->choices;
    char least[32], most[32], def[32];
    number_text(o->min, least, sizeof least);
    number_text(o->max, most, sizeof most);
    out[0] = 0;
    if (o->type == COKE_OPTION_TYPE_TEXT)
        return;
    if (o->type == COKE_OPTION_TYPE_FLAG) {
        if (!own)
            snprintf(out, size, " [default %s]", o->def > 0 ? "on" : "off");
    } else if (has_words(o)) {
        char list[DETAIL - 40];
        for (int i = (int)o->def; i > 0; i--)
            word = strchr(word, '|') + 1;
        list_choices(o->choices, list, sizeof list);
        snprintf(out, size, " [%s; default %.*s]", list, (int)strcspn(word, "|"), word);
    } else if (o->type == COKE_OPTION_TYPE_INTS && o->def <= 0) {
        snprintf(out, size, " [%s to %s]", least, most);
    } else if (word) {
        snprintf(out, size, " [%s to %s; default %s]", least, most, word);
    } else {
        snprintf(out, size, " [%s to %s; default %s]", least, most,
                 number_text(o->def, def, sizeof def));
    }
}

/* A form that is too long for its column gets a line of its own. */
static void print_option(const struct args *a, int row, FILE *to)
{
    char form[64], detail[DETAIL], text[768];
    option_form(a, row, form, sizeof form);
    option_detail(a, row, detail, sizeof detail);
    snprintf(text, sizeof text, "%s%s", a->row[row].info.help, detail);
    fprintf(to, "  %-*s", COLUMN - 2, form);
    if ((int)strlen(form) > COLUMN - 4)
        fprintf(to, "\n%*s", COLUMN, "");
    print_wrapped(to, text, COLUMN, COLUMN);
}

/* ---- help ---- */

/* Lines of "command\twhat it does"; the explanation is printed below the command. */
static void print_examples(const char *examples, FILE *to)
{
    for (const char *p = examples; *p;) {
        int line = (int)strcspn(p, "\n"), cmd = (int)strcspn(p, "\t\n");
        fprintf(to, "  %.*s\n", cmd, p);
        if (cmd < line)
            fprintf(to, "      %.*s\n", line - cmd - 1, p + cmd + 1);
        p += line + (p[line] == '\n');
    }
}

/* Builds the options with their defaults, as a run would, only to print them. */
void help_command(const struct command *cmd, FILE *to)
{
    struct args a;
    if (args_init(&a, cmd))
        return;
    fprintf(to, "usage: coke %s %s\n\n", cmd->name, cmd->usage);
    print_wrapped(to, cmd->about, 0, 0);
    fputs("\noptions:\n", to);
    for (int i = 0; i < a.n; i++)
        print_option(&a, i, to);
    fprintf(to, "  %-*sshow this help\n", COLUMN - 2, "-h, --help");
    fputs("\nexamples:\n", to);
    print_examples(cmd->examples, to);
    args_release(&a);
}

/* All commands whose name begins with `start` ("" = all), in the order of main.c. */
static void print_commands(const struct command *const *cmd, int n, const char *start, FILE *to)
{
    for (int i = 0; i < n; i++)
        if (strncmp(cmd[i]->name, start, strlen(start)) == 0)
            fprintf(to, "  %-14s%s\n", cmd[i]->name, cmd[i]->summary);
}

void help_family(const struct command *const *cmd, int n, const char *word, FILE *to)
{
    char start[64];
    snprintf(start, sizeof start, "%s ", word);
    fprintf(to, "usage: coke %s COMMAND ...\n\ncommands:\n", word);
    print_commands(cmd, n, start, to);
    fprintf(to, "\n'coke %s COMMAND --help' shows the options and examples.\n", word);
}

void help_program(const struct command *const *cmd, int n, FILE *to)
{
    fputs("usage: coke COMMAND ...\n\n", to);
    print_wrapped(
        to,
        "Clusters embedding vectors by online constrained k-means: every cluster has at least "
        "the requested minimum size, and the assignment provably has the highest total "
        "similarity to the centers. A clustering gives the same bytes for any number of "
        "threads. Trains image encoders on such clusters, without labels.",
        0, 0);
    fputs("\ncommands:\n", to);
    print_commands(cmd, n, "", to);
    fputs("\n'coke help COMMAND' or 'coke COMMAND --help' shows the options and examples.\n"
          "'coke --version' prints the version.\n",
          to);
}

/* ---- manual page ---- */

/* Escapes text for roff, which reads a minus as a hyphen and a dot or quote at the start of a
 * line as a request. */
static void print_roff(const char *text, int len, FILE *to)
{
    for (int i = 0; i < len; i++) {
        if (text[i] == '-' || text[i] == '\\')
            fputc('\\', to);
        if ((text[i] == '.' || text[i] == '\'') && i == 0)
            fputs("\\&", to);
        fputs(text[i] == '\\' ? "e" : (char[2]){text[i], 0}, to);
    }
}

/* before and after are roff already; only text is escaped. */
static void print_roff_line(const char *before, const char *text, const char *after, FILE *to)
{
    fputs(before, to);
    print_roff(text, (int)strlen(text), to);
    fputs(after, to);
}

/* One subsection per command: usage, description, options, examples. */
static void man_command(const struct command *cmd, FILE *to)
{
    struct args a;
    char form[64], detail[DETAIL];
    if (args_init(&a, cmd))
        return;
    print_roff_line(".SS coke ", cmd->name, " ", to);
    print_roff_line("", cmd->usage, "\n", to);
    print_roff_line("", cmd->about, "\n", to);
    for (int i = 0; i < a.n; i++) {
        option_form(&a, i, form, sizeof form);
        option_detail(&a, i, detail, sizeof detail);
        print_roff_line(".TP\n.B ", form, "\n", to);
        print_roff_line("", a.row[i].info.help, "", to);
        print_roff_line("", detail, "\n", to);
    }
    args_release(&a);
    fputs(".PP\nExamples:\n", to);
    for (const char *p = cmd->examples; *p;) {
        int line = (int)strcspn(p, "\n"), end = (int)strcspn(p, "\t\n");
        fputs(".TP\n.B ", to);
        print_roff(p, end, to);
        fputc('\n', to);
        if (end < line)
            print_roff(p + end + 1, line - end - 1, to);
        fputc('\n', to);
        p += line + (p[line] == '\n');
    }
}

/* What holds for all commands. Exit codes are the negated statuses of coke/types.h. */
static const char man_end[] =
    ".SH EXIT STATUS\n"
    "0 done; 1 failed or stopped; 2 usage; 3 bad input file; 4 input, output or disk full;\n"
    "5 out of memory; 6 numeric failure (NaN, infinity or zero vectors);\n"
    "7 another process of the job is gone;\n"
    "75 a training was stopped and saved: the same command resumes it.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B COKE_ISA\nref, avx2, avx512, vnni or amx: the instruction set to use instead of "
    "the best one; amx-emulated computes as amx without it, slowly. Clusterings do not depend "
    "on "
    "it. \\fBcoke info\\fR prints the one in use.\n"
    ".TP\n.B COKE_LOST_SECONDS\nof several processes: when one is lost the others exit with 7 "
    "within this time; 60 by default, at least 5.\n"
    ".TP\n.B COKE_OPTION\nany option in capitals, as COKE_MAX_EPOCHS=5; the command line "
    "takes precedence.\n"
    ".TP\n.B NO_COLOR\nno colours on the terminal.\n"
    ".TP\n.B TMPDIR\nwhere standard input is spooled when it must be read more than once.\n"
    ".SH NOTES\n"
    "Results go to standard output, everything else to standard error. Files are written "
    "whole\n"
    "or not at all, and never replace others without \\-\\-force.\n";

/* Synopsis and commands in the order of main.c; options with defaults and bounds. */
void help_man(const struct command *const *cmd, int n, FILE *to)
{
    fprintf(to, ".TH COKE 1 \"\" \"coke %s\" \"User Commands\"\n", coke_version());
    fputs(".SH NAME\ncoke \\- cluster embedding vectors with guaranteed cluster sizes\n"
          ".SH SYNOPSIS\n",
          to);
    for (int i = 0; i < n; i++) {
        fprintf(to, "%s.B coke %s\n", i ? ".br\n" : "", cmd[i]->name);
        print_roff_line("", cmd[i]->usage, "\n", to);
    }
    fputs(
        ".SH DESCRIPTION\nOnline constrained k-means for embeddings of any origin. "
        "Every cluster has at least the requested minimum size, with a certificate of how far "
        "the result can be from the optimum.\n.SH COMMANDS\n",
        to);
    for (int i = 0; i < n; i++)
        man_command(cmd[i], to);
    fputs(man_end, to);
}

/* ---- bash completion: one function with case statements, without any helper ---- */

/* A name of two words as one: data_info. */
static void bash_name(const struct command *cmd, FILE *to)
{
    fputs("    ", to);
    for (const char *p = cmd->name; *p; p++)
        fputc(*p == ' ' ? '_' : *p, to);
}

/* The first words, each once; or the second words after `first`. */
static void bash_words(const struct command *const *cmd, int n, const char *first, FILE *to)
{
    const char *last = "";
    size_t length = strlen(first);
    for (int i = 0; i < n; i++) {
        const char *word = cmd[i]->name + (length ? length + 1 : 0);
        if (length &&
            (strncmp(cmd[i]->name, first, length) != 0 || cmd[i]->name[length] != ' '))
            continue;
        int size = (int)strcspn(word, " ");
        if ((int)strcspn(last, " ") != size || strncmp(word, last, (size_t)size) != 0)
            fprintf(to, " %.*s", size, word);
        last = word;
    }
}

/* One line for each first word that several commands share. */
static void bash_families(const struct command *const *cmd, int n, FILE *to)
{
    char first[32], last[32] = "";
    for (int i = 0; i < n; i++) {
        if (!strchr(cmd[i]->name, ' '))
            continue;
        snprintf(first, sizeof first, "%.*s", (int)strcspn(cmd[i]->name, " "), cmd[i]->name);
        if (strcmp(first, last) != 0) {
            fprintf(to, "    %s:2) words=\"", first);
            bash_words(cmd, n, first, to);
            fprintf(to, "\" ;;\n    %s:*) cmd=%s_${COMP_WORDS[2]} ;;\n", first, first);
        }
        memcpy(last, first, sizeof last);
    }
}

/* "cluster) words=...": completions of a word that begins with a minus. */
static void bash_options(const struct command *cmd, FILE *to)
{
    struct args a;
    if (args_init(&a, cmd))
        return;
    bash_name(cmd, to);
    fputs(") words=\"--help", to);
    for (int i = 0; i < a.n; i++) {
        const struct coke_option_info *o = &a.row[i].info;
        fprintf(to, " %s%s", o->name[1] ? "--" : "-", o->name);
        if (!a.row[i].own && (o->type == COKE_OPTION_TYPE_FLAG || args_can_be_off(&a, i)))
            fprintf(to, " --no-%s", o->name);
    }
    fputs("\" ;;\n", to);
    args_release(&a);
}

/* "cluster:--init) words=...": completions of the value of a choice. */
static void bash_choices(const struct command *cmd, FILE *to)
{
    struct args a;
    if (args_init(&a, cmd))
        return;
    for (int i = 0; i < a.n; i++) {
        const struct coke_option_info *o = &a.row[i].info;
        if (!has_words(o))
            continue;
        bash_name(cmd, to);
        fprintf(to, ":--%s) words=\"", o->name);
        for (const char *p = o->choices; *p; p++)
            fputc(*p == '|' ? ' ' : *p, to);
        fprintf(to, "%s\" ;;\n", a.row[i].takes_file ? " $(compgen -f -- \"$cur\")" : "");
    }
    args_release(&a);
}

/* Words after the first come from the case of the command, option values from that of command
 * and option; everything else completes file names. */
void help_bash(const struct command *const *cmd, int n, FILE *to)
{
    fputs("# bash completion for coke; made by 'coke help --bash'\n"
          "_coke() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"help --help --version",
          to);
    bash_words(cmd, n, "", to);
    fputs("\" -- \"$cur\"))\n        return\n    fi\n"
          "    local cmd=${COMP_WORDS[1]}\n"
          "    case \"$cmd:$COMP_CWORD\" in\n",
          to);
    bash_families(cmd, n, to);
    fputs("    esac\n    case \"$cmd:$prev\" in\n", to);
    for (int i = 0; i < n; i++)
        bash_choices(cmd[i], to);
    fputs("    esac\n    if [ -z \"$words\" ] && [ \"${cur:0:1}\" = - ]; then\n"
          "    case $cmd in\n",
          to);
    for (int i = 0; i < n; i++)
        bash_options(cmd[i], to);
    fputs("    esac\n    fi\n"
          "    if [ -n \"$words\" ]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "    fi\n"
          "}\n"
          "complete -o filenames -F _coke coke\n",
          to);
}
