/* model_file.c - clusterings and models from and to safetensors files. */
#include "store/model_file.h"
#include "cluster/kmeans.h"
#include "cluster/model.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/state.h"
#include "io/safetensors.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096 };

/* If *path is a folder, makes it point to the model inside, whose path is written to `inside`.
 * A folder of several clusterings is ambiguous. */
static int find_model(const char **path, char inside[PATH])
{
    struct stat st;
    if (stat(*path, &st) != 0 || !S_ISDIR(st.st_mode))
        return COKE_OK;
    if (snprintf(inside, PATH, "%s/model.safetensors", *path) >= PATH)
        return ck_fail(COKE_EUSAGE, "%s: the name is too long", *path);
    if (access(inside, F_OK))
        return ck_fail(COKE_EIO,
                       "%s: no model.safetensors in it; if it holds several, name one "
                       "(model-h0-k10.safetensors)",
                       *path);
    *path = inside;
    return COKE_OK;
}

/* The model copies what it needs, so the file is closed before this returns. */
int ck_model_load(struct coke_model **out, const char *path)
{
    char inside[PATH];
    struct ck_state s = {0};
    *out = NULL;
    CK_RETURN_IF(find_model(&path, inside));
    int rc = ck_safetensors_read(path, &s);
    if (!rc) {
        rc = ck_model_from_state(out, &s);
        if (rc)
            ck_fail_prefix(rc, "%s: ", path);
    }
    ck_state_release(&s);
    return rc;
}

int ck_model_save(const struct coke_model *m, const char *path, int force)
{
    struct ck_state s = {0};
    float *centers = ck_alloc_array((size_t)m->k, (size_t)m->dim * sizeof *centers);
    float *price = ck_alloc_array((size_t)m->k, sizeof *price);
    int rc = COKE_ENOMEM;
    if (!centers || !price)
        goto done;
    CK_TRY(ck_model_state(m, centers, price, &s));
    CK_TRY(ck_safetensors_write(path, &s, force));
done:
    ck_state_release(&s);
    ck_free(centers);
    ck_free(price);
    return rc;
}

/* The state borrows the tensors from km: nothing is copied, whatever the size. */
int ck_kmeans_save(const struct coke_kmeans *km, const char *path, int force)
{
    struct ck_state s = {0};
    int rc = COKE_OK;
    CK_TRY(ck_kmeans_state(km, &s));
    CK_TRY(ck_safetensors_write(path, &s, force));
done:
    ck_state_release(&s);
    return rc;
}

int ck_kmeans_load(struct coke_kmeans **out, const char *path)
{
    struct ck_state s = {0};
    *out = NULL;
    int rc = ck_safetensors_read(path, &s);
    if (!rc) {
        rc = ck_kmeans_restore(out, &s);
        if (rc)
            ck_fail_prefix(rc, "%s: ", path);
    }
    ck_state_release(&s);
    return rc;
}

int ck_model_unpack(struct coke_model **out, const void *bytes, size_t size)
{
    struct ck_state s = {0};
    *out = NULL;
    int rc = ck_safetensors_unpack("model", bytes, size, &s);
    if (!rc)
        rc = ck_model_from_state(out, &s);
    ck_state_release(&s);
    return rc;
}

int ck_kmeans_pack(const struct coke_kmeans *km, void **bytes, size_t *size)
{
    struct ck_state s = {0};
    int rc = ck_kmeans_state(km, &s);
    if (!rc)
        rc = ck_safetensors_pack(&s, bytes, size);
    ck_state_release(&s);
    return rc;
}

int ck_kmeans_unpack(struct coke_kmeans **out, const void *bytes, size_t size)
{
    struct ck_state s = {0};
    *out = NULL;
    int rc = ck_safetensors_unpack("clustering", bytes, size, &s);
    if (!rc)
        rc = ck_kmeans_restore(out, &s);
    ck_state_release(&s);
    return rc;
}
