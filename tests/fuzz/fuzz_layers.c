/* fuzz_layers.c - layers as text (--projector 2048-bn-relu-256): what is accepted comes back. */
#include "core/layers_text.h"
#include "fuzz_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[256], back[CK_LAYERS_TEXT];
    struct ck_layers l, again;
    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (ck_layers_parse("projector", text, &l))
        return 0;
    if (ck_layers_print(&l, back, sizeof back) >= (int)sizeof back ||
        ck_layers_parse("projector", back, &again) || again.n != l.n ||
        memcmp(again.v, l.v, (size_t)l.n * sizeof *l.v) != 0 || ck_layers_out(&l) < 1)
        abort();
    return 0;
}
