/* protobuf.h - messages of protocol buffers, written field by field.
 *
 * A message within a message goes after its own length: what fills it runs twice, first to
 * count. Floats are little-endian, as are the machines this runs on. */
#ifndef CK_PROTOBUF_H
#define CK_PROTOBUF_H

#include "io/file.h"

#include <stdint.h>

/* Takes bytes: into memory, into a file, or, zeroed, only counts them. */
struct ck_proto {
    size_t n;          /* bytes so far */
    unsigned char *at; /* memory with room for all, or NULL */
    struct ck_writer *file;
    int status; /* of the first write that failed */
};

void ck_proto_int(struct ck_proto *p, int field, int64_t x);
void ck_proto_float(struct ck_proto *p, int field, float x);
void ck_proto_double(struct ck_proto *p, int field, double x);
void ck_proto_bytes(struct ck_proto *p, int field, const void *data, size_t n);
void ck_proto_text(struct ck_proto *p, int field, const char *text);

typedef void ck_proto_fill(struct ck_proto *p, const void *message);
void ck_proto_message(struct ck_proto *p, int field, ck_proto_fill *fill, const void *message);

#endif
