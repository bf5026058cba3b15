/* encoder_file.c - encoders from and to safetensors files, and out of checkpoints. */
#include "train/encoder_file.h"
#include "core/error.h"
#include "io/safetensors.h"
#include "train/checkpoint.h"

int ck_encoder_open(struct coke_encoder **out, const char *path)
{
    int rc = COKE_OK;
    struct ck_state s = {0};
    struct ck_encoder_options o;
    struct coke_encoder *e = NULL;
    *out = NULL;
    CK_TRY(ck_safetensors_read(path, &s));
    CK_TRY(ck_encoder_options_from(&o, &s, path));
    CK_TRY(ck_encoder_new(&e, &o));
    if (ck_checkpoint_is(&s))
        CK_TRY(ck_checkpoint_encoder(&s, &e->net, path));
    else
        CK_TRY(ck_net_load(&e->net, &s, path, NULL));
    *out = e;
    e = NULL;
done:
    ck_encoder_free(e);
    ck_state_release(&s);
    return rc;
}

int ck_encoder_write(const struct coke_encoder *e, const char *path, int force)
{
    int rc = COKE_OK;
    struct ck_state s = {0};
    CK_TRY(ck_file_check_target(path, force));
    CK_TRY(ck_encoder_save(e, &s));
    CK_TRY(ck_safetensors_write(path, &s, force));
done:
    ck_state_release(&s);
    return rc;
}

int ck_encoder_load_weights(struct coke_encoder *e, const char *path, const char *ignore)
{
    int rc = COKE_OK;
    struct ck_state s = {0};
    CK_TRY(ck_safetensors_read(path, &s));
    CK_TRY(ck_net_load(&e->net, &s, path, ignore));
done:
    ck_state_release(&s);
    return rc;
}
