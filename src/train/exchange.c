/* exchange.c - exports and imports encoders to and from the files of other programs. */
#include "train/exchange.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/safetensors.h"
#include "io/torch_file.h"
#include "io/weights.h"
#include "nn/foreign.h"
#include "nn/mlp.h"
#include "nn/onnx.h"
#include "nn/resnet.h"
#include "train/run_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- common ---- */

/* Copies the metadata that describe the images an encoder takes. */
static int copy_image_meta(const struct ck_state *from, struct ck_state *to)
{
    int rc = COKE_OK;
    for (int i = 0; i < from->nmeta && !rc; i++)
        if (strncmp(from->meta[i].key, "image.", 6) == 0)
            rc = ck_state_add_meta(to, from->meta[i].key, from->meta[i].value);
    return rc;
}

/* weights: the path that was read. */
static void describe(struct coke_exchange_summary *out, const struct ck_state *s,
                     const char *weights)
{
    out->tensors = s->ntensors;
    out->numbers = 0;
    for (int i = 0; i < s->ntensors; i++)
        out->numbers += ck_tensor_elements(&s->tensor[i]);
    snprintf(out->weights, sizeof out->weights, "%s", weights);
}

/* Opens an encoder of this program in *r, and the metadata of its file in *meta. */
static int open_own(const char *path, int best, struct ck_run *r, struct ck_state *meta)
{
    CK_RETURN_IF(ck_safetensors_read(path, meta));
    return ck_run_open(r, path, best);
}

/* ---- export ---- */

struct export
{
    const struct ck_export_options *o;
    struct ck_encoder_options encoder; /* of the part that is exported */
    struct ck_run run;
    struct ck_state meta; /* of the file that was read */
    struct ck_state out;
};

/* How the choices of option names are written. */
static const struct {
    enum ck_naming naming;
    enum ck_torch_form form;
    int heads; /* projector and predictor have names, too */
} exports[] = {
    [CK_EXPORT_NAMES_TORCHVISION] = {CK_NAMES_TORCHVISION, CK_TORCH_FLAT, 1},
    [CK_EXPORT_NAMES_AUTHORS] = {CK_NAMES_AUTHORS, CK_TORCH_TRAINING, 1},
    [CK_EXPORT_NAMES_LIGHTLY] = {CK_NAMES_LIGHTLY, CK_TORCH_TRAINING, 0},
    [CK_EXPORT_NAMES_SOLO] = {CK_NAMES_SOLO, CK_TORCH_TRAINING, 0},
    [CK_EXPORT_NAMES_MOCO] = {CK_NAMES_MOCO, CK_TORCH_TRAINING, 0},
    [CK_EXPORT_NAMES_DINO] = {CK_NAMES_DINO, CK_TORCH_TEACHER, 0},
    [CK_EXPORT_NAMES_VISSL] = {CK_NAMES_VISSL, CK_TORCH_VISSL, 0},
};

static int check_export(const struct ck_export_options *o, const char *path)
{
    size_t n = strlen(path);
    if (o->format < 0 || o->format > CK_EXPORT_DETECTRON2 || o->part < 0 ||
        o->part > CK_PART_ALL || o->names < 0 || o->names > CK_EXPORT_NAMES_VISSL)
        return ck_fail(COKE_EUSAGE, "export: invalid format %d, part %d or names %d", o->format,
                       o->part, o->names);
    if (o->names != CK_EXPORT_NAMES_TORCHVISION && o->format > CK_EXPORT_PTH)
        return ck_fail(COKE_EUSAGE, "names: ONNX and Detectron2 prescribe their own names");
    if (!exports[o->names].heads && o->part == CK_PART_ALL)
        return ck_fail(COKE_EUSAGE, "part: projectors have other forms and names in this "
                                    "program; use part backbone");
    if (o->format == CK_EXPORT_DETECTRON2 && n > 4 && strcmp(path + n - 4, ".pkl") == 0)
        return ck_fail(COKE_EUSAGE,
                       "%s: Detectron2 reads a .pkl as a plain pickle; name the file .pth",
                       path);
    return COKE_OK;
}

