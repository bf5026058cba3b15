/* decode_bytes.h - decodes a file that may be anything; what must hold then. */
#ifndef CK_FUZZ_DECODE_BYTES_H
#define CK_FUZZ_DECODE_BYTES_H

#include "image/codec.h"
#include "coke.h"

#include <stdlib.h>

enum { FUZZ_MOST_PIXELS = 1 << 20 };

/* Fails by a status for damaged files, or gives all the pixels that it says. */
static inline void decode_bytes(const uint8_t *bytes, size_t size, struct ck_decode_options o)
{
    static struct ck_decoder d; /* kept: one file must not harm the next */
    static struct ck_image im;
    static const uint8_t background[] = {255, 0, 100};
    struct ck_image_info info;
    struct ck_box got;
    o.max_pixels = FUZZ_MOST_PIXELS;
    o.background = size % 2 ? background : NULL;
    int probed = ck_codec_probe(bytes, size, "fuzz", &info);
    int rc = ck_codec_decode(&d, bytes, size, "fuzz", &o, NULL, &im, &got);
    if (rc != COKE_OK && rc != COKE_EFORMAT)
        abort();
    if (rc != COKE_OK)
        return;
    if (probed || im.width < 1 || im.height < 1 || got.width != im.width ||
        got.height != im.height || im.channels != (o.channels ? o.channels : info.channels))
        abort();
    unsigned sum = 0;
    for (size_t i = 0, n = (size_t)(im.width * im.height * im.channels); i < n; i++)
        sum += im.data[i];
    /* a part that lies inside can be asked for */
    struct ck_box want = {im.width / 3, im.height / 3, 1, 1};
    o.orient = o.scale = 0;
    if (info.orientation < 5 && want.x < info.width && want.y < info.height)
        rc = ck_codec_decode(&d, bytes, size, "fuzz", &o, &want, &im, &got);
    if (rc != COKE_OK && rc != COKE_EFORMAT && sum != 0)
        abort();
}

#endif
