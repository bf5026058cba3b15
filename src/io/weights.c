/* weights.c - reads tensors from a safetensors or torch.save file. */
#include "io/weights.h"
#include "core/error.h"
#include "io/safetensors.h"
#include "io/torch_file.h"

int ck_weights_read(const char *path, struct ck_state *out)
{
    struct ck_map map = {0};
    int rc = COKE_OK;
    *out = (struct ck_state){0};
    CK_TRY(ck_map_load(&map, path));
    if (ck_torch_is_file(&map)) {
        CK_TRY(ck_torch_read(path, &map, out));
    } else {
        ck_map_release(&map); /* before it is read once more */
        CK_TRY(ck_safetensors_read(path, out));
    }
done:
    ck_map_release(&map);
    return rc;
}
