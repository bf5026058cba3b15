/* fetch.h - reads an image of a data set and decodes it to pixels, upright and with the
 * requested number of channels. */
#ifndef CK_FETCH_H
#define CK_FETCH_H

#include "coke/types.h"
#include "data/dataset.h"

/* What shows through transparent pixels. */
struct ck_background {
    int32_t composite; /* 0: nothing, alpha is dropped */
    uint8_t color[3];  /* red, green, blue */
};

struct coke_dataset {
    struct ck_dataset *set;
    struct ck_dataset_options o;
    int32_t channels;                /* of every image after decoding */
    struct ck_background background; /* of option `background`, where auto is white */
};

/* Working memory of one thread, reused from image to image. Initialize with zeros. */
struct ck_fetcher {
    struct ck_item item;
    struct ck_decoder decoder;
    struct ck_image image; /* the image decoded last */
    struct ck_image spare;
    struct ck_image_info info; /* of item.bytes */
    int32_t width, height;     /* of the whole image, after EXIF orientation */
    char name[512];
    int strict; /* see ck_decode_options */
    /* Borrowed; NULL = the data set's. */
    const struct ck_background *background;
};
void ck_fetcher_release(struct ck_fetcher *f);

/* Reads image i and determines its size and name. Past the end of a stream f->width is 0. */
int ck_fetch_open(struct ck_fetcher *f, struct coke_dataset *d, int64_t i);
/* Then decodes to f->image: at least the part `want` (NULL: everything), at 1/scale of its size
 * if the codec supports that. *part and *scaled say what was decoded; see ck_codec_decode. */
int ck_fetch_decode(struct ck_fetcher *f, const struct coke_dataset *d,
                    const struct ck_box *want, int scale, struct ck_box *part, int *scaled);

#endif
