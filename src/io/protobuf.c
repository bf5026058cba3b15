/* protobuf.c - protocol buffer messages, written field by field. */
#include "io/protobuf.h"

#include <string.h>

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* All output passes here. It keeps counting after an error, so both runs of a fill agree. */
static void put(struct ck_proto *p, const void *data, size_t n)
{
    if (p->at && n)
        memcpy(p->at + p->n, data, n);
    if (p->file && !p->status)
        p->status = ck_writer_write(p->file, data, n);
    p->n += n;
}

/* Seven bits per byte, least significant first; bit 7 = more follow. */
static void put_varint(struct ck_proto *p, uint64_t x)
{
    for (; x >= 128; x >>= 7)
        put(p, &(unsigned char){(unsigned char)(x | 128)}, 1);
    put(p, &(unsigned char){(unsigned char)x}, 1);
}

static void put_key(struct ck_proto *p, int field, enum wire type)
{
    put_varint(p, (uint64_t)field << 3 | (uint64_t)type);
}

void ck_proto_int(struct ck_proto *p, int field, int64_t x)
{
    put_key(p, field, VARINT);
    put_varint(p, (uint64_t)x);
}

void ck_proto_float(struct ck_proto *p, int field, float x)
{
    put_key(p, field, FIXED32);
    put(p, &x, sizeof x);
}

void ck_proto_double(struct ck_proto *p, int field, double x)
{
    put_key(p, field, FIXED64);
    put(p, &x, sizeof x);
}

void ck_proto_bytes(struct ck_proto *p, int field, const void *data, size_t n)
{
    put_key(p, field, BYTES);
    put_varint(p, n);
    put(p, data, n);
}

void ck_proto_text(struct ck_proto *p, int field, const char *text)
{
    ck_proto_bytes(p, field, text, strlen(text));
}

void ck_proto_message(struct ck_proto *p, int field, ck_proto_fill *fill, const void *message)
{
    struct ck_proto counted = {0};
    fill(&counted, message);
    put_key(p, field, BYTES);
    put_varint(p, counted.n);
    fill(p, message);
}
