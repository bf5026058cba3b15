/* tar.c - iterates over the members of a tar archive: ustar, GNU and pax.
 *
 * Format: blocks of 512 bytes; a header, then the member's data padded to whole blocks. Long
 * names are members of their own before the one they belong to: type L (GNU), or x (pax) with
 * records "LENGTH KEY=VALUE\n". */
#include "io/tar.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, EXTENDED_MAX = 1 << 20, PREFIX = 155, NAME = 100 };

struct header {
    char name[NAME];
    char mode[8], uid[8], gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[8]; /* "ustar\0" "00"; GNU "ustar  \0"; older formats anything */
    char user[32], group[32], major[8], minor[8];
    char prefix[PREFIX];
    char rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

/* What extended headers say about the next member. */
struct overrides {
    int has_name, has_size;
    int64_t size;
};

/* ---- numbers ---- */

/* Octal digits, padded with spaces and zeros. Returns 0 if the field is invalid. */
static int parse_octal(const char *field, size_t n, int64_t *out)
{
    size_t i = 0;
    *out = 0;
    while (i < n && field[i] == ' ')
        i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        if (__builtin_mul_overflow(*out, 8, out) ||
            __builtin_add_overflow(*out, field[i] - '0', out))
            return 0;
    return i == n || field[i] == ' ' || field[i] == 0;
}

/* The same or, if the first bit is set, a big-endian binary number (GNU, for 8 GB and more). */
static int parse_size(const char field[12], int64_t *out)
{
    const unsigned char *p = (const unsigned char *)field;
    if (!(p[0] & 0x80))
        return parse_octal(field, 12, out);
    if (p[0] != 0x80) /* negative, or beyond 88 bits */
        return 0;
    *out = 0;
    for (int i = 1; i < 12; i++)
        if (__builtin_mul_overflow(*out, 256, out) || __builtin_add_overflow(*out, p[i], out))
            return 0;
    return 1;
}

/* Verifies the checksum: the sum of all bytes, with the checksum itself as spaces. Some old
 * archivers summed signed bytes. */
static int is_intact(const struct header *h)
{
    const unsigned char *p = (const unsigned char *)h;
    const unsigned char *own = (const unsigned char *)h->checksum;
    int64_t said, plain = 0, with_sign = 0;
    for (const unsigned char *b = p; b < p + BLOCK; b++) {
        int value = b >= own && b < own + sizeof h->checksum ? ' ' : *b;
        plain += value;
        with_sign += value < 128 ? value : value - 256;
    }
    return parse_octal(h->checksum, sizeof h->checksum, &said) &&
           (said == plain || said == with_sign);
}

static int is_zero(const struct header *h)
{
    static const struct header zero;
    return memcmp(h, &zero, sizeof zero) == 0;
}

/* ---- names ---- */

/* Room for n bytes and a terminating zero; discards the contents. */
static int reserve(char **text, size_t *room, size_t n)
{
    if (n < *room)
        return COKE_OK;
    ck_free(*text);
    *room = 0;
    *text = ck_alloc_array(n * 2 + 256, 1);
    if (!*text)
        return COKE_ENOMEM;
    *room = n * 2 + 256;
    return COKE_OK;
}

static int set_name(struct ck_tar *t, const char *name, size_t n)
{
    int rc = reserve(&t->name, &t->room, n);
    if (rc)
        return rc;
    memcpy(t->name, name, n);
    t->name[n] = 0;
    return COKE_OK;
}

/* Name from the header's own fields: PREFIX/NAME in ustar; GNU uses the prefix field
 * differently. */
static int name_from_header(struct ck_tar *t, const struct header *h)
{
    char whole[PREFIX + NAME + 2];
    int posix = memcmp(h->magic, "ustar", 6) == 0 && h->prefix[0];
    int n = snprintf(whole, sizeof whole, "%.*s%s%.*s", posix ? PREFIX : 0, h->prefix,
                     posix ? "/" : "", NAME, h->name);
    return set_name(t, whole, (size_t)n);
}

/* ---- extended headers ---- */

/* Reads an extended header into t->extended and terminates it with a zero. */
static int read_extended(struct ck_tar *t, int64_t size)
{
    size_t got;
    if (size > EXTENDED_MAX)
        return ck_fail(COKE_EFORMAT, "%s: an extended tar header of %lld bytes at byte %lld",
                       t->in->name, (long long)size, (long long)t->in->position);
    CK_RETURN_IF(reserve(&t->extended, &t->extended_room, (size_t)size));
    CK_RETURN_IF(ck_tar_read(t, t->extended, (size_t)size, &got));
    t->extended[got] = 0;
    return COKE_OK;
}

static int parse_decimal(const char *p, size_t n, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++)
        if (p[i] < '0' || p[i] > '9' || __builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, p[i] - '0', out))
            return 0;
    return n > 0;
}

