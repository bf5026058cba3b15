/* protobuf.h - protocol buffer messages, written field by field.
 *
 * A nested message is preceded by its length, so its fill callback runs twice: first to count,
 * then to write. Floats are stored little-endian, which every supported machine is. */
#ifndef CK_PROTOBUF_H
#define CK_PROTOBUF_H

#include "io/file.h"

#include <stdint.h>

/* Destination of bytes: memory, a file or, if zeroed, a counter only. */
struct ck_proto {
    size_t n;          /* bytes so far */
    unsigned char *at; /* memory with room for all (borrowed), or NULL */
    struct ck_writer *file;
    int status; /* status of the first write that failed */
};

void ck_proto_int(struct ck_proto *p, int field, int64_t x);
void ck_proto_float(struct ck_proto *p, int field, float x);
void ck_proto_double(struct ck_proto *p, int field, double x);
void ck_proto_bytes(struct ck_proto *p, int field, const void *data, size_t n);
void ck_proto_text(struct ck_proto *p, int field, const char *text);

/* Writes the fields of a message; must write the same bytes in both calls. */
typedef void ck_proto_fill(struct ck_proto *p, const void *message);
void ck_proto_message(struct ck_proto *p, int field, ck_proto_fill *fill, const void *message);

#endif
