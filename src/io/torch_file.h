/* torch_file.h - files of torch.save, without Python. */
#ifndef CK_TORCH_FILE_H
#define CK_TORCH_FILE_H

#include "core/state.h"
#include "io/file.h"

/* Does a file begin as one that torch.save wrote? */
int ck_torch_is_file(const struct ck_map *map);

/* Overwrites *out with the tensors of a file: those of its dict, or of the dict that stands in
 * it as state_dict, model_state_dict, model or net. Both forms of file are read, the zip
 * archive and the older one. Nothing in it is run; a lie about sizes is COKE_EFORMAT; the
 * memory is bounded by the file's size. Takes the map. */
int ck_torch_read(const char *path, struct ck_map *map, struct ck_state *out);

/* What surrounds the tensors in a file that is written. */
enum ck_torch_form {
    CK_TORCH_FLAT,      /* the dict itself */
    CK_TORCH_TRAINING,  /* {"arch": ARCH, "state_dict": ...} */
    CK_TORCH_DETECTRON2 /* {"model": ..., "__author__": "coke", "matching_heuristics": True} */
};

/* A zip archive that torch.load reads, also with weights_only. F32 and I64. */
int ck_torch_write_to(struct ck_writer *w, const struct ck_state *s, enum ck_torch_form form,
                      const char *arch);

#endif