static int fail_record(const struct ck_tar *t)
{
    return ck_fail(COKE_EFORMAT, "%s: a damaged pax header before byte %lld", t->in->name,
                   (long long)t->in->position);
}

static int fail_sparse(const struct ck_tar *t)
{
    return ck_fail(COKE_EFORMAT,
                   "%s: sparse files are not supported; write it again without --sparse",
                   t->in->name);
}

static int key_is(const char *key, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(key, word, n) == 0;
}

/* Applies one record, key [nkey] and value [nvalue], to *o; unknown keys are ignored. */
static int take_record(struct ck_tar *t, const char *key, size_t nkey, const char *value,
                       size_t nvalue, struct overrides *o)
{
    static const char sparse[] = "GNU.sparse.";
    if (key_is(key, nkey, "path")) {
        o->has_name = 1;
        return set_name(t, value, nvalue);
    }
    if (key_is(key, nkey, "size")) {
        o->has_size = 1;
        return parse_decimal(value, nvalue, &o->size) ? COKE_OK : fail_record(t);
    }
    if (nkey >= strlen(sparse) && memcmp(key, sparse, strlen(sparse)) == 0)
        return fail_sparse(t);
    return COKE_OK;
}

static int parse_pax(struct ck_tar *t, size_t size, struct overrides *o)
{
    const char *p = t->extended, *end = p + size;
    while (p < end && *p) {
        const char *space = memchr(p, ' ', (size_t)(end - p)), *equals;
        int64_t length;
        if (!space || !parse_decimal(p, (size_t)(space - p), &length) || length > end - p ||
            length < space - p + 2 || p[length - 1] != '\n')
            return fail_record(t);
        const char *key = space + 1, *last = p + length - 1;
        equals = memchr(key, '=', (size_t)(last - key));
        if (!equals)
            return fail_record(t);
        int rc = take_record(t, key, (size_t)(equals - key), equals + 1,
                             (size_t)(last - equals - 1), o);
        if (rc)
            return rc;
        p += length;
    }
    return COKE_OK;
}

/* Applies an extended header, which describes the next member, to *o. */
static int take_extended(struct ck_tar *t, char type, int64_t size, struct overrides *o)
{
    if (type == 'K' || type == 'g') /* link names, and defaults for all members: not needed */
        return COKE_OK;
    CK_RETURN_IF(read_extended(t, size));
    if (type == 'x') {
        CK_RETURN_IF(parse_pax(t, (size_t)size, o));
    } else {
        o->has_name = 1;
        CK_RETURN_IF(set_name(t, t->extended, strlen(t->extended)));
    }
    return COKE_OK;
}

/* ---- members ---- */

int ck_tar_read(struct ck_tar *t, void *out, size_t n, size_t *got)
{
    size_t part = (int64_t)n < t->left ? n : (size_t)t->left;
    int rc = ck_stream_need(t->in, out, part, "a member of the archive");
    *got = rc ? 0 : part;
    t->left -= (int64_t)*got;
    if (rc) /* nothing is left to skip, so the same error is not reported twice */
        t->left = 0;
    t->broken |= rc != COKE_OK;
    return rc;
}

/* Skips the rest of the current member. The padding of the last one may be missing. */
static int finish_member(struct ck_tar *t)
{
    char padding[BLOCK];
    size_t got;
    int rc = COKE_OK;
    if (t->left)
        CK_TRY(ck_stream_skip(t->in, t->left, "a member of the archive"));
    CK_TRY(ck_stream_read(t->in, padding, t->padding, &got));
done:
    t->left = 0;
    t->padding = 0;
    return rc;
}

