/* fetch.h - an image of a data set as pixels: read, decoded, upright, with the wanted channels.
 */
#ifndef CK_FETCH_H
#define CK_FETCH_H

#include "coke/types.h"
#include "data/dataset.h"

struct coke_dataset {
    struct ck_dataset *set;
    struct ck_dataset_options o;
    int32_t channels; /* of every image that is handed out */
};

/* Working memory of one thread. Zeroed = ready. */
struct ck_fetcher {
    struct ck_item item;
    struct ck_decoder decoder;
    struct ck_image image; /* what was decoded last */
    struct ck_image spare;
    struct ck_image_info info; /* of item.bytes */
    int32_t width, height;     /* of the whole image, upright */
    char name[512];
    int strict; /* see ck_decode_options */
};
void ck_fetcher_release(struct ck_fetcher *f);

/* Reads image i and finds out its size. In a single pass, f->width is 0 past the end. */
int ck_fetch_open(struct ck_fetcher *f, struct coke_dataset *d, int64_t i);
/* Then makes f->image: at least the part `want` (NULL: everything), at 1/scale if the codec
 * can; *part and *scaled say what it is: see ck_codec_decode. */
int ck_fetch_decode(struct ck_fetcher *f, const struct coke_dataset *d,
                    const struct ck_box *want, int scale, struct ck_box *part, int *scaled);

#endif
