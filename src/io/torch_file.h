/* torch_file.h - reads and writes torch.save files without Python. */
#ifndef CK_TORCH_FILE_H
#define CK_TORCH_FILE_H

#include "core/state.h"
#include "io/file.h"

/* True if the file begins like one that torch.save wrote. */
int ck_torch_is_file(const struct ck_map *map);

/* Overwrites *out with the tensors of the file's dict, or of the dict in it under state_dict,
 * model_state_dict, model or net. Reads both formats, the zip archive and the one before torch
 * 1.6. Executes nothing; sizes that contradict the file are COKE_EFORMAT; memory is bounded by
 * the file's size. Takes ownership of *map, also on failure; *out borrows its tensors from it
 * and owns it. */
int ck_torch_read(const char *path, struct ck_map *map, struct ck_state *out);

/* What surrounds the tensors in a written file. */
enum ck_torch_form {
    CK_TORCH_FLAT,       /* the dict itself */
    CK_TORCH_TRAINING,   /* {"arch": ARCH, "state_dict": ...} */
    CK_TORCH_DETECTRON2, /* {"__author__": "coke", "matching_heuristics": True, "model": ...} */
    CK_TORCH_TEACHER,    /* {"teacher": ...} */
    CK_TORCH_VISSL       /* {"classy_state_dict": {"base_model": {"model": {"trunk": ...}}}} */
};

/* Writes a zip archive that torch.load reads, also with weights_only=True. Tensors must be F32
 * or I64. arch is used by CK_TORCH_TRAINING only. */
int ck_torch_write_to(struct ck_writer *w, const struct ck_state *s, enum ck_torch_form form,
                      const char *arch);

#endif