static int fail_header(const struct ck_tar *t)
{
    if (t->in->position <= BLOCK)
        return ck_fail(COKE_EFORMAT, "%s: not a tar archive", t->in->name);
    return ck_fail(COKE_EFORMAT, "%s: the tar header at byte %lld is damaged", t->in->name,
                   (long long)t->in->position - BLOCK);
}

/* Reads a header; *more = 0 at the end. After blocks of zeros another archive may follow (cat
 * a.tar b.tar); anything there that is not a header is ignored. */
static int read_header(struct ck_tar *t, struct header *h, int *more)
{
    size_t got;
    int rc = COKE_OK, zeros = 0;
    *more = 0;
    CK_TRY(ck_stream_read(t->in, h, BLOCK, &got));
    while (got == BLOCK && is_zero(h)) {
        zeros = 1;
        CK_TRY(ck_stream_read(t->in, h, BLOCK, &got));
    }
    *more = got == BLOCK && is_intact(h);
    t->ended = !*more && (t->ended || zeros); /* another archive may have followed */
    t->unended = !*more && !t->ended;
    if (!*more && !zeros && got)
        rc = got == BLOCK || t->in->position < BLOCK
                 ? fail_header(t)
                 : ck_fail(COKE_EFORMAT, "%s: ends within a tar header, after %lld bytes",
                           t->in->name, (long long)t->in->position);
done:
    return rc;
}

/* Links, devices, folders and pipes have no data, whatever their size field says. */
static int has_data(char type)
{
    return type < '1' || type > '6';
}

static int begin_member(struct ck_tar *t, const struct header *h, const struct overrides *o)
{
    int64_t size;
    if (!parse_size(h->size, &size))
        return ck_fail(COKE_EFORMAT, "%s: the tar header at byte %lld has no valid size",
                       t->in->name, (long long)t->in->position - BLOCK);
    size = o->has_size ? o->size : size;
    t->left = has_data(h->type) ? size : 0;
    t->padding = (size_t)((BLOCK - t->left % BLOCK) % BLOCK);
    return COKE_OK;
}

/* True for a regular file; before tar had a type for folders, their names ended in '/'. */
static int is_file(const struct ck_tar *t, char type)
{
    size_t n = strlen(t->name);
    return (type == 0 || type == '0' || type == '7') && !(n && t->name[n - 1] == '/');
}

/* What ck_tar_add wrote; archives of others have no such group. */
static uint64_t parse_sum(const struct header *h)
{
    uint64_t sum;
    int ours = memcmp(h->group, CK_TAR_SUM, strlen(CK_TAR_SUM)) == 0 &&
               ck_hash_parse(h->group + strlen(CK_TAR_SUM), &sum);
    return ours ? sum : 0;
}

int ck_tar_check(const char *archive, const char *member, uint64_t sum, const void *data,
                 size_t n)
{
    if (!sum || ck_hash(data, n, 0) == sum)
        return COKE_OK;
    return ck_fail(COKE_EFORMAT, "%s: %s is damaged: its checksum differs", archive, member);
}

int ck_tar_next(struct ck_tar *t, struct ck_tar_member *out, int *more)
{
    struct header h;
    struct overrides o = {0};
    int rc = COKE_OK;
    for (;;) {
        CK_TRY(finish_member(t));
        CK_TRY(read_header(t, &h, more));
        if (!*more)
            break;
        int extended = h.type && strchr("LKxg", h.type);
        CK_TRY(begin_member(t, &h, extended ? &(struct overrides){0} : &o));
        if (extended) {
            CK_TRY(take_extended(t, h.type, t->left, &o));
            continue;
        }
        if (h.type == 'S')
            CK_TRY(fail_sparse(t));
        if (!o.has_name)
            CK_TRY(name_from_header(t, &h));
        if (is_file(t, h.type))
            break;
        t->odd += h.type != '5' && h.type != 0 && h.type != '0';
        o = (struct overrides){0};
    }
    *out = (struct ck_tar_member){.name = t->name, .offset = t->in->position, .size = t->left};
    out->sum = *more ? parse_sum(&h) : 0;
done:
    t->broken |= rc != COKE_OK;
    return rc;
}

void ck_tar_release(struct ck_tar *t)
{
    ck_free(t->name);
    ck_free(t->extended);
    *t = (struct ck_tar){0};
}
