/* api_exchange.c - public functions that export and import encoders for other programs. */
#include "api/check_args.h"
#include "core/options.h"
#include "train/exchange.h"

/* Makes the object for the encoder's options, unless the caller's header is too old to have the
 * field. Comes before the export: no failure may follow a written file. */
static int begin(struct coke_exchange_summary *full, const struct coke_exchange_summary *out)
{
    size_t end = offsetof(struct coke_exchange_summary, encoder) + sizeof full->encoder;
    return out->size >= end ? coke_options_new(&full->encoder, "encoder") : COKE_OK;
}

/* On success the caller owns full->encoder (coke_options_free); on failure it is NULL. */
static int finish(int rc, struct coke_exchange_summary *full,
                  const struct ck_encoder_options *encoder, struct coke_exchange_summary *out)
{
    if (rc) {
        coke_options_free(full->encoder);
        full->encoder = NULL;
    } else if (full->encoder) {
        *(struct ck_encoder_options *)full->encoder->values = *encoder;
    }
    ck_args_write(out, full);
    return rc;
}

int coke_export(const char *source, const char *path, const struct coke_options *options,
                int force, struct coke_exchange_summary *out)
{
    struct ck_encoder_options encoder;
    struct coke_exchange_summary full;
    CK_ARGS(source, path, out);
    CK_RESULT(full, out);
    CK_OPTIONS(o, export, options);
    CK_RETURN_IF(begin(&full, out));
    int rc = ck_exchange_export(source, path, o, force, &encoder, &full);
    return finish(rc, &full, &encoder, out);
}

int coke_import(const char *source, const char *path, const struct coke_options *options,
                int force, struct coke_exchange_summary *out)
{
    struct ck_encoder_options encoder;
    struct coke_exchange_summary full;
    CK_ARGS(source, path, out);
    CK_RESULT(full, out);
    CK_OPTIONS(o, import, options);
    CK_RETURN_IF(begin(&full, out));
    int rc = ck_exchange_import(source, path, o, force, &encoder, &full);
    return finish(rc, &full, &encoder, out);
}
