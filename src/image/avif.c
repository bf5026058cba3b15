/* avif.c - reads the first image of AVIF files by libavif. Only built where libavif is there. */
#include "image/codecs.h"
#include "core/error.h"

#include <avif/avif.h>
#include <string.h>

/* 0: top and bottom are exchanged, 1: left and right. */
#if AVIF_VERSION >= 1000000
#define AXIS axis
#else
#define AXIS mode
#endif

static int fail(const struct ck_bytes *in, avifResult result)
{
    return ck_fail(result == AVIF_RESULT_OUT_OF_MEMORY ? COKE_ENOMEM : COKE_EFORMAT,
                   "%s: AVIF: %s", in->name, avifResultToString(result));
}

/* A decoder whose header is parsed. The caller destroys it in any case. One thread, because the
 * loader decodes many images at a time. */
static int open_file(const struct ck_bytes *in, avifDecoder **out)
{
    avifDecoder *a = avifDecoderCreate();
    *out = a;
    if (!a)
        return ck_fail(COKE_ENOMEM, "%s: out of memory in libavif", in->name);
    a->maxThreads = 1;
    a->ignoreExif = a->ignoreXMP = AVIF_TRUE;
    a->imageSizeLimit = CK_MAX_PIXELS;
    a->imageDimensionLimit = CK_IMAGE_MAX_SIDE;
    avifResult result = avifDecoderSetIOMemory(a, in->at, in->size);
    if (result == AVIF_RESULT_OK)
        result = avifDecoderParse(a);
    return result == AVIF_RESULT_OK ? COKE_OK : fail(in, result);
}

/* The EXIF orientation that means the same as the file's rotation (in quarter turns against the
 * clock) and mirroring. AVIF rotates first. */
static int32_t orientation_of(const avifImage *im)
{
    static const int32_t table[3][4] = {
        {1, 8, 3, 6}, /* not mirrored */
        {4, 5, 2, 7}, /* top to bottom */
        {2, 7, 4, 5}, /* left to right */
    };
    uint32_t angle = im->transformFlags & AVIF_TRANSFORM_IROT ? im->irot.angle & 3u : 0;
    int mirror = im->transformFlags & AVIF_TRANSFORM_IMIR ? 1 + (im->imir.AXIS & 1) : 0;
    return table[mirror][angle];
}

int ck_avif_probe(const struct ck_bytes *in, struct ck_image_info *out)
{
    avifDecoder *a = NULL;
    int rc = COKE_OK;
    CK_TRY(open_file(in, &a));
    out->width = (int32_t)a->image->width;
    out->height = (int32_t)a->image->height;
    out->channels = a->image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400 ? 1 : 3;
    out->bits = (int32_t)a->image->depth;
    out->alpha = a->alphaPresent != 0;
    out->orientation = orientation_of(a->image);
done:
    if (a)
        avifDecoderDestroy(a);
    return rc;
}

/* Converts to RGB or RGBA; grey is one of its channels. */
static int convert(const avifImage *im, const struct ck_decode_job *job, struct ck_image *rgb)
{
    avifRGBImage view;
    CK_RETURN_IF(
        ck_image_reshape(rgb, (int32_t)im->width, (int32_t)im->height, 3 + job->alpha));
    avifRGBImageSetDefaults(&view, im);
    view.depth = 8;
    view.format = job->alpha ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
    view.alphaPremultiplied = AVIF_FALSE;
    view.ignoreAlpha = !job->alpha;
    view.pixels = rgb->data;
    view.rowBytes = (uint32_t)rgb->width * (uint32_t)rgb->channels;
    avifResult result = avifImageYUVToRGB(im, &view);
    return result == AVIF_RESULT_OK ? COKE_OK : fail(&job->in, result);
}

static int take_channels(const struct ck_image *rgb, const struct ck_decode_job *job)
{
    size_t step = (size_t)rgb->channels, n = (size_t)rgb->width * (size_t)rgb->height;
    size_t channels = (size_t)job->info->channels, kept = channels + (size_t)job->alpha;
    CK_RETURN_IF(ck_image_reshape(job->out, rgb->width, rgb->height, (int32_t)kept));
    for (size_t i = 0; i < n; i++) {
        memcpy(job->out->data + i * kept, rgb->data + i * step, channels);
        if (job->alpha)
            job->out->data[i * kept + channels] = rgb->data[i * step + 3];
    }
    return COKE_OK;
}

int ck_avif_decode(struct ck_decoder *d, const struct ck_decode_job *job)
{
    avifDecoder *a = NULL;
    int rc = COKE_OK;
    CK_TRY(open_file(&job->in, &a));
    avifResult result = avifDecoderNextImage(a);
    if (result != AVIF_RESULT_OK)
        CK_LEAVE(fail(&job->in, result));
    if ((int32_t)a->image->width != job->info->width ||
        (int32_t)a->image->height != job->info->height)
        CK_FAIL(COKE_EFORMAT, "%s: AVIF: the image has another size than its header",
                job->in.name);
    CK_TRY(convert(a->image, job, &d->spare));
    CK_TRY(take_channels(&d->spare, job));
done:
    if (a)
        avifDecoderDestroy(a);
    return rc;
}