/* The final weights of a complete run, else its last checkpoint. */
static int open_source(struct export *x, const char *source)
{
    char path[CK_RUN_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/final.safetensors", source);
    if (strlen(source) < sizeof path - 32 && !x->o->best && stat(path, &st) == 0)
        return open_own(path, 0, &x->run, &x->meta);
    if (stat(source, &st) == 0 && S_ISDIR(st.st_mode)) {
        int rc = ck_run_open(&x->run, source, x->o->best);
        return rc ? rc : ck_safetensors_read(x->run.weights, &x->meta);
    }
    if (x->o->best)
        return ck_fail(COKE_EUSAGE, "best: %s is not a run folder", source);
    return open_own(source, 0, &x->run, &x->meta);
}

/* Detectron2 builds its ResNets with a fixed stem. */
static int check_detectron2(const struct export *x)
{
    if (x->o->format != CK_EXPORT_DETECTRON2 || x->encoder.stem == CK_STEM_IMAGENET)
        return COKE_OK;
    return ck_fail(COKE_EUSAGE,
                   "%s has a stem for small images (3 x 3); Detectron2's ResNets have 7 x 7",
                   x->run.weights);
}

/* Fills x->out: tensors under the names of the format, and metadata. */
static int make_output(struct export *x)
{
    int heads = x->o->part == CK_PART_ALL;
    enum ck_naming naming = x->o->format == CK_EXPORT_DETECTRON2 ? CK_NAMES_DETECTRON2
                                                                 : exports[x->o->names].naming;
    if (x->o->format != CK_EXPORT_ONNX) /* which reads them from the network itself */
        CK_RETURN_IF(ck_foreign_save(&x->run.encoder, naming, heads, &x->out));
    if (naming == CK_NAMES_TORCHVISION)
        CK_RETURN_IF(ck_encoder_save_options(&x->encoder, &x->out));
    CK_RETURN_IF(copy_image_meta(&x->meta, &x->out));
    /* Loaders of several libraries expect this word: tensors in PyTorch's layout. */
    if (x->o->format == CK_EXPORT_SAFETENSORS)
        CK_RETURN_IF(ck_state_add_meta(&x->out, "format", "pt"));
    return COKE_OK;
}

static int write_output(const struct export *x, struct ck_writer *w)
{
    char arch[32];
    int rc = ck_options_get(ck_encoder_option_table(), &x->encoder, "arch", arch, sizeof arch);
    if (rc)
        return rc;
    switch (x->o->format) {
    case CK_EXPORT_SAFETENSORS:
        return ck_safetensors_write_to(w, &x->out);
    case CK_EXPORT_ONNX:
        return ck_onnx_write_to(w, &x->run.encoder, x->o->part == CK_PART_ALL, &x->out);
    case CK_EXPORT_DETECTRON2:
        return ck_torch_write_to(w, &x->out, CK_TORCH_DETECTRON2, arch);
    default:
        return ck_torch_write_to(w, &x->out, exports[x->o->names].form, arch);
    }
}

/* Checks options and target first, so that a wrong path costs no work. */
int ck_exchange_export(const char *source, const char *path, const struct ck_export_options *o,
                       int force, struct ck_encoder_options *encoder,
                       struct coke_exchange_summary *out)
{
    int rc = COKE_OK;
    struct ck_writer w = {0};
    struct export *x = ck_calloc_array(1, sizeof *x);
    if (!x)
        return COKE_ENOMEM;
    x->o = o;
    CK_TRY(check_export(o, path));
    CK_TRY(ck_file_check_target(path, force));
    CK_TRY(open_source(x, source));
    x->encoder = x->run.encoder.o;
    CK_TRY(check_detectron2(x));
    if (o->part == CK_PART_ALL && !ck_has_projector(&x->encoder))
        snprintf(out->note, sizeof out->note, "%.900s has only a backbone", x->run.weights);
    if (o->part == CK_PART_BACKBONE) {
        x->encoder.projector = (struct ck_layers){.word = CK_PROJECTOR_NONE};
        x->encoder.predictor = (struct ck_layers){.word = CK_PREDICTOR_OFF};
    }
    CK_TRY(make_output(x));
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(write_output(x, &w));
    CK_TRY(ck_writer_commit(&w));
    *encoder = x->encoder;
    describe(out, &x->out, x->run.weights);
done:
    ck_writer_abort(&w);
    ck_state_release(&x->out);
    ck_state_release(&x->meta);
    ck_run_close(&x->run);
    ck_free(x);
    return rc;
}

/* ---- import ---- */

struct import {
    const char *source;
    struct ck_state file; /* as read */
    struct ck_run run;    /* if the file is of this program, */
    struct ck_state own;  /* and its tensors */
    struct coke_encoder encoder;
    int encoder_ready;
    struct ck_state out;
};

/* The tensors of a foreign file, or of the encoder in a file of this program. *out points into
 * *m. */
static int find_tensors(struct import *m, const struct ck_state **out)
{
    *out = &m->file;
    if (!ck_state_meta(&m->file, "encoder.arch"))
        return COKE_OK;
    CK_RETURN_IF(ck_run_open(&m->run, m->source, 0));
    CK_RETURN_IF(ck_foreign_save(&m->run.encoder, CK_NAMES_TORCHVISION, 1, &m->own));
    *out = &m->own;
    return COKE_OK;
}

/* Without metadata, networks for large color images are assumed to be trained on ImageNet, with
 * its mean and standard deviation. */
static int add_image_meta(struct import *m)
{
    int rc = copy_image_meta(&m->file, &m->out);
    const struct ck_encoder_options *o = &m->encoder.o;
    if (rc || ck_state_meta(&m->out, "image.mean") || o->channels != 3 ||
        o->stem != CK_STEM_IMAGENET)
        return rc;
    rc = ck_state_add_meta(&m->out, "image.mean", "0.485,0.456,0.406");
    return rc ? rc : ck_state_add_meta(&m->out, "image.std", "0.229,0.224,0.225");
}

int ck_exchange_import(const char *source, const char *path, const struct ck_import_options *o,
                       int force, struct ck_encoder_options *encoder,
                       struct coke_exchange_summary *out)
{
    int rc = COKE_OK;
    const struct ck_state *tensors;
    struct ck_foreign_options f = {.prefix = o->prefix, .heads = o->part == CK_PART_ALL};
    struct import *m = ck_calloc_array(1, sizeof *m);
    if (!m)
        return COKE_ENOMEM;
    m->source = source;
    if (o->part < 0 || o->part > CK_PART_ALL)
        CK_FAIL(COKE_EUSAGE, "import: invalid part %d", o->part);
    CK_TRY(ck_file_check_target(path, force));
    CK_TRY(ck_weights_read(source, &m->file));
    CK_TRY(ck_run_refuse(&m->file, source));
    CK_TRY(find_tensors(m, &tensors));
    CK_TRY(ck_foreign_load(&m->encoder, tensors, source, &f, out->note));
    m->encoder_ready = 1;
    CK_TRY(ck_encoder_save(&m->encoder, &m->out));
    CK_TRY(add_image_meta(m));
    CK_TRY(ck_safetensors_write(path, &m->out, force));
    *encoder = m->encoder.o;
    describe(out, &m->out, source);
done:
    if (m->encoder_ready)
        ck_encoder_release(&m->encoder);
    ck_state_release(&m->out);
    ck_state_release(&m->own);
    ck_state_release(&m->file);
    ck_run_close(&m->run);
    ck_free(m);
    return rc;
}
